/** `/mismatches`: the list, its CSV, and actions on many mismatches. */

import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { html } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  type ActionResult,
  actOnMismatches,
  digestOf,
  previewAction,
  type RequestedAction,
  undoStep,
} from "../../../flows/mismatches/act-on-mismatches.ts";
import { changeCases, previewChange } from "../../../flows/mismatches/change-cases.ts";
import { listOrdered } from "../../../flows/read/list-mismatches.ts";
import type { MismatchStatus } from "../../../mismatch.ts";
import { ACTS, type CaseChange, type MismatchAction } from "../../../mismatches/act.ts";
import { sumChosen } from "../../../mismatches/order-store.ts";
import type { MismatchChoice } from "../../../mismatches/store.ts";
import { DECIDES, may } from "../../access/access.ts";
import { listAsCsv } from "../../csv/csv.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readOwnPath } from "../../http/same-origin.ts";
import { usage } from "../../input/fields.ts";
import { readAction } from "../../input/mismatch-action.ts";
import { CHOICES, readChoice } from "../../input/mismatch-query.ts";
import { readTypedCase, renderCaseForms } from "../comments/render-comments.ts";
import { type Problem, problemOf, renderProblem } from "../parts/fields.ts";
import { type StepNotice, setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayAmounts } from "../parts/show.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import {
  type BulkForm,
  type Decision,
  isDecision,
  noteOf,
  readBulkForm,
  readUndoForm,
} from "./mismatch-form.ts";
import { type ListQuery, pathOfList, readListQuery } from "./mismatch-list-query.ts";
import { type PreviewOfAll, renderConfirm, renderFilter, sayCount } from "./mismatch-words.ts";
import { renderMismatches, renderRefusedFilters, type TypedStep } from "./render-mismatches.ts";

type MismatchesRequest = FastifyRequest<{ Querystring: Record<string, unknown> }>;

const PAGE_SIZE = 100;

export function addMismatchesPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/mismatches", (request: MismatchesRequest, reply) => sendList(context, request, reply));
  pages.get("/mismatches.csv", async ({ query, asker }: MismatchesRequest, reply) => {
    const choice = await readChoice(context, readListQuery(query).filters, asker.name);
    const csv = listAsCsv(context, { ...choice, order: null, limit: PAGE_SIZE, after: null }, true);
    reply.header("content-disposition", 'attachment; filename="mismatches.csv"');
    return await reply.type("text/csv; charset=utf-8").send(Readable.from(csv));
  });
  pages.post("/mismatches", DECIDES, async (request: MismatchesRequest, reply) => {
    const query = readListQuery(request.query);
    const form = readBulkForm(request.body);
    if (!isDecision(form)) return await changeChosen(context, request, reply, query, form);
    const isSure = !form.isAll || form.shown !== null;
    try {
      if (!isSure) return await sendConfirm(context, request, reply, query, form, null);
      setNotice(reply, await act(context, query, form, request.asker.name));
      return await reply.redirect(form.back === "" ? pathOfList(query) : readOwnPath(form.back), 303);
    } catch (error) {
      const status = statusOfRefusal(error);
      if (status === null) throw error;
      reply.code(status);
      const notice = { tone: "bad", text: `Not done: ${describeError(error)}.` } as const;
      if (form.isAll) return await sendConfirm(context, request, reply, query, form, notice);
      const typed = { note: form.note, selected: new Set(form.selected.keys()) };
      return await sendKnownList(context, request, reply, query, { notice, typed });
    }
  });
  pages.post("/mismatches/undo", DECIDES, async (request, reply) => {
    const { step, back } = readUndoForm(request.body);
    setNotice(reply, await undo(context, step, request.asker.name));
    return await reply.redirect(readOwnPath(back), 303);
  });
}

async function sendList(
  context: FlowContext,
  request: MismatchesRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const zone = zoneOf(request);
  const tidy = tidyQuery(request.query, ["from", "to", "happenedFrom", "happenedTo"], zone);
  if (tidy !== null) return await reply.redirect(`/mismatches?${new URLSearchParams(tidy)}`, 303);
  try {
    const query = readListQuery(request.query);
    return await sendKnownList(context, request, reply, query, {
      notice: takeNotice(request, reply),
      typed: null,
    });
  } catch (error) {
    const status = statusOfRefusal(error);
    if (status === null) throw error;
    const typed = Object.entries(request.query).filter(
      ([name, text]) => CHOICES.some((one) => one === name) && typeof text === "string",
    );
    const shown = { products: productsOf(context), problem: problemOf(error), zone };
    const main = renderRefusedFilters(Object.fromEntries(typed), shown);
    return await sendPage(request, reply.code(status), { title: "Mismatches", path: "/mismatches", main });
  }
}

