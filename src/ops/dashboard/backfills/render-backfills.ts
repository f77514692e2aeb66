/** Draws the form of a new backfill with its dry run, and the list of all. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant, showDuration } from "../../../clock.ts";
import type { BackfillPlan } from "../../../flows/pull/backfill.ts";
import type { Backfill } from "../../../sync/backfill.ts";
import { lengthOf } from "../../../window.ts";
import { renderRangeFields, type TypedRange } from "../parts/fields.ts";
import { showCount, showState, showTime } from "../parts/show.ts";

export interface BackfillForm {
  /** those that are pulled */
  readonly products: readonly string[];
  /** as typed, so that people can correct mistakes */
  readonly typed: TypedRange;
  /** the dry run; null: there is no range */
  readonly plan: BackfillPlan | null;
  /** one line that names the field and its value; null: there is none */
  readonly problem: string | null;
}

export interface BackfillList {
  readonly backfills: readonly Backfill[];
  /** null: this is the last page */
  readonly next: string | null;
}

/** @param mayWrite whether the page offers a new backfill */
export function renderBackfills(form: BackfillForm, list: BackfillList, mayWrite: boolean): SafeHtml {
  return html`<h1>Backfill</h1>
${mayWrite ? renderForm(form) : null}
${renderList(list)}`;
}

function renderForm({ products, typed, plan, problem }: BackfillForm): SafeHtml {
  return html`<section class="sheet" aria-labelledby="new"><h2 id="new">Fetch a past range again</h2>
<p class="faint">The worker fetches the whole range again, after all more urgent work. Nothing counts twice, and live pulling goes on.</p>
<form method="get" action="/backfills" class="fields">
${renderRangeFields(products, typed)}
<button class="quiet">Show the effect</button>
</form>
${problem === null ? null : html`<p class="problem" role="alert">${problem}</p>`}
${plan === null ? null : renderPlan(plan)}</section>`;
}

function renderPlan({ asked, windows, windowMs, coveredMs }: BackfillPlan): SafeHtml {
  const length = lengthOf(asked);
  const covered =
    coveredMs === 0
      ? "none of this time was fetched before"
      : coveredMs === length
        ? "all of this time was fetched before"
        : `${showDuration(coveredMs)} of this time was fetched before`;
  const count = `${showCount(windows.length)} ${windows.length === 1 ? "window" : "windows"}`;
  return html`<form method="post" action="/backfills" class="row plan" id="plan">
<input type="hidden" name="product" value="${asked.productId}">
<input type="hidden" name="from" value="${formatInstant(asked.from)}">
<input type="hidden" name="to" value="${formatInstant(asked.to)}">
<p>The backfill would fetch <strong>${showDuration(length)}</strong> of ${asked.productId}, from ${showTime(asked.from)} to ${showTime(asked.to)},
in <strong>${count}</strong> of at most ${showDuration(windowMs)}; ${covered}. Nothing has been queued yet.</p>
<button>Start</button>
</form>`;
}

function renderList({ backfills, next }: BackfillList): SafeHtml {
  if (backfills.length === 0)
    return html`<p class="sheet">There are no backfills${next === null ? " yet" : ""}.</p>`;
  const rows = backfills.map(
    (one) => html`<tr id="backfill-${one.id}">
<td><a href="/backfills/${one.id}">Backfill ${one.id}</a></td><td>${showState(one.status)}</td><td class="wrap">${one.productId}</td>
<td>${showTime(one.from)}</td><td>${showTime(one.to)}</td>
<td class="number">${showCount(one.windowsDone)} of ${showCount(one.windowsTotal)}</td>
<td class="number">${showCount(one.records)}</td><td class="number">${showCount(one.created)}</td><td class="number">${showCount(one.changed)}</td>
</tr>`,
  );
  return html`<section class="sheet" aria-labelledby="all"><h2 id="all">All backfills</h2>
<div class="scroll" tabindex="0" role="group" aria-label="Backfills, table"><table>
<caption>The newest first</caption>
<thead><tr><th scope="col">backfill</th><th scope="col">status</th><th scope="col">product</th><th scope="col">from</th><th scope="col">to</th>
<th scope="col" class="number">windows</th><th scope="col" class="number">records</th><th scope="col" class="number">new</th><th scope="col" class="number">changed</th></tr></thead>
<tbody>${rows}</tbody></table></div>
${next === null ? null : html`<p><a class="button quiet" href="/backfills?after=${next}">Older ones</a></p>`}</section>`;
}
