/** Renders the trends: a chart for each figure, what the figures mean, and all values as a table. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant, type Instant, showDuration } from "../../../clock.ts";
import { LONGEST_RANGE_MS, MOST_LAGS, type Trends } from "../../../flows/trends/trends.ts";
import { MISMATCH_STATUSES } from "../../../mismatch.ts";
import type { TimeRange } from "../../../window.ts";
import {
  nameItself,
  type Problem,
  renderProblem,
  renderSelect,
  renderTimeField,
  type TypedFields,
} from "../parts/fields.ts";
import { groupThousands, sayAmounts, sayTime, showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { inFieldOf } from "../parts/zone.ts";
import { absentAt, type Chart, type Line, NONE_SEEN, renderChart, stepAt, UNKNOWN } from "./render-chart.ts";

/** Each currency has a chart of its own; the table has all. */
const MOST_CURRENCIES = 6;

export interface TrendsForm {
  readonly products: readonly string[];
  readonly typed: TypedFields<typeof TRENDS_FIELDS>;
  readonly problem: Problem | null;
  readonly now: Instant;
}

export const TRENDS_FIELDS = ["span", "product", "from", "to"] as const;

/** @param trends null: the form has a problem */
export function renderTrends(form: TrendsForm, trends: Trends | null, zone: string): SafeHtml {
  return html`<h1>Trends</h1>
${renderForm(form, trends, zone)}
${trends === null ? null : renderAll(trends, form.typed.product, zone)}`;
}

/** The last day of the overview, which leads to the whole page. */
export function renderDay(trends: Trends, zone: string): SafeHtml {
  const charts = chartsOf(trends, "").filter(({ id }) => ["open", "lag", "callbacks"].includes(id));
  return html`<section class="sheet" aria-labelledby="day"><div class="row between"><h2 id="day">The last 24 hours</h2><a href="/trends">All trends, and what they mean</a></div>
<div class="plots small" data-zoom="${pathOf({})}">${charts.map((chart) => renderChart(chart, trends, zone, true))}</div></section>`;
}

const OWN_RANGE = ["", "the range below"] as const;
const SPAN_NAMES = [
  ["day", "24 hours"],
  ["week", "7 days"],
  ["month", "30 days"],
] as const;

/** Two forms: a span, or a range of one's own. Each keeps the product. */
function renderForm(
  { products, typed, problem, now }: TrendsForm,
  trends: Trends | null,
  zone: string,
): SafeHtml {
  const { product, span, from, to } = typed;
  const isOwnRange = from !== "" || to !== "";
  const spans = isOwnRange ? [OWN_RANGE, ...SPAN_NAMES] : SPAN_NAMES;
  const value = span === "" && !isOwnRange ? "day" : span;
  const timeOf = (text: string) => (problem === null ? inFieldOf(text, zone) : text);
  const keep = (name: string, text: string) =>
    text === "" ? null : html`<input type="hidden" name="${name}" value="${text}">`;
  return html`<section class="sheet" aria-label="What is shown">
<form method="get" action="/trends" class="fields">
${renderSelect({ label: "Product", name: "product", value: product, problem }, [["", "all together"], ...products.map(nameItself)])}
${renderSelect({ label: "The last", name: "span", value, problem }, spans)}
${problem === null ? html`${keep("from", from)}${keep("to", to)}` : null}<button>Show</button>
</form>
<form method="get" action="/trends" class="fields" aria-label="Range">
${keep("product", product)}${renderTimeField({ label: "From", name: "from", value: timeOf(from), problem })}
${renderTimeField({ label: "To", name: "to", value: timeOf(to), problem })}
<button class="quiet">Show the range</button>
</form>
${trends === null ? null : renderMoves(trends, product, now)}
</section>
${renderProblem(problem, TRENDS_FIELDS)}`;
}

