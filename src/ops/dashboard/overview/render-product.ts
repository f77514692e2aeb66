/** One product on the overview: state, coverage, last hours, mismatches, and what to do. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { type Instant, showDuration } from "../../../clock.ts";
import type { ProductOverview, ProductState } from "../../../flows/read/read-overview.ts";
import { linkToCoverage, renderCoverageStrip } from "../coverage/render-coverage-strip.ts";
import { showCount, showSum, showTime } from "../parts/show.ts";
import { TONE_OF_STATE } from "./health-verdict.ts";
import { renderRecordPace, renderWindowLengths } from "./render-history.ts";
import { addUpRisk } from "./risk.ts";

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

/** @param index of the product in the config: an id that is safe for every product name */
export function renderProduct(product: ProductOverview, index: number, when: When): SafeHtml {
  const { productId, state, pulled } = product;
  const word = html`<span class="state" data-tone="${TONE_OF_STATE[state]}">${WORD_OF_STATE[state]}</span>`;
  return html`<li class="product sheet${pulled === null ? " unpulled" : ""}" id="product-${index}" aria-labelledby="product-${index}-name">
<div class="stand">
<h3 id="product-${index}-name">${productId}</h3>
${word}
${pulled === null ? renderNothing(state) : renderStand(pulled, when)}
</div>
${pulled === null ? null : renderPulled(productId, pulled, when)}
${renderRisk(product)}
${pulled === null ? null : renderTrouble(product, pulled, when)}
</li>`;
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

/** What stops the product, and what to do. */
function renderTrouble(
  { productId, state }: ProductOverview,
  pulled: PulledProduct,
  when: When,
): SafeHtml | null {
  const { gaps, stoppedUntil } = pulled;
  if (stoppedUntil !== null) {
    return html`<p class="trouble">The provider refuses the credentials. Check <code>PROVIDER_USERNAME</code> and <code>PROVIDER_PASSWORD</code>, then restart the worker. Without a restart, the worker tries again at ${showTime(stoppedUntil, when.zone)}.</p>`;
  }
  if (gaps.length > 0) return renderGaps(productId, gaps, when);
  if (state !== "behind") return null;
  return html`<p class="trouble warn">Pulling is late. If the lag falls, the worker is catching up. If not, the provider is slow: see the length of the windows.</p>`;
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
<p>Some time cannot be fetched. The worker pulls later time meanwhile, and tries this time again ${next > now ? html`at ${showTime(next, zone)}` : "now"}.</p>
<ul>${shown}${more > 0 ? html`<li><a href="${linkToCoverage(productId, whole)}">${showCount(more)} more</a></li>` : null}</ul>
</div>`;
}
