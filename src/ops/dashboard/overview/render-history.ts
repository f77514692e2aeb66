/** Draws the last hours of a product: the length of its windows, and its records per minute. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { showDuration } from "../../../clock.ts";
import type { HistoryStep } from "../../../sync/coverage.ts";
import { groupThousands } from "../parts/show.ts";

const HEIGHT = 40;
const STEP_WIDTH = 2;

/** @param windowMs the present length of a window */
export function renderWindowLengths(history: readonly HistoryStep[], windowMs: number): SafeHtml {
  const lengths = history.map(({ longestMs }) => longestMs);
  const seen = lengths.filter((length) => length !== null);
  const top = Math.max(windowMs, ...seen);
  const between =
    seen.length === 0 ? "no window was fetched" : sayRange(Math.min(...seen), Math.max(...seen));
  const words = `Windows of the last ${sayHours(history)}: ${between}; now at most ${showDuration(windowMs)}`;
  const y = (length: number) => round(HEIGHT - (length / top) * (HEIGHT - 2) - 1);
  const limit = html`<line class="limit" x1="0" x2="${history.length * STEP_WIDTH}" y1="${y(windowMs)}" y2="${y(windowMs)}"/>`;
  const line = html`<path class="line" d="${drawSteps(lengths, y)}"/>`;
  const caption = html`<span>windows</span> <b>up to ${showDuration(windowMs)}</b>`;
  return renderChart({ caption, words, top: showDuration(top), history, marks: html`${limit}${line}` });
}

export function renderRecordPace(history: readonly HistoryStep[]): SafeHtml {
  const paces = history.map(({ recordsPerMinute }) => recordsPerMinute);
  const seen = paces.filter((pace) => pace !== null);
  const [top, last] = [Math.max(0, ...seen), seen.at(-1)];
  const lately = last === undefined ? "unknown" : `${sayPace(last)} / min`;
  const words = `Records per minute in the last ${sayHours(history)}: ${
    last === undefined ? "nothing was fetched" : `at most ${sayPace(top)}, lately ${sayPace(last)}`
  }`;
  const bars = paces.map((pace, step) => {
    if (pace === null || top === 0) return "";
    const height = round((pace / top) * (HEIGHT - 2));
    return `M${step * STEP_WIDTH} ${HEIGHT}v${-height}h${STEP_WIDTH - 0.4}v${height}z`;
  });
  const marks = html`<path class="bars" d="${bars.join("")}"/>`;
  return renderChart({
    caption: html`<span>records</span> <b>${lately}</b>`,
    words,
    top: sayPace(top),
    history,
    marks,
  });
}

interface Chart {
  readonly caption: SafeHtml;
  /** the whole chart as a sentence */
  readonly words: string;
  /** the value of the highest mark */
  readonly top: string;
  readonly history: readonly HistoryStep[];
  readonly marks: SafeHtml;
}

function renderChart({ caption, words, top, history, marks }: Chart): SafeHtml {
  return html`<figure class="chart">
<figcaption>${caption}</figcaption>
<svg role="img" aria-label="${words}" viewBox="0 0 ${history.length * STEP_WIDTH} ${HEIGHT}" preserveAspectRatio="none" width="100%" height="${HEIGHT}">${marks}</svg>
<div class="axis" aria-hidden="true"><span>${sayHours(history)} ago</span><span>top ${top}</span><span>now</span></div>
</figure>`;
}

/** A step line with gaps for unknown values. */
function drawSteps(values: readonly (number | null)[], y: (value: number) => number): string {
  let path = "";
  let isDrawing = false;
  for (const [step, value] of values.entries()) {
    if (value !== null) {
      path += `${isDrawing ? "L" : "M"}${step * STEP_WIDTH} ${y(value)}H${(step + 1) * STEP_WIDTH}`;
    }
    isDrawing = value !== null;
  }
  return path;
}

function sayHours(history: readonly HistoryStep[]): string {
  const [first, second] = history;
  if (first === undefined || second === undefined) return showDuration(0);
  return showDuration(history.length * (second.from - first.from));
}

function sayRange(shortest: number, longest: number): string {
  if (shortest === longest) return `all had at most ${showDuration(longest)}`;
  return `the longest had between ${showDuration(shortest)} and ${showDuration(longest)}`;
}

/** Three digits say enough. */
function sayPace(pace: number): string {
  return pace >= 100 ? groupThousands(pace.toFixed(0)) : String(Number(pace.toPrecision(2)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
