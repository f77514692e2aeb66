/** One product on the overview: state, coverage, last hours, mismatches, and what to do. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { type Instant, showDuration } from "../../../clock.ts";
import type { ProductOverview, ProductState } from "../../../flows/read/read-overview.ts";
import type { Finding } from "../../../health/finding.ts";
import type { HistoryStep } from "../../../sync/coverage.ts";
import { linkToCoverage, renderCoverageStrip } from "../coverage/render-coverage-strip.ts";
import { groupThousands, sayWords, showCount, showSum, showTime } from "../parts/show.ts";
import { addUpRisk, TONE_OF_STATE } from "./health-verdict.ts";

const HEIGHT = 40;
const STEP_WIDTH = 2;

/** @param windowMs the present length of a window */
function renderWindowLengths(history: readonly HistoryStep[], windowMs: number): SafeHtml {
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

function renderRecordPace(history: readonly HistoryStep[]): SafeHtml {
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

const WORD_OF_STATE: Readonly<Record<ProductState, string>> = {
  stopped: "stopped",
  stalled: "stalled",
  behind: "behind",
  "not-begun": "not begun",
  current: "up to date",
  "transfers-only": "transfers only",
};
const MOST_GAPS = 3;

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

type PulledProduct = NonNullable<ProductOverview["pulled"]>;

/**
 * @param index of the product in the config: an id that is safe for every product name
 * @param findings of this product, and of all products
 */
export function renderProduct(
  product: ProductOverview,
  index: number,
  findings: readonly Finding[],
  when: When,
): SafeHtml {
  const { productId, state, pulled } = product;
  const isFirst = state === "behind" && findings.some(isFirstFetch);
  const [tone, name] = isFirst
    ? ["unknown", "fetching history"]
    : [TONE_OF_STATE[state], WORD_OF_STATE[state]];
  const word = html`<span class="state" data-tone="${tone}">${name}</span>`;
  return html`<li class="product sheet${pulled === null ? " unpulled" : ""}" id="product-${index}" aria-labelledby="product-${index}-name">
<div class="stand">
<h3 id="product-${index}-name">${productId}</h3>
${word}
${pulled === null ? renderNothing(state) : renderStand(pulled, when)}
</div>
${pulled === null ? null : renderPulled(productId, pulled, when)}
${renderRisk(product)}
${pulled === null ? null : renderTrouble(product, pulled, findings, when)}
</li>`;
}

/** A product that was never up to date is not late. */
function isFirstFetch({ kind, severity }: Finding): boolean {
  return kind === "product-behind" && severity === "unknown";
}

function renderNothing(state: ProductState): SafeHtml {
  return state === "transfers-only"
    ? html`<p class="faint">The worker verifies its transfers, and pulls nothing.</p>`
    : html`<p class="faint">Nothing has been fetched yet.</p>`;
}

function renderStand({ head, watermark, lagMs }: PulledProduct, { zone }: When): SafeHtml {
  const ahead =
    head === watermark ? null : html`<div><dt>pulled to</dt><dd>${showTime(head, zone)}</dd></div>`;
  return html`<dl class="facts">
<div><dt>lag</dt><dd class="number">${showDuration(lagMs)}</dd></div>
<div><dt>complete to</dt><dd>${showTime(watermark, zone)}</dd></div>
${ahead}
</dl>`;
}

function renderPulled(
  productId: string,
  { hours, history, windowMs }: PulledProduct,
  { zone }: When,
): SafeHtml {
  return html`${renderCoverageStrip(productId, hours, zone)}
${renderWindowLengths(history, windowMs)}
${renderRecordPace(history)}`;
}

function renderRisk({ productId, risk }: ProductOverview): SafeHtml {
  const { count, amounts } = addUpRisk(risk);
  if (count === 0) return html`<p class="risk faint">no mismatch</p>`;
  const lines = amounts.map(({ currency, amount }) => html`<li>${showSum(amount, currency)}</li>`);
  const link = `/mismatches?${new URLSearchParams({ product: productId })}`;
  return html`<div class="risk">
<a href="${link}"><b>${showCount(count)}</b> ${count === 1 ? "mismatch" : "mismatches"}</a>
${lines.length === 0 ? html`<p class="faint">no money at risk</p>` : html`<ul aria-label="at risk">${lines}</ul>`}
</div>`;
}

/** What stops or delays the product, and what to do. */
function renderTrouble(
  { productId, state }: ProductOverview,
  { gaps }: PulledProduct,
  findings: readonly Finding[],
  when: When,
): SafeHtml | null {
  if (state === "stalled") return renderGaps(productId, gaps, when);
  const wanted = state === "stopped" ? "credentials-refused" : "product-behind";
  const found = findings.find(({ kind }) => kind === wanted);
  if (found === undefined) return null;
  const what = `${found.what.charAt(0).toUpperCase()}${found.what.slice(1)}`;
  return html`<p class="trouble${found.severity === "bad" ? "" : ` ${found.severity}`}">${sayWords(`${what}. ${found.remedy ?? ""}`, when.zone)}</p>`;
}

function renderGaps(productId: string, gaps: PulledProduct["gaps"], { now, zone }: When): SafeHtml {
  const shown = gaps.slice(0, MOST_GAPS).map(({ from, to, code }) => {
    const why = code === null ? "a new attempt is under way" : html`<code>${code}</code>`;
    return html`<li><a href="${linkToCoverage(productId, { from, to })}">${showTime(from, zone)}</a>, ${showDuration(to - from)}: ${why}</li>`;
  });
  const more = gaps.length - shown.length;
  const next = Math.min(...gaps.map(({ nextAttemptAt }) => nextAttemptAt ?? now));
  const whole = { from: gaps[0]?.from ?? now, to: Math.max(...gaps.map(({ to }) => to)) };
  return html`<div class="trouble">
<p>Some time cannot be fetched. Meanwhile the worker pulls later time, and retries this time ${next > now ? html`at ${showTime(next, zone)}` : "now"}.</p>
<ul>${shown}${more > 0 ? html`<li><a href="${linkToCoverage(productId, whole)}">${showCount(more)} more</a></li>` : null}</ul>
</div>`;
}
