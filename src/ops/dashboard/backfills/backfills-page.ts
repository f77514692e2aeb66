/** `/backfills`: starts a backfill after a dry run, shows, pauses, resumes and cancels it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { formatInstant, showDuration } from "../../../clock.ts";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  type BackfillPlan,
  changeBackfill,
  listBackfillPage,
  planBackfill,
  requestBackfill,
  type WatchedBackfill,
  watchBackfill,
} from "../../../flows/pull/backfill.ts";
import { type Backfill, type BackfillChange, statusAfter } from "../../../sync/backfill.ts";
import { lengthOf } from "../../../window.ts";
import { may } from "../../access/access.ts";
import type { Notice } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readPage } from "../../input/fields.ts";
import { readProductRange, withWrongProduct } from "../../input/range-query.ts";
import { explainGap } from "../coverage/render-coverage-strip.ts";
import {
  type Problem,
  problemOf,
  RANGE_FIELDS,
  renderProblem,
  renderRangeFields,
  type TypedRange,
  typedFields,
} from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { showCount, showState, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";

/** @param reader whether the page offers pausing, resuming and cancelling, and the zone of its times */
function renderBackfill(
  watched: WatchedBackfill,
  { mayWrite, zone }: { readonly mayWrite: boolean; readonly zone: string },
): SafeHtml {
  const { backfill } = watched;
  const { id, productId, from, to, status } = backfill;
  return html`<p><a href="/backfills">All backfills</a></p>
<h1 class="wrap">Backfill ${id} of ${productId} ${showState(status)}</h1>
<p>From ${showTime(from, zone)} to ${showTime(to, zone)}</p>
${renderProgress(watched, zone)}
${renderGaps(backfill)}
${mayWrite ? renderChanges(backfill) : null}
${renderEffect(watched)}`;
}

function renderProgress({ backfill, pace }: WatchedBackfill, zone: string): SafeHtml {
  const { status, windowsDone, windowsTotal, startedAt, endedAt } = backfill;
  const percent = windowsTotal === 0 ? 100 : Math.floor((100 * windowsDone) / windowsTotal);
  const moving =
    pace === null
      ? null
      : html` <span id="pace">${showCount(pace.recordsPerSecond)} records a second${
          pace.remainingMs === null ? null : `, about ${showDuration(pace.remainingMs)} left`
        }.</span>`;
  const took =
    startedAt === null || endedAt === null ? null : ` It took ${showDuration(endedAt - startedAt)}.`;
  return html`<section class="sheet" aria-label="Progress">
<label class="whole" for="progress">${showCount(windowsDone)} of ${showCount(windowsTotal)} windows are done (${percent} %)</label>
<progress id="progress" max="${windowsTotal}" value="${windowsDone}">${percent} %</progress>
<p>${startedAt === null ? explainNoStart(status) : html`Begun ${showTime(startedAt, zone)}${endedAt === null ? null : html`, ended ${showTime(endedAt, zone)}`}.`}${took}${moving}</p>
</section>`;
}

function explainNoStart(status: Backfill["status"]): string {
  if (status === "cancelled") return "The backfill was cancelled before it began.";
  if (status === "paused") return "The backfill has not begun yet. Resume it, and a worker will begin it.";
  return "The backfill has not begun yet. A worker will begin it.";
}

function renderGaps({ gaps, gapCode, status, productId, from, to }: Backfill): SafeHtml | null {
  if (gaps === 0) return null;
  const query = new URLSearchParams({
    product: productId,
    from: formatInstant(from),
    to: formatInstant(to),
  });
  return html`<p class="problem">${showCount(gaps)} ${gaps === 1 ? "window" : "windows"} could not be fetched: <code>${gapCode ?? "unknown"}</code>, ${explainGap(gapCode ?? "not-fetched")}.
${explainRetry(status)} <a href="/coverage?${String(query)}">See the coverage</a></p>`;
}

function explainRetry(status: Backfill["status"]): string {
  if (status === "failed")
    return "The backfill has given up on these windows. Resume the backfill to try again.";
  if (status === "paused") return "Resume the backfill to try these windows again.";
  return "The worker tries these windows again.";
}

const BUTTONS = [
  ["pause", "Pause", "quiet"],
  ["resume", "Resume", ""],
  ["cancel", "Cancel", "danger"],
] as const satisfies readonly (readonly [BackfillChange, string, string])[];

function renderChanges(backfill: Backfill): SafeHtml | null {
  const possible = BUTTONS.filter(([change]) => statusAfter(change, backfill) !== null);
  if (possible.length === 0) return null;
  const buttons = possible.map(
    ([change, name, style]) =>
      html`<form method="post" action="/backfills/${backfill.id}/${change}"><button class="${style}">${name}</button></form>`,
  );
  return html`<div class="row" id="changes">${buttons}<span class="faint">A cancelled backfill keeps the records that it fetched.</span></div>`;
}

