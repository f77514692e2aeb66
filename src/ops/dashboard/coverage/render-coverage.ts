/** Draws the coverage of a range: the gaps first, with their meaning, then the fetched windows. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { parseInstant, showDuration } from "../../../clock.ts";
import type { Coverage } from "../../../flows/read/read-coverage.ts";
import { renderRangeFields, type TypedRange } from "../parts/fields.ts";
import { explainGap } from "./gap-reasons.ts";
import { showCount, showTime } from "../parts/show.ts";

/** The most rows on the page: nobody reads more at once. */
const MOST_ROWS = 200;

export interface CoverageForm {
  /** those that are pulled */
  readonly products: readonly string[];
  /** as typed, so that people can correct mistakes */
  readonly typed: TypedRange;
  /** one line that names the field and its value; null: there is none */
  readonly problem: string | null;
}

/** @param mayWrite whether the page offers backfills */
export function renderCoverage(form: CoverageForm, coverage: Coverage | null, mayWrite: boolean): SafeHtml {
  return html`<h1>Coverage</h1>
${renderForm(form)}
${coverage === null ? null : html`${renderGaps(coverage, mayWrite)}${renderWindows(coverage)}`}`;
}

function renderForm({ products, typed, problem }: CoverageForm): SafeHtml {
  return html`<form method="get" action="/coverage" class="fields">
${renderRangeFields(products, typed)}
<button>Show</button>
</form>
${problem === null ? null : html`<p class="problem" role="alert">${problem}</p>`}`;
}

function renderGaps(coverage: Coverage, mayWrite: boolean): SafeHtml {
  const { productId, gaps, complete } = coverage;
  const missingMs = gaps.reduce((sum, gap) => sum + lengthOf(gap), 0);
  if (complete) {
    return html`<p class="verdict" data-state="good">${productId} is complete, except for time that has not settled yet.</p>`;
  }
  const shown = gaps.slice(0, MOST_ROWS);
  const rows = shown.map(
    (gap) => html`<tr>
<td>${showTime(gap.from)}</td><td>${showTime(gap.to)}</td><td class="number">${showDuration(lengthOf(gap))}</td>
<td><code>${gap.reason}</code></td><td class="meaning">${explainGap(gap.reason)}</td>
${mayWrite ? html`<td><a href="${linkToBackfill(productId, gap)}">Fetch again</a></td>` : null}
</tr>`,
  );
  const isOnlyWaiting = gaps.every(({ reason }) => reason === "not-fetched");
  return html`<p class="verdict" data-state="${isOnlyWaiting ? "warn" : "bad"}">${productId} is not complete: ${showDuration(missingMs)} missing.</p>
<section class="sheet" aria-label="Gaps"><div class="scroll" tabindex="0" role="group" aria-label="Gaps, table">
<table><caption>${sayShown("gap", gaps.length, shown.length)}</caption>
<thead><tr><th scope="col">from</th><th scope="col">to</th><th scope="col" class="number">length</th><th scope="col">reason</th><th scope="col">meaning</th>${mayWrite ? html`<th scope="col">backfill</th>` : null}</tr></thead>
<tbody>${rows}</tbody></table></div>
<p class="faint">A gap is tried again by itself, at most an hour after the last try.</p></section>`;
}

function renderWindows({ productId, windows, to }: Coverage): SafeHtml {
  if (windows.length === 0) {
    return html`<p class="faint">No window of this time has been fetched completely.</p>`;
  }
  const shown = windows.slice(0, MOST_ROWS);
  const rows = shown.map(
    (window) => html`<tr>
<td>${showTime(window.from)}</td><td>${showTime(window.to)}</td><td class="number">${showDuration(lengthOf(window))}</td>
<td>${window.kind}</td><td class="number">${showCount(window.records)}</td><td class="number">${showCount(window.pages)}</td><td>${showTime(window.fetchedAt)}</td>
</tr>`,
  );
  const behind = windows[MOST_ROWS];
  const rest =
    behind === undefined ? null : String(new URLSearchParams({ product: productId, from: behind.from, to }));
  return html`<section class="sheet" aria-label="Windows"><div class="scroll" tabindex="0" role="group" aria-label="Windows, table">
<table><caption>${sayShown("window", windows.length, shown.length)}, in the order of their time</caption>
<thead><tr><th scope="col">from</th><th scope="col">to</th><th scope="col" class="number">length</th><th scope="col">kind</th><th scope="col" class="number">records</th><th scope="col" class="number">pages</th><th scope="col">fetched at</th></tr></thead>
<tbody>${rows}</tbody></table></div>
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

function lengthOf({ from, to }: { readonly from: string; readonly to: string }): number {
  return parseInstant(to, "to") - parseInstant(from, "from");
}
