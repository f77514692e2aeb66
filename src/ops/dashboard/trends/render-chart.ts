/** One chart of the trends. assets/charts.js draws it; without scripts its caption and the table have the values. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant } from "../../../clock.ts";
import type { Trends } from "../../../flows/trends/trends.ts";
import type { TimeRange } from "../../../window.ts";
import { sayTime } from "../parts/show.ts";

/** Fewer known values than these are words: as a line they would be a spike in an empty box. */
const LEAST_DRAWN = 4;
export const UNKNOWN = { word: "unknown", isUnknown: true };
export const NONE_SEEN = { word: "no new mismatch", isUnknown: false };
const NOT_BEGUN = "before the data begins";

export interface Line {
  /** what it is about, if its chart has several lines; otherwise empty */
  readonly name: string;
  /** what is drawn, without exactness; null: unknown */
  readonly values: readonly (number | null)[];
  /** a value exactly, with its unit */
  say(step: number): string;
  /** the page of what happened in a step, without its times */
  readonly opens: string;
}

export interface Chart {
  /** unique on the page */
  readonly id: string;
  readonly title: string;
  /** how the axis is written: assets/charts.js */
  readonly kind: "count" | "money" | "duration" | "pace";
  /** of the axis */
  readonly unit: string;
  readonly lines: readonly Line[];
  /** what the caption says if there are several lines; absent: the only one */
  readonly whole?: Pick<Line, "values" | "say">;
  /** the figure of the present, with its unit; absent: the last known step is shown */
  readonly now?: string;
  /** shown for a missing value */
  readonly absent: typeof UNKNOWN;
  /** what is shown of many lines; absent: all are */
  readonly note?: string;
}

/** @param isSmall without a slider, which the whole page has */
export function renderChart(chart: Chart, trends: Trends, zone: string, isSmall = false): SafeHtml {
  const { id, title, lines, note } = chart;
  const { words, lately, known } = describe(chart, trends, zone);
  const caption = html`<figcaption><span>${title}</span> <b>${lately}</b></figcaption>`;
  if (known.length < LEAST_DRAWN)
    return html`<figure class="chart plot" id="${id}">
${caption}
${renderFew(chart, known, trends, zone)}
</figure>`;
  const last = trends.open.length - 1;
  const names = lines.map(({ name }, index) => html`<li><i class="line-${index}"></i> ${name}</li>`);
  const slider = html`<input type="range" min="0" max="${last}" value="${last}" aria-label="Read ${title}">`;
  return html`<figure class="chart plot" id="${id}" data-chart="${describeForScript(chart, trends)}">
${caption}
${lines.length > 1 ? html`<ul class="legend">${names}</ul>` : null}
<div class="canvas" role="img" aria-label="${words}"></div>
${isSmall ? null : slider}
<p class="reading">${renderReading(chart, trends, last, zone)}</p>
${note === undefined ? null : html`<p class="faint">${note}</p>`}
</figure>`;
}

/** The words that the script writes for each other step (assets/charts.js). */
function renderReading({ lines, absent }: Chart, trends: Trends, step: number, zone: string): SafeHtml {
  const { from, to } = stepAt(trends, step);
  const range = `&${new URLSearchParams({ from: formatInstant(from), to: formatInstant(to) })}`;
  const values = lines.map((line, index) => {
    const said = line.values[step] === null ? absentAt(trends, step, absent) : line.say(step);
    const name = line.name === "" ? "See what happened" : line.name;
    const link = html`<a href="${line.opens + range}">${name}</a>`;
    const separator = index === lines.length - 1 ? null : ", ";
    return line.name === "" ? html`${said}. ${link}` : html`${link} ${said}${separator}`;
  });
  return html`${sayTime(from, zone).slice(0, 16)}: ${values}`;
}

/** What assets/charts.js reads. Texts of the steps are joined, because each quotation mark would take six bytes. */
function describeForScript({ kind, unit, lines, absent }: Chart, trends: Trends): string {
  const { range, stepMs, begin } = trends;
  return JSON.stringify({
    ...{ kind, unit, stepMs, begin, from: range.from, hasUnknown: absent.isUnknown },
    lines: lines.map(({ name, values, say, opens }) => ({
      ...{ name, values, opens },
      said: values
        .map((value, step) => (value === null ? absentAt(trends, step, absent) : say(step)))
        .join("|"),
    })),
  });
}

/** @param known the steps that have a value */
function renderFew(
  { lines, absent }: Chart,
  known: readonly number[],
  trends: Trends,
  zone: string,
): SafeHtml {
  if (known.length === 0)
    return html`<p class="reading">${absent.word} since ${sayEdge(trends.range.from, zone)}</p>`;
  const said = known.flatMap((step) =>
    lines
      .filter(({ values }) => values[step] !== null)
      .map(({ name, say }) => `${name} ${say(step)} at ${sayEdge(stepAt(trends, step).from, zone)}`.trim()),
  );
  return html`<p class="reading">${said.join(", ")}; otherwise ${absent.word}</p>`;
}

function describe({ title, lines, whole = lines[0], now, absent }: Chart, { range }: Trends, zone: string) {
  const values = whole?.values ?? [];
  const known = values.flatMap((value, step) => (value === null ? [] : [step]));
  const say = (step: number | undefined) =>
    step === undefined ? absent.word : (whole?.say(step) ?? absent.word);
  const most = Math.max(0, ...values.filter((value) => value !== null));
  const lately = now ?? say(known.at(-1));
  const said =
    known.length === 0
      ? absent.word
      : `at most ${say(values.indexOf(most))}, ${now === undefined ? "lately" : "now"} ${lately}`;
  return {
    words: `${title} from ${sayTime(range.from, zone)} to ${sayTime(range.to, zone)}: ${said}`,
    lately,
    /** the steps that have a value */
    known,
  };
}

export function stepAt({ range, stepMs }: Trends, step: number): TimeRange {
  return { from: range.from + step * stepMs, to: range.from + (step + 1) * stepMs };
}

export function absentAt(trends: Trends, step: number, absent: Chart["absent"]): string {
  return trends.begin !== null && stepAt(trends, step).to <= trends.begin ? NOT_BEGUN : absent.word;
}

function sayEdge(at: number, zone: string): string {
  return sayTime(at, zone).slice(5, 16);
}
