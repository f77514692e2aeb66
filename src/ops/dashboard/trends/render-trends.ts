/** Draws the trends: a chart for each figure, what the figures mean, and all values as a table. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { showDuration } from "../../../clock.ts";
import type { Trends } from "../../../flows/trends/read-trends.ts";
import { nameItself, type Problem, renderProblem, renderSelect } from "../parts/fields.ts";
import { groupThousands, sayAmounts, sayTime, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";
import { type Line, renderLine, renderSmallLine } from "./render-line.ts";

/** Each currency has a chart of its own; the table has all. */
const MOST_CURRENCIES = 6;
const UNKNOWN = { word: "unknown", isUnknown: true };
const NONE_SEEN = { word: "no new mismatch", isUnknown: false };

export interface TrendsForm {
  readonly products: readonly string[];
  readonly typed: { readonly span: string; readonly product: string };
  readonly problem: Problem | null;
}

/** @param trends null: the form has a problem */
export function renderTrends(form: TrendsForm, trends: Trends | null, zone: string): SafeHtml {
  return html`<h1>Trends</h1>
${renderForm(form)}
${trends === null ? null : renderAll(trends, zone)}`;
}

/** The last day of the overview, which leads to the whole page. */
export function renderDay(trends: Trends, zone: string): SafeHtml {
  const lines = linesOf(trends).filter(({ id }) => ["open", "lag", "callbacks"].includes(id));
  return html`<section class="sheet" aria-labelledby="day"><div class="row between"><h2 id="day">The last 24 hours</h2><a href="/trends">All trends, and what they mean</a></div>
<div class="plots">${lines.map((line) => renderSmallLine(line, trends.range, zone))}</div></section>`;
}

function renderForm({ products, typed, problem }: TrendsForm): SafeHtml {
  const spans = [
    ["day", "24 hours"],
    ["week", "7 days"],
    ["month", "30 days"],
  ] as const;
  return html`<form method="get" action="/trends" class="sheet fields">
${renderSelect({ label: "Product", name: "product", value: typed.product, problem }, [["", "all together"], ...products.map(nameItself)])}
${renderSelect({ label: "The last", name: "span", value: typed.span, problem }, spans)}
<button>Show</button>
</form>
${renderProblem(problem, ["product", "span"])}`;
}

function renderAll(trends: Trends, zone: string): SafeHtml {
  const lines = linesOf(trends);
  const more = trends.risk.length - MOST_CURRENCIES;
  return html`<p class="faint">Each step is ${showDuration(trends.stepMs)}. Point at a chart, or move its slider, to read its values. Grey time is unknown.</p>
<section class="plots" aria-label="Charts">${lines.map((line) => renderLine(line, trends.range, zone))}</section>
${more > 0 ? html`<p>${showCount(more)} more currencies are in the table.</p>` : null}
${MEANINGS}
<section class="sheet"><details><summary>All values as a table</summary>${renderValues(trends, zone)}</details></section>`;
}

/** One rule for each figure. */
const MEANINGS = html`<section class="sheet" aria-labelledby="meaning"><h2 id="meaning">What the figures mean</h2>
<dl class="meanings">
<dt>Open mismatches, money at risk</dt><dd>A mismatch counts from the time of its bet until it is over, whenever it was first seen, at the end of each step. One that was reopened counts as if it had stayed open. Time is unknown until it is fetched and compared, and its graces are over.</dd>
<dt>Detection delay</dt><dd>From the time of a bet until its mismatch was first seen: the median of those first seen in the step.</dd>
<dt>Lag</dt><dd>How far fetching is behind: the figure above the chart is that of now, the line has the longest measured. Unknown where no worker ran.</dd>
<dt>Records per minute</dt><dd>Bet records by their accounting date, counted once their time is fetched. Unknown where it is not, or not within two days.</dd>
<dt>Callbacks per minute</dt><dd>Entries of the ledger by the time at which they were received, counted about five minutes later, once a newer entry has arrived. Entries that are stored after that are not counted here.</dd>
</dl></section>`;

function linesOf(trends: Trends): Line[] {
  const { open, risk, delay, lag, lagNow, callbacks, records } = trends;
  const line = (
    id: string,
    title: string,
    values: Line["values"],
    say: (value: number) => string,
    absent = UNKNOWN,
  ) => ({
    id,
    title,
    values,
    say: (step: number) => say(values[step] ?? 0),
    absent,
  });
  return [
    line("open", "Open mismatches", open, showCount),
    ...risk.slice(0, MOST_CURRENCIES).map(({ currency, line: amounts }, index) => ({
      id: `risk-${index}`,
      title: `Money at risk, ${currency ?? "without a currency"}`,
      values: amounts.map((amount) => (amount === null ? null : Number(amount))),
      say: (step: number) => sayAmounts([{ currency, amount: amounts[step] ?? "0" }]),
      absent: UNKNOWN,
    })),
    line("delay", "Detection delay", delay, showDuration, NONE_SEEN),
    {
      ...line("lag", "Lag", lag, showDuration),
      now: lagNow === null ? UNKNOWN.word : showDuration(lagNow),
    },
    line("records", "Records per minute", records, sayPace),
    line("callbacks", "Callbacks per minute", callbacks, sayPace),
  ];
}

function renderValues({ range, stepMs, ...trends }: Trends, zone: string): SafeHtml {
  const say = <Value>(value: Value | null | undefined, words: (value: Value) => string, absent = UNKNOWN) =>
    value == null ? absent.word : words(value);
  const rows = trends.open.map((open, step) => {
    const amounts = trends.risk.map(({ currency, line }) => ({ currency, amount: line[step] ?? "0" }));
    return {
      cells: [
        sayTime(range.from + step * stepMs, zone),
        say(open, showCount),
        open === null ? UNKNOWN.word : sayAmounts(amounts),
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

/** Three digits say enough. */
function sayPace(pace: number): string {
  return pace >= 100 ? groupThousands(pace.toFixed(0)) : String(Number(pace.toPrecision(2)));
}
