/** `/mismatches/:id`: one mismatch with everything known about it, and the forms for a decision and for a comment. */

import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { realRound } from "../../../bet.ts";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { actOnMismatches } from "../../../flows/mismatches/act-on-mismatches.ts";
import { type MismatchStory, readMismatchStory } from "../../../flows/read/read-mismatch.ts";
import { ACTS, CASE_CHANGES } from "../../../mismatches/act.ts";
import { listInOrder } from "../../../mismatches/order-store.ts";
import { readSimilar } from "../../../mismatches/similar-store.ts";
import { DECIDES, may } from "../../access/access.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { usage } from "../../input/fields.ts";
import { readAction } from "../../input/mismatch-action.ts";
import { readChoice } from "../../input/mismatch-query.ts";
import { addTypedComment, changeTypedCase, type TypedCase } from "../comments/render-comments.ts";
import { type Problem, problemOf, sayWithLabel } from "../parts/fields.ts";
import { type StepNotice, setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayAmount, sayAmounts } from "../parts/show.ts";
import { zoneOf } from "../parts/zone.ts";
import { noteOf, readSingleForm, type SingleForm } from "./mismatch-form.ts";
import { type ListQuery, pathOfMismatch, readListQuery } from "./mismatch-list-query.ts";
import { type Neighbours, renderMismatch, type TypedDecision } from "./render-mismatch.ts";

type MismatchRequest = FastifyRequest<{ Params: { id: string }; Querystring: Record<string, unknown> }>;

/** The query is that of the list from which the person came. */
export function addMismatchPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/mismatches/:id", async (request: MismatchRequest, reply) =>
    sendMismatch(context, request, reply, { ...NOTHING_REFUSED, notice: takeNotice(request, reply) }),
  );
  pages.post("/mismatches/:id", DECIDES, async (request: MismatchRequest, reply) => {
    const { id } = request.params;
    const list = readListQuery(request.query);
    const form = readSingleForm(request.body);
    try {
      setNotice(reply, await decide(context, id, form, request.asker.name));
      return await reply.redirect(pathOfMismatch(id, list), 303);
    } catch (error) {
      const status = statusOfRefusal(error);
      if (status === null || status === 404) throw error;
      const notice = { tone: "bad", text: `Not done: ${describeRefusal(error)}.` } as const;
      const refused = { ...NOTHING_REFUSED, notice, typed: form, problem: problemOf(error) };
      return await sendMismatch(context, request, reply.code(status), refused);
    }
  });
  for (const what of CASE_CHANGES) {
    pages.post(`/mismatches/:id/${what}`, DECIDES, async (request: MismatchRequest, reply) => {
      const { id } = request.params;
      const list = readListQuery(request.query);
      const subject = { about: "mismatch", id, by: request.asker.name } as const;
      const form = { body: request.body, zone: zoneOf(request) };
      const refused = await changeTypedCase(context, subject, what, form);
      if (refused === null) return await reply.redirect(`${pathOfMismatch(id, list)}#case-head`, 303);
      const { status, notice, problem, typed: typedCase } = refused;
      const shown = { ...NOTHING_REFUSED, notice, problem, typedCase };
      return await sendMismatch(context, request, reply.code(status), shown);
    });
  }
  pages.post("/mismatches/:id/comments", DECIDES, async (request: MismatchRequest, reply) => {
    const { id } = request.params;
    const list = readListQuery(request.query);
    const subject = { about: "mismatch", id, by: request.asker.name } as const;
    const refused = await addTypedComment(context, subject, request.body);
    if (refused === null) return await reply.redirect(`${pathOfMismatch(id, list)}#comments-head`, 303);
    const { status, notice, problem, typed: comment } = refused;
    const shown = { ...NOTHING_REFUSED, notice, problem, comment };
    return await sendMismatch(context, request, reply.code(status), shown);
  });
}

/** What is wrong, with the words of the form. */
function describeRefusal(error: unknown): string {
  const said = sayWithLabel(describeError(error), { name: "adjustment", label: "Amount" });
  return sayWithLabel(said, { name: "ref", label: "Your reference" });
}

/** A decision, a comment or a change of the case that was refused. */
interface ShownRefusal {
  readonly notice: Notice | null;
  readonly typed: TypedDecision | null;
  readonly comment: string | null;
  readonly typedCase: TypedCase | null;
  readonly problem: Problem | null;
}

const NOTHING_REFUSED: ShownRefusal = {
  notice: null,
  typed: null,
  comment: null,
  typedCase: null,
  problem: null,
};

async function sendMismatch(
  context: FlowContext,
  request: MismatchRequest,
  reply: FastifyReply,
  { notice, ...refused }: ShownRefusal,
): Promise<FastifyReply> {
  const { params, asker } = request;
  const list = readListQuery(request.query);
  const story = await readMismatchStory(context, params.id);
  const [similar, neighbours] = await Promise.all([
    readSimilar(context.sql, story, realRound(story.roundId)),
    findNeighbours(context, list, story, asker.name),
  ]);
  const { kind, productId, amountAtRisk, currency, status } = story;
  const mayAct = may(asker, "decide");
  const reader = { mayAct, me: asker.name, zone: zoneOf(request), now: context.clock.now() };
  const page = { story, similar, list, neighbours, ...reader, ...refused };
  return await sendPage(request, reply, {
    title: `${kind} in ${productId}, ${sayAmount(amountAtRisk, currency)}, ${status}`,
    path: "/mismatches",
    main: renderMismatch(page),
    notice,
    live: ["mismatches"],
  });
}

/** The mismatches before and after one in the list, which it may have left meanwhile. */
async function findNeighbours(
  context: FlowContext,
  { filters, order }: ListQuery,
  story: MismatchStory,
  me: string,
): Promise<Neighbours> {
  const choice = await readChoice(context, filters, me);
  const value = story[order.by];
  // The list by reminders has only those with one.
  if (value === null) return { previous: null, next: null };
  const place = { value, id: story.id };
  const find = async (direction: "before" | "after") => {
    const { mismatches } = await listInOrder(context.sql, choice, order, {
      limit: 1,
      from: { place, direction },
    });
    return mismatches[0]?.id ?? null;
  };
  const [previous, next] = await Promise.all([find("before"), find("after")]);
  return { previous, next };
}

/** @throws ReconError `usage`, `conflict` if the status has changed since the visitor saw it, or `not-found` */
async function decide(context: FlowContext, id: string, form: SingleForm, by: string): Promise<StepNotice> {
  const { action, seen, adjustment, ref } = form;
  const isCorrected = adjustment !== "" || ref !== "";
  if (isCorrected && action !== "resolve") {
    throw usage(
      "only a resolution can have a correction: resolve the mismatch, or leave amount and reference empty",
      adjustment === "" ? "ref" : "adjustment",
    );
  }
  const corrected = { ...(adjustment === "" ? {} : { adjustment }), ...(ref === "" ? {} : { ref }) };
  const said = readAction({ ...noteOf(form), from: seen, ...corrected }, action);
  const step = randomUUID();
  const { amounts } = await actOnMismatches(context, { action, target: { ids: [id] }, ...said, by, step });
  const done = `Mismatch #${id} ${ACTS[action].done}: ${sayAmounts(amounts)} at risk.`;
  if (said.adjustment === null) return { tone: "good", text: done, undo: step };
  const corrections = `Its correction of ${sayAmount(said.adjustment.amount, null)} (${said.adjustment.ref}) cannot be undone here, because it moved money. If the correction was wrong, reopen the mismatch and record the opposite amount.`;
  return { tone: "good", text: `${done} ${corrections}` };
}