/** Links to other ranges: what the pointer does by drawing over a chart. */
function renderMoves({ range, stepMs, begin }: Trends, product: string, now: Instant): SafeHtml {
  const { from, to } = range;
  const length = to - from;
  const presentEnd = Math.ceil(now / stepMs) * stepMs;
  const wide = Math.min(2 * length, LONGEST_RANGE_MS);
  const inSteps = (lengthMs: number) => Math.floor(lengthMs / stepMs) * stepMs;
  const widerTo = Math.min(to + inSteps((wide - length) / 2), Math.max(to, presentEnd));
  const quarter = inSteps(length / 4);
  const moves = [
    ["Earlier", begin !== null && from > begin, { from: from - length, to: from }],
    ["Later", to < now, { from: to, to: to + length }],
    ["Closer", quarter > 0 && length > SHORTEST_RANGE_MS, { from: from + quarter, to: to - quarter }],
    ["Wider", wide > length, { from: widerTo - wide, to: widerTo }],
  ] as const;
  const links = moves
    .filter(([, isUseful]) => isUseful)
    .map(([name, , to]) => html`<a href="${pathOf({ product }, to)}">${name}</a>`);
  return html`<p class="row">${links}</p>`;
}

const SHORTEST_RANGE_MS = 3_600_000;

/** The page of trends, to which a range can be added. */
function pathOf({ product = "" }: { readonly product?: string }, range: TimeRange | null = null): string {
  const times = range === null ? {} : { from: formatInstant(range.from), to: formatInstant(range.to) };
  return `/trends?${new URLSearchParams({ ...(product === "" ? {} : { product }), ...times })}`;
}

function renderAll(trends: Trends, product: string, zone: string): SafeHtml {
  const charts = chartsOf(trends, product);
  const more = trends.risk.length - MOST_CURRENCIES;
  const { begin, range } = trends;
  const before =
    begin !== null && begin > range.from
      ? html` The data begins at ${showTime(begin, zone)}: hatched time is before it.`
      : null;
  return html`<p class="faint">Each step is ${showDuration(trends.stepMs)}. Point at a chart, or move its slider, to read its values; a click opens what happened then, and drawing over a part shows it closer. Grey time is unknown.${before}</p>
<section class="plots" aria-label="Charts" data-zoom="${pathOf({ product })}">${charts.map((chart) => renderChart(chart, trends, zone))}</section>
${more > 0 ? html`<p>${showCount(more)} more currencies are in the table.</p>` : null}
${MEANINGS}
<section class="sheet"><details><summary>All values as a table</summary>${renderValues(trends, zone)}${renderLags(trends, zone)}</details></section>`;
}

/** One rule for each figure. */
const MEANINGS = html`<section class="sheet" aria-labelledby="meaning"><h2 id="meaning">What the figures mean</h2>
<dl class="meanings">
<dt>Open mismatches, money at risk</dt><dd>A mismatch counts from the time of its bet until it is over, whenever it was first seen, at the end of each step. One that was reopened counts as if it had stayed open. Time is unknown until it is fetched and compared, and its graces are over.</dd>
<dt>Detection delay</dt><dd>From the time of a bet until its mismatch was first seen: the median of those first seen in the step.</dd>
<dt>Lag</dt><dd>How far fetching is behind: the figure above the chart is the present one of the product that is furthest behind, each line has the longest measured of a product. Unknown if no worker ran.</dd>
<dt>Records per minute</dt><dd>Bet records by their accounting date, counted once their time is fetched. Unknown if it is not, or not within two days.</dd>
<dt>Callbacks per minute</dt><dd>Entries of the ledger by the time at which they were received, counted about five minutes later, once a newer entry has arrived. Entries that are stored after that are not counted here.</dd>
</dl></section>`;

