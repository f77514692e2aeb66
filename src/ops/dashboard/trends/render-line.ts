/** Draws one figure over time as level steps. Unknown steps are grey and have no line. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { TimeRange } from "../../../window.ts";
import { sayTime } from "../parts/show.ts";

const HEIGHT = 80;
const STEP_WIDTH = 4;

export interface Line {
  /** unique on the page */
  readonly id: string;
  readonly title: string;
  /** what is drawn, without exactness; null: unknown */
  readonly values: readonly (number | null)[];
  /** a value exactly, with its unit */
  say(step: number): string;
  /** where there is no value */
  readonly absent: { readonly word: string; readonly isUnknown: boolean };
}

/** A line whose values are read elsewhere. @param range of all steps */
export function renderSmallLine(line: Line, range: TimeRange, zone: string): SafeHtml {
  const { title, values, absent } = line;
  const shades = values.flatMap((value, step) =>
    value === null && absent.isUnknown
      ? `M${step * STEP_WIDTH} 0h${STEP_WIDTH}v${HEIGHT}h${-STEP_WIDTH}z`
      : [],
  );
  const { words, y } = describe(line, range, zone);
  return html`<figure class="chart plot">
<figcaption><span>${title}</span></figcaption>
<svg role="img" aria-label="${words}" viewBox="0 0 ${values.length * STEP_WIDTH} ${HEIGHT}" preserveAspectRatio="none" width="100%" height="${HEIGHT / 2}"><path class="shade" d="${shades.join("")}"/><path class="line" d="${drawSteps(values, y)}"/></svg>
</figure>`;
}

/** @param range of all steps */
export function renderLine(line: Line, range: TimeRange, zone: string): SafeHtml {
  const { id, title, values, absent } = line;
  const stepMs = (range.to - range.from) / values.length;
  const say = (step: number) => (values[step] === null ? absent.word : line.say(step));
  const { words, y, highest, lately } = describe(line, range, zone);
  const steps = values.map((value, step) => {
    const when = sayTime(range.from + step * stepMs, zone).slice(0, 16);
    const of = value === null && absent.isUnknown ? "step unknown" : "step";
    return html`<rect class="${of}" x="${step * STEP_WIDTH}" y="0" width="${STEP_WIDTH}" height="${HEIGHT}"><title>${when}: ${say(step)}</title></rect>`;
  });
  return html`<figure class="chart plot" id="${id}">
<figcaption><span>${title}</span> <b>${lately}</b></figcaption>
<svg role="img" aria-label="${words}" viewBox="0 0 ${values.length * STEP_WIDTH} ${HEIGHT}" preserveAspectRatio="none" width="100%" height="${HEIGHT}"><path class="line" d="${drawSteps(values, y)}"/>${steps}</svg>
<div class="axis" aria-hidden="true"><span>${sayEdge(range.from, zone)}</span><span>${highest === null ? null : html`top ${highest}`}</span><span>${sayEdge(range.to, zone)}</span></div>
<input type="range" min="0" max="${values.length - 1}" value="${values.length - 1}" aria-label="Read ${title}">
<p class="reading"></p>
</figure>`;
}

function describe(line: Line, range: TimeRange, zone: string) {
  const { title, values, absent } = line;
  const most = Math.max(0, ...values.filter((value) => value !== null));
  const last = values.findLastIndex((value) => value !== null);
  const lately = last === -1 ? absent.word : line.say(last);
  const highest = last === -1 ? null : line.say(values.indexOf(most));
  const said = highest === null ? absent.word : `at most ${highest}, lately ${lately}`;
  return {
    words: `${title} from ${sayTime(range.from, zone)} to ${sayTime(range.to, zone)}: ${said}`,
    y: (value: number) => round(HEIGHT - 1 - (most === 0 ? 0 : (value / most) * (HEIGHT - 4))),
    /** null: nothing is known */
    highest,
    lately,
  };
}

/** Broken where values are unknown; a single value is still seen. */
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

function sayEdge(at: number, zone: string): string {
  return sayTime(at, zone).slice(5, 16);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