async function sendKnownList(
  context: FlowContext,
  request: MismatchesRequest,
  reply: FastifyReply,
  query: ListQuery,
  { notice, typed }: { readonly notice: Notice | null; readonly typed: TypedStep | null },
): Promise<FastifyReply> {
  const { sql } = context;
  const choice = await readChoice(context, query.filters, request.asker.name);
  const [page, sums] = await Promise.all([
    listOrdered(context, choice, query.order, { limit: PAGE_SIZE, from: query.from }),
    sumChosen(sql, choice),
  ]);
  const mayAct = may(request.asker, "decide");
  const zone = zoneOf(request);
  const reader = { mayAct, typed, zone, now: context.clock.now() };
  const main = renderMismatches({ query, ...page, sums, products: productsOf(context), ...reader });
  return await sendPage(request, reply, {
    title: "Mismatches",
    path: "/mismatches",
    main,
    notice,
    live: ["mismatches"],
  });
}

/**
 * Changes owner, ticket or reminder of the selected ones, or of all that match: those only after a page has shown how many they are.
 * The same page has the forms.
 */
async function changeChosen(
  context: FlowContext,
  request: MismatchesRequest,
  reply: FastifyReply,
  query: ListQuery,
  form: BulkForm,
): Promise<FastifyReply> {
  const { action, isAll, shown, selected, back } = form;
  const by = request.asker.name;
  const typed = action === "assign-me" ? { ...form.typed, owner: "me" } : form.typed;
  const what = action === "ticket" || action === "remind" ? action : "assign";
  let problem: Problem | null = null;
  try {
    if (!isAll && selected.size === 0) throw usage("no mismatch is selected");
    if (action !== "case" && (!isAll || shown !== null)) {
      const requested = { ...readTypedCase(typed, what, by, zoneOf(request)), by };
      const target = isAll
        ? { filter: await readChoice(context, query.filters, by), shown: null, digest: shown }
        : { ids: [...selected.keys()] };
      const { count } = await changeCases(context, target, requested);
      setNotice(reply, { tone: "good", text: `${sayCount(count)} changed.` });
      return await reply.redirect(back === "" ? pathOfList(query) : readOwnPath(back), 303);
    }
  } catch (error) {
    const status = statusOfRefusal(error);
    if (status === null) throw error;
    problem = problemOf(error);
    reply.code(status);
    if (!isAll && selected.size === 0) {
      const notice = { tone: "bad", text: `Not done: ${problem.text}.` } as const;
      return await sendKnownList(context, request, reply, query, { notice, typed: null });
    }
  }
  const all = isAll ? await readChoice(context, query.filters, by) : null;
  const target = all === null ? { ids: [...selected.keys()] } : { filter: all, shown: null };
  const previewOf = (change: CaseChange) => previewChange(context, target, { change, note: null, by });
  const preview = await previewOf({ what: "assign", owner: null });
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`;
  const ids = [...selected].map(([id, status]) => hidden("id", `${id}:${status}`));
  const allOf = (digest: string) => html`${hidden("scope", "all")}${hidden("shown", digest)}`;
  // Decided ones get no reminder.
  const waiting =
    all === null ? null : await previewOf({ what: "remind", remindAt: context.clock.now() + 1_000 });
  const title = `Owner, ticket and reminder of ${sayCount(preview.count)}`;
  const main = html`<h1>${title}</h1>
<div class="sheet"><p class="wrap">${all === null ? null : renderFilter(query)} ${sayAmounts(preview.amounts)} at risk. Each form changes one thing of all of them.</p>
${renderProblem(problem, ["owner", "ticket", "remindAt"])}
${renderCaseForms(
  () => pathOfList(query),
  typed,
  problem,
  (one) =>
    html`${hidden("action", one)}${hidden("back", back)}${waiting === null ? ids : allOf(digestOf(one === "remind" ? waiting : preview))}`,
)}
<p><a href="${back === "" ? pathOfList(query) : readOwnPath(back)}">Back</a></p></div>`;
  return await sendPage(request, reply, { title, path: "/mismatches", main, notice: null });
}

async function sendConfirm(
  context: FlowContext,
  request: MismatchesRequest,
  reply: FastifyReply,
  query: ListQuery,
  form: Decision,
  notice: Notice | null,
): Promise<FastifyReply> {
  const choice = await readChoice(context, query.filters, request.asker.name);
  const preview = await previewAll(context, choice, form.action, request.asker.name);
  const title = `${sayCount(preview.count)} to be ${ACTS[form.action].done}`;
  const main = renderConfirm(query, form, preview);
  return await sendPage(request, reply, { title, path: "/mismatches", main, notice });
}

async function act(context: FlowContext, query: ListQuery, form: Decision, by: string): Promise<StepNotice> {
  if (!form.isAll) return await actOnSelected(context, form, by);
  return await actOnAll(context, await readChoice(context, query.filters, by), form, by);
}

async function undo(context: FlowContext, step: string, by: string): Promise<StepNotice> {
  const { ids, changed } = await undoStep(context, { step, by });
  const MOST_NAMED = 5;
  const named = changed
    .slice(0, MOST_NAMED)
    .map((id) => `#${id}`)
    .join(", ");
  const more = changed.length > MOST_NAMED ? ` and ${changed.length - MOST_NAMED} more` : "";
  const others = `${sayCount(changed.length)} stayed unchanged, because another user changed ${changed.length === 1 ? "it" : "them"} since: ${named}${more}.`;
  if (ids.length === 0) return { tone: "bad", text: `Nothing was undone. ${others}` };
  const done = `Undone: ${sayCount(ids.length)} ${ids.length === 1 ? "is" : "are"} as before.`;
  return { tone: "good", text: changed.length === 0 ? done : `${done} ${others}` };
}

