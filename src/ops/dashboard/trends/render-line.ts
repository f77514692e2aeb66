/** Draws one figure over time as level steps. Unknown steps are grey and have no line. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { TimeRange } from "../../../window.ts";
import { sayTime } from "../parts/show.ts";

const HEIGHT = 80;
const STEP_WIDTH = 4;
/** Fewer known values than these are words: as a line they would be a spike in an empty box. */
const LEAST_DRAWN = 4;

export interface Line {
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
export function renderSmallLine(line: Line, range: TimeRange, zone: string): SafeHtml {
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
export function renderLine(line: Line, range: TimeRange, zone: string): SafeHtml {
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
