/** The list of mismatches as a page: filters, sums, rows, and possible actions. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { MISMATCH_KINDS, MISMATCH_STATUSES } from "../../../mismatch.ts";
import {
  type ListedMismatch,
  MISMATCH_SORTS,
  type MismatchSort,
  type OrderPosition,
  type SumOfCurrency,
} from "../../../mismatches/order-store.ts";
import { statusesOf } from "../../../mismatches/store.ts";
import type { ChoiceQuery } from "../../input/mismatch-query.ts";
import { nameItself, renderSelect } from "../parts/fields.ts";
import { showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { isUsual, type ListQuery, nameOfOrder, orderAfterClick, pathOfList } from "./mismatch-list-query.ts";
import { actionsFor, renderActionButtons, sayCount, saySums } from "./mismatch-words.ts";

/** The typed and selected values of a failed action, which the page shows again. */
export interface TypedStep {
  readonly note: string;
  /** ids */
  readonly selected: ReadonlySet<string>;
}

export interface MismatchList {
  readonly query: ListQuery;
  readonly mismatches: readonly ListedMismatch[];
  readonly before: OrderPosition | null;
  readonly after: OrderPosition | null;
  readonly sums: readonly SumOfCurrency[];
  /** the products of the config */
  readonly products: readonly string[];
  /** whether the visitor may change anything */
  readonly mayAct: boolean;
  /** null: no action failed */
  readonly typed: TypedStep | null;
}

export function renderMismatches(list: MismatchList): SafeHtml {
  const { query, mismatches, sums, products, mayAct } = list;
  return html`<h1>Mismatches</h1>
${renderFilters(query, products)}
${renderSums(query, sums)}
${mismatches.length === 0 ? renderNone(query) : mayAct ? renderChoosing(list) : renderTable(list)}
${renderPager(list)}`;
}

/** The filters alone, with their problem. @param filters as typed */
export function renderRefusedFilters(
  filters: ChoiceQuery,
  products: readonly string[],
  problem: string,
): SafeHtml {
  return html`<h1>Mismatches</h1>
<p class="problem" role="alert">${problem}</p>
${renderFilters({ filters, order: { by: "firstSeenAt", descending: true }, from: null }, products)}`;
}

function renderFilters({ filters, order }: ListQuery, products: readonly string[]): SafeHtml {
  const { product, kind, status, username, minAmount, from, to } = filters;
  const sort = isUsual(order) ? null : html`<input type="hidden" name="sort" value="${nameOfOrder(order)}">`;
  return html`<form method="get" action="/mismatches" class="sheet fields" id="filters" aria-label="Filters">
${renderSelect("Product", "product", product, [["", "all"], ...products.map(nameItself)])}
${renderSelect("Kind", "kind", kind, [["", "all"], ...MISMATCH_KINDS.map(nameItself)])}
${renderSelect("Status", "status", status, [
  ["", "open and acknowledged"],
  ...MISMATCH_STATUSES.map(nameItself),
  [MISMATCH_STATUSES.join(","), "all"],
])}
<label>Player <input name="username" value="${username ?? ""}" size="14" autocomplete="off"></label>
<label>At risk, at least <input name="minAmount" value="${minAmount ?? ""}" size="9" inputmode="decimal" autocomplete="off"></label>
<label>First seen from ${renderTimeInput("from", from)}</label>
<label>First seen before ${renderTimeInput("to", to)}</label>
${sort}<button>Filter</button>
<a href="/mismatches">Clear</a>
</form>`;
}

/** A browser's time field hides values that it cannot parse, so such values get a text field. */
function renderTimeInput(name: string, value = ""): SafeHtml {
  const [, local] = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)Z$/.exec(value) ?? [];
  if (value !== "" && local === undefined) return html`<input name="${name}" value="${value}" size="22">`;
  return html`<input type="datetime-local" name="${name}" value="${local ?? ""}" step="any">`;
}

function renderSums(query: ListQuery, sums: readonly SumOfCurrency[]): SafeHtml {
  const csv = pathOfList({ ...query, from: null }).replace("/mismatches", "/mismatches.csv");
  const atRisk =
    sums.length === 0
      ? null
      : html` <span class="faint">with</span> ${saySums(sums)} <span class="faint">at risk</span>`;
  return html`<div class="row sums" id="sums"><p><strong>${sayCount(countOf(sums))}</strong>${atRisk}</p>
<a href="${csv}" download="mismatches.csv">Download as CSV</a></div>`;
}

function countOf(sums: readonly SumOfCurrency[]): number {
  return sums.reduce((all, { count }) => all + count, 0);
}

