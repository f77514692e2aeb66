/** Draws the form of a new backfill with its dry run, and the list of all. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant, showDuration } from "../../../clock.ts";
import type { BackfillPlan } from "../../../flows/pull/backfill.ts";
import type { Backfill } from "../../../sync/backfill.ts";
import { lengthOf } from "../../../window.ts";
import {
  type Problem,
  RANGE_FIELDS,
  renderProblem,
  renderRangeFields,
  type TypedRange,
} from "../parts/fields.ts";
import { showCount, showState, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

export interface BackfillForm {
  /** those that are pulled */
  readonly products: readonly string[];
  /** as typed, to be corrected */
  readonly typed: TypedRange;
  /** the dry run; null: there is no range */
  readonly plan: BackfillPlan | null;
  /** null: there is none */
  readonly problem: Problem | null;
}

export interface BackfillList {
  readonly backfills: readonly Backfill[];
  /** null: this is the last page */
  readonly next: string | null;
}

/** @param reader whether the page offers a new backfill, and the zone of its times */
export function renderBackfills(
  form: BackfillForm,
  list: BackfillList,
  { mayWrite, zone }: { readonly mayWrite: boolean; readonly zone: string },
): SafeHtml {
  return html`<h1>Backfill</h1>
${mayWrite ? renderForm(form, zone) : null}
${renderList(list, zone)}`;
}

function renderForm({ products, typed, plan, problem }: BackfillForm, zone: string): SafeHtml {
  return html`<section class="sheet" aria-labelledby="new"><h2 id="new">Fetch a past range again</h2>
<p class="faint">The worker fetches the whole range again, after all more urgent work. Nothing counts twice, and live pulling continues.</p>
<form method="get" action="/backfills" class="fields">
${renderRangeFields(products, typed, problem, zone)}
<button class="quiet">Show the effect</button>
</form>
${renderProblem(problem, RANGE_FIELDS)}
${plan === null ? null : renderPlan(plan, zone)}</section>`;
}

function renderPlan({ asked, windows, windowMs, coveredMs }: BackfillPlan, zone: string): SafeHtml {
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
<p>The backfill would fetch <strong>${showDuration(length)}</strong> of ${asked.productId}, from ${showTime(asked.from, zone)} to ${showTime(asked.to, zone)},
in <strong>${count}</strong> of at most ${showDuration(windowMs)}; ${covered}. Nothing has been queued yet.</p>
<button>Start</button>
</form>`;
}

const COLUMNS: readonly Column[] = [
  { name: "backfill" },
  { name: "status" },
  { name: "product", as: "text" },
  { name: "from" },
  { name: "to" },
  { name: "windows", as: "number" },
  { name: "records", as: "number" },
  { name: "new", as: "number" },
  { name: "changed", as: "number" },
];

function renderList({ backfills, next }: BackfillList, zone: string): SafeHtml {
  if (backfills.length === 0)
    return html`<p class="sheet">There are no backfills${next === null ? " yet" : ""}.</p>`;
  const rows = backfills.map((one) => ({
    id: `backfill-${one.id}`,
    cells: [
      html`<a href="/backfills/${one.id}">Backfill ${one.id}</a>`,
      showState(one.status),
      one.productId,
      showTime(one.from, zone),
      showTime(one.to, zone),
      `${showCount(one.windowsDone)} of ${showCount(one.windowsTotal)}`,
      showCount(one.records),
      showCount(one.created),
      showCount(one.changed),
    ],
  }));
  return html`<section class="sheet" aria-labelledby="all"><h2 id="all">All backfills</h2>
${renderTable({ name: "Backfills", caption: "The newest first", columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="/backfills?after=${next}">Older ones</a></p>`}</section>`;
}