function renderEffect({ backfill, mismatches }: WatchedBackfill): SafeHtml {
  const { records, created, changed, unchanged, productId, startedAt, endedAt } = backfill;
  const figures = [
    ["records fetched", records],
    ["new", created],
    ["changed since the last fetch", changed],
    ["unchanged", unchanged],
  ] as const;
  const seen = new URLSearchParams({ product: productId, status: "open,acknowledged,resolved,ignored" });
  if (startedAt !== null) seen.set("from", formatInstant(startedAt));
  if (endedAt !== null) seen.set("to", formatInstant(endedAt));
  const rows = mismatches.map(({ kind, total, open }) => {
    const query = new URLSearchParams(seen);
    query.set("kind", kind);
    return html`<li><a href="/mismatches?${String(query)}">${showCount(total)} ${kind}</a>, ${showCount(open)} of them open or acknowledged</li>`;
  });
  return html`<section class="sheet" aria-labelledby="effect"><h2 id="effect">What the backfill changed</h2>
<dl class="figures">${figures.map(([name, count]) => html`<div><dt>${name}</dt><dd>${showCount(count)}</dd></div>`)}</dl>
${mismatches.length === 0 ? html`<p>No mismatch was found${endedAt === null ? " so far" : ""}.</p>` : html`<h3>Mismatches that the backfill found</h3><ul>${rows}</ul>`}</section>`;
}

interface BackfillForm {
  /** those that are pulled */
  readonly products: readonly string[];
  /** as typed, to be corrected */
  readonly typed: TypedRange;
  /** the dry run; null: there is no range */
  readonly plan: BackfillPlan | null;
  /** null: there is none */
  readonly problem: Problem | null;
}

interface BackfillList {
  readonly backfills: readonly Backfill[];
  /** null: this is the last page */
  readonly next: string | null;
}

/** @param reader whether the page offers a new backfill, and the zone of its times */
function renderBackfills(
  form: BackfillForm,
  list: BackfillList,
  { mayWrite, zone }: { readonly mayWrite: boolean; readonly zone: string },
): SafeHtml {
  return html`<h1>Backfill</h1>
${mayWrite ? renderForm(form, zone) : null}
${renderList(list, zone)}`;
}

function renderForm({ products, typed, plan, problem }: BackfillForm, zone: string): SafeHtml {
  return html`<section class="sheet" aria-labelledby="new"><h2 id="new">Fetch a past range again</h2>
<p class="faint">The worker fetches the whole range again, after all more urgent work. Nothing counts twice, and live pulling continues.</p>
<form method="get" action="/backfills" class="fields">
${renderRangeFields(products, typed, problem, zone)}
<button class="quiet">Show the effect</button>
</form>
${renderProblem(problem, RANGE_FIELDS)}
${plan === null ? null : renderPlan(plan, zone)}</section>`;
}

function renderPlan({ asked, windows, windowMs, coveredMs }: BackfillPlan, zone: string): SafeHtml {
  const length = lengthOf(asked);
  const covered =
    coveredMs === 0
      ? "none of this time was fetched before"
      : coveredMs === length
        ? "all of this time was fetched before"
        : `${showDuration(coveredMs)} of this time was fetched before`;
  const count = `${showCount(windows.length)} ${windows.length === 1 ? "window" : "windows"}`;
  return html`<form method="post" action="/backfills" class="row plan" id="plan">
<input type="hidden" name="product" value="${asked.productId}">
<input type="hidden" name="from" value="${formatInstant(asked.from)}">
<input type="hidden" name="to" value="${formatInstant(asked.to)}">
<p>The backfill would fetch <strong>${showDuration(length)}</strong> of ${asked.productId}, from ${showTime(asked.from, zone)} to ${showTime(asked.to, zone)},
in <strong>${count}</strong> of at most ${showDuration(windowMs)}; ${covered}. Nothing has been queued yet.</p>
<button>Start</button>
</form>`;
}

const COLUMNS: readonly Column[] = [
  { name: "backfill" },
  { name: "status" },
  { name: "product", as: "text" },
  { name: "from" },
  { name: "to" },
  { name: "windows", as: "number" },
  { name: "records", as: "number" },
  { name: "new", as: "number" },
  { name: "changed", as: "number" },
];