function renderNone({ filters, from }: ListQuery): SafeHtml {
  if (from !== null)
    return html`<p class="sheet">There are no further mismatches. <a href="${pathOfList({ filters, order: { by: "firstSeenAt", descending: true }, from: null })}">Begin again</a></p>`;
  const isAll = Object.values(filters).every((text) => text === undefined);
  return html`<p class="sheet">${isAll ? "No mismatch needs a decision. Everything that could be compared agrees." : "No mismatch matches the filters."}</p>`;
}

function renderChoosing(list: MismatchList): SafeHtml {
  const { query, mismatches, sums, typed } = list;
  const count = countOf(sums);
  const all =
    count > mismatches.length
      ? html`<label class="check"><input type="checkbox" name="scope" value="all" data-all="${showCount(count)} selected: ${saySums(sums)}">
All ${showCount(count)} matching</label>`
      : null;
  return html`<form method="post" action="${pathOfList(query)}" data-select id="choose">
<div class="sheet acting">
<div class="row"><label class="check"><input type="checkbox" data-select-all>All on this page</label>
${all}
<output data-selected-count aria-live="polite" class="faint"></output></div>
<div class="row"><label class="note">Note <textarea name="note" rows="1" maxlength="2000" required>${typed?.note ?? ""}</textarea></label>
${renderActionButtons(actionsFor(statusesOfQuery(query.filters)))}</div>
</div>
${renderTable(list)}
</form>`;
}

function statusesOfQuery({ status }: ChoiceQuery) {
  const named = (status ?? "").split(",");
  return statusesOf({ statuses: MISMATCH_STATUSES.filter((one) => named.includes(one)) });
}

const HEADS: Readonly<Record<MismatchSort, string>> = {
  firstSeenAt: "First seen",
  occurredAt: "Happened",
  amountAtRisk: "At risk",
};

function renderTable({ query, mismatches, mayAct, typed }: MismatchList): SafeHtml {
  const [firstSeen, occurred, amount] = MISMATCH_SORTS.map((by) => renderHead(query, by));
  const rows = mismatches.map((one) => renderRow(one, mayAct, typed?.selected.has(one.id) ?? false));
  return html`<div class="scroll"><table class="mismatches">
<caption class="hidden">Mismatches, ${query.order.descending ? "largest or newest" : "smallest or oldest"} first by ${HEADS[query.order.by].toLowerCase()}</caption>
<thead><tr>${mayAct ? html`<td></td>` : null}<th scope="col">Mismatch</th><th scope="col">Status</th><th scope="col">Product</th><th scope="col">Player</th>${amount}${occurred}${firstSeen}<th scope="col">Reason</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>`;
}

function renderHead(query: ListQuery, by: MismatchSort): SafeHtml {
  const { order } = query;
  const direction = order.descending ? "descending" : "ascending";
  const sorted = order.by === by ? html` aria-sort="${direction}"` : null;
  const arrow =
    order.by === by ? html` <span aria-hidden="true">${order.descending ? "▼" : "▲"}</span>` : null;
  const href = pathOfList({ ...query, order: orderAfterClick(order, by), from: null });
  const number = by === "amountAtRisk" ? html` class="number"` : null;
  return html`<th scope="col"${number}${sorted}><a href="${href}">${HEADS[by]}${arrow}</a></th>`;
}

function renderRow(mismatch: ListedMismatch, mayAct: boolean, isSelected: boolean): SafeHtml {
  const { id, kind, status, productId, username, currency, amountAtRisk, occurredAt, firstSeenAt, reason } =
    mismatch;
  const box = html`<td><input type="checkbox" name="id" value="${id}:${status}" id="box${id}" aria-label="Select mismatch ${id}" data-amount="${amountAtRisk}" data-currency="${currency ?? ""}"${isSelected ? html` checked` : null}></td>`;
  return html`<tr id="m${id}">${mayAct ? box : null}<td class="kind"><a href="/mismatches/${id}">${kind}</a> <span class="faint">#${id}</span></td><td>${showState(status)}</td><td>${productId}</td><td class="player">${username}</td><td class="number">${showAmount(amountAtRisk, currency)}</td><td>${showTime(occurredAt)}</td><td>${showTime(firstSeenAt)}</td><td class="reason"><span>${reason}</span></td></tr>
`;
}

function renderPager({ query, before, after }: MismatchList): SafeHtml | null {
  if (before === null && after === null) return null;
  const link = (position: OrderPosition | null, direction: "before" | "after", text: string) =>
    position === null
      ? null
      : html`<a class="button quiet" rel="${direction === "before" ? "prev" : "next"}" href="${pathOfList({ ...query, from: { place: position, direction } })}">${text}</a>`;
  const first =
    before === null
      ? null
      : html`<a class="button quiet" href="${pathOfList({ ...query, from: null })}">First page</a>`;
  return html`<nav class="row" aria-label="Pages of the list" id="pager">${first}${link(before, "before", "Previous")}${link(after, "after", "Next")}</nav>`;
}