/** @param product empty: all together */
function chartsOf(trends: Trends, product: string): Chart[] {
  const { open, risk, delay, lag, lags, lagNow, callbacks, records } = trends;
  const of = product === "" ? {} : { product };
  const mismatches = (more = {}) =>
    `/mismatches?${new URLSearchParams({ status: MISMATCH_STATUSES.join(","), ...of, ...more })}`;
  const coverage = (productId: string) => `/coverage?${new URLSearchParams({ product: productId })}`;
  const line = (values: Line["values"], say: (value: number) => string, opens: string, name = ""): Line => ({
    name,
    values,
    say: (step) => say(values[step] ?? 0),
    opens,
  });
  const lagLines = lags.map(({ productId, line: values }) =>
    line(values, showDuration, coverage(productId), lags.length === 1 ? "" : productId),
  );
  return [
    {
      ...{ id: "open", title: "Open mismatches", kind: "count", unit: "mismatches", absent: UNKNOWN },
      lines: [line(open, showCount, mismatches())],
    },
    ...risk.slice(0, MOST_CURRENCIES).map(({ currency, line: amounts }, index): Chart => {
      const values = amounts.map((amount) => (amount === null ? null : Number(amount)));
      const say = (step: number) => sayAmounts([{ currency, amount: amounts[step] ?? "0" }]);
      const opens = mismatches(currency === null ? {} : { currency });
      return {
        id: `risk-${index}`,
        title: `Money at risk, ${currency ?? "without a currency"}`,
        ...{ kind: "money", unit: currency ?? "", absent: UNKNOWN },
        lines: [{ name: "", values, say, opens }],
      };
    }),
    {
      ...{ id: "delay", title: "Detection delay", kind: "duration", unit: "time", absent: NONE_SEEN },
      lines: [line(delay, showDuration, mismatches())],
    },
    {
      ...{ id: "lag", title: "Lag", kind: "duration", unit: "time", absent: UNKNOWN },
      lines: lagLines,
      whole: line(lag, showDuration, ""),
      now: lagNow === null ? UNKNOWN.word : showDuration(lagNow),
      ...(lags.length < MOST_LAGS ? {} : { note: "The products that were furthest behind." }),
    },
    {
      ...{ id: "records", title: "Records per minute", kind: "pace", unit: "per minute", absent: UNKNOWN },
      lines: [line(records, sayPace, product === "" || lags.length === 0 ? mismatches() : coverage(product))],
    },
    {
      ...{
        id: "callbacks",
        title: "Callbacks per minute",
        kind: "pace",
        unit: "per minute",
        absent: UNKNOWN,
      },
      lines: [line(callbacks, sayPace, mismatches())],
    },
  ];
}

function renderValues(trends: Trends, zone: string): SafeHtml {
  const rows = trends.open.map((open, step) => {
    const say = <Value>(
      value: Value | null | undefined,
      words: (value: Value) => string,
      absent: Chart["absent"] = UNKNOWN,
    ) => (value == null ? absentAt(trends, step, absent) : words(value));
    const amounts = trends.risk.map(({ currency, line }) => ({ currency, amount: line[step] ?? "0" }));
    return {
      cells: [
        sayTime(stepAt(trends, step).from, zone),
        say(open, showCount),
        say(open, () => sayAmounts(amounts)),
        say(trends.delay[step], showDuration, NONE_SEEN),
        say(trends.lag[step], showDuration),
        say(trends.records[step], sayPace),
        say(trends.callbacks[step], sayPace),
      ],
    };
  });
  return renderTable({
    name: "All values",
    columns: [
      { name: "From", as: "head" },
      { name: "Open mismatches", as: "number" },
      { name: "Money at risk", as: "text" },
      { name: "Detection delay", as: "number" },
      { name: "Lag", as: "number" },
      { name: "Records per minute", as: "number" },
      { name: "Callbacks per minute", as: "number" },
    ],
    rows,
  });
}

/** A table of its own: beside the other figures it would have no room. */
function renderLags(trends: Trends, zone: string): SafeHtml | null {
  const { lags } = trends;
  if (lags.length < 2) return null;
  const rows = trends.open.map((_, step) => ({
    cells: [
      sayTime(stepAt(trends, step).from, zone),
      ...lags.map(({ line }) => {
        const lag = line[step] ?? null;
        return lag === null ? absentAt(trends, step, UNKNOWN) : showDuration(lag);
      }),
    ],
  }));
  return renderTable({
    name: "Lag of each product",
    caption: "Lag of each product",
    columns: [
      { name: "From", as: "head" },
      ...lags.map(({ productId }): Column => ({ name: `Lag, ${productId}`, as: "number" })),
    ],
    rows,
  });
}

/** Three digits say enough. */
function sayPace(pace: number): string {
  return pace >= 100 ? groupThousands(pace.toFixed(0)) : String(Number(pace.toPrecision(2)));
}