function renderList({ backfills, next }: BackfillList, zone: string): SafeHtml {
  if (backfills.length === 0)
    return html`<p class="sheet">There are no backfills${next === null ? " yet" : ""}.</p>`;
  const rows = backfills.map((one) => ({
    id: `backfill-${one.id}`,
    cells: [
      html`<a href="/backfills/${one.id}">Backfill ${one.id}</a>`,
      showState(one.status),
      one.productId,
      showTime(one.from, zone),
      showTime(one.to, zone),
      `${showCount(one.windowsDone)} of ${showCount(one.windowsTotal)}`,
      showCount(one.records),
      showCount(one.created),
      showCount(one.changed),
    ],
  }));
  return html`<section class="sheet" aria-labelledby="all"><h2 id="all">All backfills</h2>
${renderTable({ name: "Backfills", caption: "The newest first", columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="/backfills?after=${next}">Older ones</a></p>`}</section>`;
}

type Typed = Readonly<Record<string, unknown>>;
type BackfillsRequest = FastifyRequest<{ Querystring: Typed }>;
interface BackfillRoute {
  Params: { id: string };
}

const PAGE_SIZE = 25;

export function addBackfillsPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/backfills", async (request: BackfillsRequest, reply) => {
    const tidy = tidyQuery(request.query, ["from", "to"], zoneOf(request));
    if (tidy !== null) return await reply.redirect(`/backfills?${new URLSearchParams(tidy)}`, 303);
    return await sendBackfills(context, request, reply, request.query);
  });
  pages.post("/backfills", async (request: BackfillsRequest, reply) => {
    const typed = (request.body ?? {}) as Typed;
    try {
      const asked = readProductRange(typed, context.config);
      const { id } = await requestBackfill(context, await planBackfill(context, asked));
      setNotice(reply, { tone: "good", text: `Backfill ${id} is queued.` });
      return await reply.redirect(`/backfills/${id}`, 303);
    } catch (error) {
      // The form shows its errors, as in the dry run.
      if (statusOfRefusal(error) !== null) return await sendBackfills(context, request, reply, typed);
      throw error;
    }
  });
  pages.get<BackfillRoute>("/backfills/:id", async (request, reply) => {
    const notice = takeNotice(request, reply);
    return await sendBackfill(context, request, reply, notice);
  });
  for (const change of ["pause", "resume", "cancel"] as const) {
    pages.post<BackfillRoute>(`/backfills/:id/${change}`, async (request, reply) => {
      try {
        const { id, status } = await changeBackfill(context, request.params.id, change);
        setNotice(reply, { tone: "good", text: `Backfill ${id} is ${status}.` });
        return await reply.redirect(`/backfills/${id}`, 303);
      } catch (error) {
        if (statusOfRefusal(error) !== 409) throw error;
        const notice = { tone: "bad", text: `Not done: ${describeError(error)}.` } as const;
        return await sendBackfill(context, request, reply.code(409), notice);
      }
    });
  }
}

/** @param typed the range in the form; with a range, the page shows a dry run */
async function sendBackfills(
  context: FlowContext,
  request: BackfillsRequest,
  reply: FastifyReply,
  typed: Typed,
): Promise<FastifyReply> {
  const { form, after } = await readForm(context, typed);
  const list = await listBackfillPage(context, { limit: PAGE_SIZE, after });
  const reader = { mayWrite: may(request.asker, "admin"), zone: zoneOf(request) };
  return await sendPage(request, reply.code(form.problem === null ? 200 : 400), {
    title: "Backfill",
    path: "/backfills",
    main: renderBackfills(form, list, reader),
    notice: takeNotice(request, reply),
    live: ["backfills"],
  });
}

async function readForm(
  context: FlowContext,
  typed: Typed,
): Promise<{ form: BackfillForm; after: string | null }> {
  const { config } = context;
  const form = {
    products: config.products
      .filter(({ walletMode }) => walletMode === "seamless")
      .map(({ productId }) => productId),
    typed: typedFields(typed, RANGE_FIELDS),
  };
  try {
    const { after: typedAfter, ...range } = typed;
    const { after } = readPage({ after: typedAfter });
    const isAsked = Object.keys(range).length > 0;
    const plan: BackfillPlan | null = isAsked
      ? await planBackfill(context, readProductRange(range, config))
      : null;
    return { form: { ...form, plan, problem: null }, after };
  } catch (error) {
    if (statusOfRefusal(error) === null) throw error;
    const problem = problemOf(await withWrongProduct(error, typed, config));
    return { form: { ...form, plan: null, problem }, after: null };
  }
}

async function sendBackfill(
  context: FlowContext,
  request: FastifyRequest<BackfillRoute>,
  reply: FastifyReply,
  notice: Notice | null,
): Promise<FastifyReply> {
  const watched = await watchBackfill(context, request.params.id);
  return await sendPage(request, reply, {
    title: `Backfill ${watched.backfill.id}`,
    path: `/backfills/${watched.backfill.id}`,
    main: renderBackfill(watched, { mayWrite: may(request.asker, "admin"), zone: zoneOf(request) }),
    notice,
    live: ["backfills", "mismatches"],
  });
}