function productsOf({ config }: FlowContext): string[] {
  return config.products.map(({ productId }) => productId);
}

/**
 * Acts on the selected mismatches whose status, as the visitor saw it, allows the action. Skips the others.
 * @throws ReconError `usage`, or `conflict` if one of them has changed since: then nothing changes
 */
async function actOnSelected(
  context: FlowContext,
  { action, note, selected }: Decision,
  by: string,
): Promise<StepNotice> {
  if (selected.size === 0) throw usage("no mismatch is selected");
  const { from } = ACTS[action];
  const [possible, passed] = partition([...selected], ([, status]) => from.includes(status));
  if (possible.length === 0) throw usage(`${sayPassed(action, passed)}: choose another action`);
  const target = { ids: possible.map(([id]) => id), seen: selected };
  const step = randomUUID();
  const asked = { action, target, ...readAction(noteOf({ action, note }), action), by, step };
  return doneNotice(asked, await actOnMismatches(context, asked), passed);
}

/** @throws ReconError `usage` if there are too many */
async function previewAll(
  context: FlowContext,
  choice: MismatchChoice,
  action: MismatchAction,
  by: string,
): Promise<PreviewOfAll> {
  const target = { filter: choice, shown: null };
  const result = await previewAction(context, {
    action,
    target,
    note: null,
    by,
    expected: null,
    adjustment: null,
  });
  return { ...result, shown: digestOf(result) };
}

/**
 * Acts on all chosen mismatches, as the preview showed them.
 * @throws ReconError `usage`, or `conflict` if the chosen mismatches or their money have changed since
 */
async function actOnAll(
  context: FlowContext,
  choice: MismatchChoice,
  { action, note, shown }: Decision,
  by: string,
): Promise<StepNotice> {
  const target = { filter: choice, shown: null, digest: shown };
  const step = randomUUID();
  const asked = { action, target, ...readAction(noteOf({ action, note }), action), by, step };
  return doneNotice(asked, await actOnMismatches(context, asked), []);
}

function doneNotice(
  { action, step }: Pick<RequestedAction, "action"> & { readonly step: string },
  { count, amounts }: ActionResult,
  passed: readonly SeenStatus[],
): StepNotice {
  const others = passed.length === 0 ? "" : ` ${sayPassed(action, passed)}.`;
  return {
    tone: "good",
    text: `${sayCount(count)} ${ACTS[action].done}: ${sayAmounts(amounts)} at risk.${others}`,
    undo: step,
  };
}

type SeenStatus = readonly [string, MismatchStatus];

/** "2 are acknowledged and 1 is resolved: they cannot be acknowledged". */
function sayPassed(action: MismatchAction, passed: readonly SeenStatus[]): string {
  const byStatus = [...Map.groupBy(passed, ([, status]) => status)];
  const parts = byStatus.map(
    ([status, those]) => `${those.length} ${those.length === 1 ? "is" : "are"} ${status}`,
  );
  const it = passed.length === 1 ? "it" : "they";
  return `${parts.join(" and ")}, so ${it} cannot be ${ACTS[action].done}`;
}

function partition<Item>(items: readonly Item[], holds: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(holds), items.filter((item) => !holds(item))];
}
