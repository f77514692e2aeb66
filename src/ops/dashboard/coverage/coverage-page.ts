/** `GET /coverage?product&from&to`: the fetched time of a product, and the missing time. */

import { may } from "../../access/access.ts";
import type { FastifyInstance } from "fastify";
import { formatInstant, type Instant, parseInstant, showDuration } from "../../../clock.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { readCoverageOf, readWithoutWindows, type Coverage, type ShownRange } from "../../../flows/read/read-coverage.ts";
import { readProductRange, withWrongProduct } from "../../input/range-query.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { type Problem, problemOf, typedFields, RANGE_FIELDS, renderProblem, renderRangeFields, type TypedRange } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { html, type SafeHtml } from "@remix-run/html-template";
import { NOT_FETCHED } from "../../../sync/coverage.ts";
import { showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { explainGap } from "./render-coverage-strip.ts";

/** The most rows on the page. */
const MOST_ROWS = 200;

interface CoverageForm {
  /** those that are pulled */
  readonly products: readonly string[];
  /** as typed, to be corrected */
  readonly typed: TypedRange;
  /** null: there is none */
  readonly problem: Problem | null;
}

interface FoundCoverage {
  readonly coverage: Coverage;
  /** fetched time of which windows were deleted */
  readonly withoutWindows: readonly ShownRange[];
}

/** The person who reads: whether the page offers backfills, and the zone of its times. */
interface Reader {
  readonly mayWrite: boolean;
  /** a range that waits since then or later is not late */
  readonly lateBefore: Instant;
  readonly zone: string;
}

function renderCoverage(form: CoverageForm, found: FoundCoverage | null, reader: Reader): SafeHtml {
  return html`<h1>Coverage</h1>
${renderForm(form, reader.zone)}
${found === null ? null : html`${renderGaps(found.coverage, reader)}${renderWithoutWindows(found.withoutWindows, reader)}${renderWindows(found, reader)}`}`;
}

function renderForm({ products, typed, problem }: CoverageForm, zone: string): SafeHtml {
  return html`<form method="get" action="/coverage" class="fields">
${renderRangeFields(products, typed, problem, zone)}
<button>Show</button>
</form>
${renderProblem(problem, RANGE_FIELDS)}`;
}

const GAP_COLUMNS: readonly Column[] = [
  { name: "from" },
  { name: "to" },
  { name: "length", as: "number" },
  { name: "reason" },
  { name: "meaning", of: "meaning" },
];
const WINDOW_COLUMNS: readonly Column[] = [
  { name: "from" },
  { name: "to" },
  { name: "length", as: "number" },
  { name: "kind" },
  { name: "records", as: "number" },
  { name: "pages", as: "number" },
  { name: "fetched at" },
];

function renderGaps({ productId, gaps: all }: Coverage, { mayWrite, lateBefore, zone }: Reader): SafeHtml {
  const gaps = all.filter(
    ({ from, reason }) => reason !== NOT_FETCHED || parseInstant(from, "from") < lateBefore,
  );
  const missingMs = lengthOfAll(gaps);
  const nextMs = lengthOfAll(all) - missingMs;
  const next = nextMs === 0 ? "" : ` The next pull fetches the newest ${showDuration(nextMs)}.`;
  if (gaps.length === 0) {
    return html`<p class="verdict" data-state="good"><span>${productId} is complete, except for time that has not settled yet.${next}</span></p>`;
  }
  const shown = gaps.slice(0, MOST_ROWS);
  const rows = shown.map((gap) => ({
    cells: [
      showTime(gap.from, zone),
      showTime(gap.to, zone),
      showDuration(lengthOf(gap)),
      html`<code>${gap.reason}</code>`,
      explainGap(gap.reason),
      ...(mayWrite ? [html`<a href="${linkToBackfill(productId, gap)}">Fetch again</a>`] : []),
    ],
  }));
  const table = renderTable({
    name: "Gaps",
    caption: sayShown("gap", gaps.length, shown.length),
    columns: mayWrite ? [...GAP_COLUMNS, { name: "backfill" }] : GAP_COLUMNS,
    rows,
  });
  const isOnlyWaiting = gaps.every(({ reason }) => reason === NOT_FETCHED);
  return html`<p class="verdict" data-state="${isOnlyWaiting ? "warn" : "bad"}"><span>${productId} is not complete: ${showDuration(missingMs)} missing.${next}</span></p>
<section class="sheet" aria-label="Gaps">${table}
<p class="faint">The worker retries a gap automatically, at most an hour after the last try.</p></section>`;
}

function renderWithoutWindows(ranges: readonly ShownRange[], { zone }: Reader): SafeHtml | null {
  if (ranges.length === 0) return null;
  const shown = ranges.slice(0, MOST_ROWS).map((range) => html`<li>${showTime(range.from, zone)} – ${showTime(range.to, zone)}</li>`);
  return html`<section class="sheet" aria-label="Deleted windows">
<p>This time was fetched. Its windows were deleted (<code>retain.windows</code>), so it is unknown when it was fetched, or how often:</p>
<ul>${shown}</ul></section>`;
}

function renderWindows({ coverage, withoutWindows }: FoundCoverage, { zone }: Reader): SafeHtml | null {
  const { productId, windows, to } = coverage;
  if (windows.length === 0) {
    if (withoutWindows.length > 0) return null;
    return html`<p class="faint">No window of this time has been fetched completely.</p>`;
  }
  const shown = windows.slice(0, MOST_ROWS);
  const rows = shown.map((window) => ({
    cells: [
      showTime(window.from, zone),
      showTime(window.to, zone),
      showDuration(lengthOf(window)),
      window.kind,
      showCount(window.records),
      showCount(window.pages),
      showTime(window.fetchedAt, zone),
    ],
  }));
  const behind = windows[MOST_ROWS];
  const rest =
    behind === undefined ? null : String(new URLSearchParams({ product: productId, from: behind.from, to }));
  const caption = `${sayShown("window", windows.length, shown.length)}, in the order of their time`;
  return html`<section class="sheet" aria-label="Windows">${renderTable({ name: "Windows", caption, columns: WINDOW_COLUMNS, rows })}
${rest === null ? null : html`<p><a class="button quiet" href="/coverage?${rest}">The next ones</a></p>`}</section>`;
}

function sayShown(what: string, all: number, shown: number): string {
  const counted = `${showCount(all)} ${what}${all === 1 ? "" : "s"}`;
  return shown < all ? `The first ${showCount(shown)} of ${counted}` : counted;
}

function linkToBackfill(
  productId: string,
  { from, to }: { readonly from: string; readonly to: string },
): string {
  return `/backfills?${new URLSearchParams({ product: productId, from, to })}`;
}

function lengthOfAll(gaps: Coverage["gaps"]): number {
  return gaps.reduce((sum, gap) => sum + lengthOf(gap), 0);
}

function lengthOf({ from, to }: { readonly from: string; readonly to: string }): number {
  return parseInstant(to, "to") - parseInstant(from, "from");
}

const HOUR_MS = 3_600_000;

type QueryFields = Readonly<Record<string, unknown>>;

export function addCoveragePage(pages: FastifyInstance, context: FlowContext): void {
  pages.get<{ Querystring: QueryFields }>("/coverage", async (request, reply) => {
    const zone = zoneOf(request);
    const tidy = tidyQuery(request.query, ["from", "to"], zone);
    if (tidy !== null) return await reply.redirect(`/coverage?${new URLSearchParams(tidy)}`, 303);
    const query = Object.keys(request.query).length === 0 ? lastHour(context) : request.query;
    const seen = await readCoveragePage(context, query);
    const form: CoverageForm = {
      products: context.config.products
        .filter(({ walletMode }) => walletMode === "seamless")
        .map(({ productId }) => productId),
      typed: typedFields(query, RANGE_FIELDS),
      problem: seen.problem,
    };
    const { settleDelay, every } = context.config.pull;
    // A pull that takes longer than `pull.every` delays the next one.
    const lateBefore = context.clock.now() - settleDelay - 2 * every;
    const mayWrite = may(request.asker, "admin");
    return await sendPage(request, reply.code(seen.problem === null ? 200 : 400), {
      title: "Coverage",
      path: "/coverage",
      main: renderCoverage(form, seen.found, { mayWrite, lateBefore, zone }),
      notice: takeNotice(request, reply),
      live: ["pull", "backfills"],
    });
  });
}

async function readCoveragePage(
  context: FlowContext,
  query: QueryFields,
): Promise<{ readonly found: FoundCoverage | null; readonly problem: Problem | null }> {
  try {
    const asked = readProductRange(query, context.config);
    const coverage = await readCoverageOf(context, asked);
    return { found: { coverage, withoutWindows: await readWithoutWindows(context, asked) }, problem: null };
  } catch (error) {
    if (statusOfRefusal(error) !== 400) throw error;
    return { found: null, problem: problemOf(await withWrongProduct(error, query, context.config)) };
  }
}

/** The range of a visitor who has not chosen one. */
function lastHour({ config, clock }: FlowContext): QueryFields {
  const now = clock.now();
  const first = config.products.find(({ walletMode }) => walletMode === "seamless");
  return { product: first?.productId ?? "", from: formatInstant(now - HOUR_MS), to: formatInstant(now) };
}
