/** Draws the trends: a chart for each figure, what the figures mean, and all values as a table. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { showDuration } from "../../../clock.ts";
import type { Trends } from "../../../flows/trends/read-trends.ts";
import type { TimeRange } from "../../../window.ts";
import { nameItself, type Problem, renderProblem, renderSelect } from "../parts/fields.ts";
import { groupThousands, sayAmounts, sayTime, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";

const HEIGHT = 80;
const STEP_WIDTH = 4;
/** Fewer known values than these are words: as a line they would be a spike in an empty box. */
const LEAST_DRAWN = 4;

interface Line {
  /** unique on the page */
  readonly id: string;
  readonly title: string;
  /** what is drawn, without exactness; null: unknown */
  readonly values: readonly (number | null)[];
  /** a value exactly, with its unit */
  say(step: number): string;
  /** the figure of the present, with its unit; absent: the last known step is shown */
  readonly now?: string;
  /** shown for a missing value */
  readonly absent: { readonly word: string; readonly isUnknown: boolean };
}

/** A line whose values are read elsewhere. @param range of all steps */
function renderSmallLine(line: Line, range: TimeRange, zone: string): SafeHtml {
  const { title, values } = line;
  const { words, y, known } = describe(line, range, zone);
  if (known.length < LEAST_DRAWN)
    return html`<figure class="chart plot">
<figcaption><span>${title}</span></figcaption>
${renderFew(line, known, range, zone)}
</figure>`;
  return html`<figure class="chart plot">
<figcaption><span>${title}</span></figcaption>
<svg role="img" aria-label="${words}" viewBox="0 0 ${values.length * STEP_WIDTH} ${HEIGHT}" preserveAspectRatio="none" width="100%" height="${HEIGHT / 2}"><path class="shade" d="${drawShades(line)}"/><path class="line" d="${drawSteps(values, y)}"/></svg>
</figure>`;
}

/** @param range of all steps */
function renderLine(line: Line, range: TimeRange, zone: string): SafeHtml {
  const { id, title, values, absent } = line;
  const stepMs = (range.to - range.from) / values.length;
  const say = (step: number) => (values[step] === null ? absent.word : line.say(step));
  const { words, y, highest, lately, known } = describe(line, range, zone);
  if (known.length < LEAST_DRAWN)
    return html`<figure class="chart plot" id="${id}">
<figcaption><span>${title}</span> <b>${lately}</b></figcaption>
${renderFew(line, known, range, zone)}
</figure>`;
  const steps = values.map((value, step) => {
    const when = sayTime(range.from + step * stepMs, zone).slice(0, 16);
    const of = value === null && absent.isUnknown ? "step unknown" : "step";
    return html`<rect class="${of}" x="${step * STEP_WIDTH}" y="0" width="${STEP_WIDTH}" height="${HEIGHT}"><title>${when}: ${say(step)}</title></rect>`;
  });
  return html`<figure class="chart plot" id="${id}">
<figcaption><span>${title}</span> <b>${lately}</b></figcaption>
<svg role="img" aria-label="${words}" viewBox="0 0 ${values.length * STEP_WIDTH} ${HEIGHT}" preserveAspectRatio="none" width="100%" height="${HEIGHT}"><path class="shade" d="${drawShades(line)}"/><path class="line" d="${drawSteps(values, y)}"/>${steps}</svg>
<div class="axis" aria-hidden="true"><span>${sayEdge(range.from, zone)}</span><span>${highest === null ? null : html`top ${highest}`}</span><span>${sayEdge(range.to, zone)}</span></div>
<input type="range" min="0" max="${values.length - 1}" value="${values.length - 1}" aria-label="Read ${title}">
<p class="reading"></p>
</figure>`;
}

/** @param known the steps that have a value */
function renderFew(line: Line, known: readonly number[], range: TimeRange, zone: string): SafeHtml {
  if (known.length === 0)
    return html`<p class="reading">${line.absent.word} since ${sayEdge(range.from, zone)}</p>`;
  const stepMs = (range.to - range.from) / line.values.length;
  const said = known.map((step) => `${line.say(step)} at ${sayEdge(range.from + step * stepMs, zone)}`);
  return html`<p class="reading">${said.join(", ")}; otherwise ${line.absent.word}</p>`;
}

function describe(line: Line, range: TimeRange, zone: string) {
  const { title, values, absent } = line;
  const most = Math.max(0, ...values.filter((value) => value !== null));
  const known = values.flatMap((value, step) => (value === null ? [] : [step]));
  const last = known.at(-1) ?? -1;
  const lately = line.now ?? (last === -1 ? absent.word : line.say(last));
  const highest = last === -1 ? null : line.say(values.indexOf(most));
  const said =
    highest === null
      ? absent.word
      : `at most ${highest}, ${line.now === undefined ? "lately" : "now"} ${lately}`;
  return {
    words: `${title} from ${sayTime(range.from, zone)} to ${sayTime(range.to, zone)}: ${said}`,
    y: (value: number) => round(HEIGHT - 1 - (most === 0 ? 0 : (value / most) * (HEIGHT - 4))),
    /** null: nothing is known */
    highest,
    lately,
    /** the steps that have a value */
    known,
  };
}

/** A line with gaps for unknown values; a single value is drawn as a dot. */
function drawSteps(values: readonly (number | null)[], y: (value: number) => number): string {
  let path = "";
  let isDrawing = false;
  for (const [step, value] of values.entries()) {
    if (value !== null)
      path += `${isDrawing ? "L" : "M"}${step * STEP_WIDTH} ${y(value)}H${(step + 1) * STEP_WIDTH}`;
    isDrawing = value !== null;
  }
  return path;
}

/** Unknown steps that follow each other are one shape, so that there is no seam between them. */
function drawShades({ values, absent }: Line): string {
  if (!absent.isUnknown) return "";
  let path = "";
  let begin: number | null = null;
  for (let step = 0; step <= values.length; step += 1) {
    const isUnknown = step < values.length && values[step] === null;
    if (isUnknown) begin ??= step;
    else if (begin !== null) {
      path += `M${begin * STEP_WIDTH} 0H${step * STEP_WIDTH}V${HEIGHT}H${begin * STEP_WIDTH}z`;
      begin = null;
    }
  }
  return path;
}

function sayEdge(at: number, zone: string): string {
  return sayTime(at, zone).slice(5, 16);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

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
<dt>Lag</dt><dd>How far fetching is behind: the figure above the chart is the present one, the line has the longest measured. Unknown if no worker ran.</dd>
<dt>Records per minute</dt><dd>Bet records by their accounting date, counted once their time is fetched. Unknown if it is not, or not within two days.</dd>
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
