/** The list of mismatches as a page: filters, sums, rows, and possible actions. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Instant } from "../../../clock.ts";
import { MISMATCH_KINDS, MISMATCH_STATUSES, type Mismatch } from "../../../mismatch.ts";
import {
  MISMATCH_SORTS,
  type MismatchSort,
  type OrderPosition,
  type SumOfCurrency,
} from "../../../mismatches/order-store.ts";
import { statusesOf } from "../../../mismatches/store.ts";
import { formatAmount, parseAmount, sumAmounts } from "../../../money.ts";
import { CHOICES, type ChoiceQuery } from "../../input/mismatch-query.ts";
import { renderCaseFilters, sayCase } from "../comments/render-comments.ts";
import {
  nameItself,
  type Problem,
  renderInput,
  renderProblem,
  renderSelect,
  renderTimePicker,
} from "../parts/fields.ts";
import {
  sayAmount,
  sayAmounts,
  sayWords,
  showAmount,
  showCount,
  showState,
  showTime,
} from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import {
  isUsual,
  type ListQuery,
  nameOfOrder,
  orderAfterClick,
  pathOfList,
  pathOfMismatch,
} from "./mismatch-list-query.ts";
import { actionsFor, renderActionButtons, renderCaseButtons, sayCount } from "./mismatch-words.ts";

/** The typed and selected values of a failed action, which the page shows again. */
export interface TypedStep {
  readonly note: string;
  /** ids */
  readonly selected: ReadonlySet<string>;
}

export interface MismatchList {
  readonly query: ListQuery;
  readonly mismatches: readonly Mismatch[];
  readonly before: OrderPosition | null;
  readonly after: OrderPosition | null;
  readonly sums: readonly SumOfCurrency[];
  /** the products of the config */
  readonly products: readonly string[];
  /** whether the visitor may change anything */
  readonly mayAct: boolean;
  /** null: no action failed */
  readonly typed: TypedStep | null;
  /** of its times */
  readonly zone: string;
  readonly now: Instant;
}

export function renderMismatches(list: MismatchList): SafeHtml {
  const { query, mismatches, products, mayAct, zone } = list;
  return html`<h1>Mismatches</h1>
${renderFilters(query, { products, zone, problem: null })}
${renderSums(list)}
${mismatches.length === 0 ? renderNone(query) : mayAct ? renderChoosing(list) : renderRows(list)}
${renderPager(list)}`;
}

interface FilterForm {
  readonly products: readonly string[];
  readonly zone: string;
  readonly problem: Problem | null;
}

/** The filters alone, with their problem. @param filters as typed */
export function renderRefusedFilters(filters: ChoiceQuery, form: FilterForm): SafeHtml {
  return html`<h1>Mismatches</h1>
${renderFilters({ filters, order: { by: "firstSeenAt", descending: true }, from: null }, form)}
${renderProblem(form.problem, CHOICES)}`;
}

function renderFilters({ filters, order }: ListQuery, { products, zone, problem }: FilterForm): SafeHtml {
  const sort = isUsual(order) ? null : html`<input type="hidden" name="sort" value="${nameOfOrder(order)}">`;
  const incident =
    filters.incident === undefined
      ? null
      : renderInput(
          { label: "Incident", name: "incident", value: filters.incident, problem },
          html`size="6" inputmode="numeric" autocomplete="off"`,
        );
  const field = (label: string, name: keyof ChoiceQuery) => ({ label, name, value: filters[name], problem });
  const time = (label: string, name: "from" | "to" | "happenedFrom" | "happenedTo") =>
    renderTimePicker(field(label, name), zone);
  return html`<form method="get" action="/mismatches" class="sheet fields" id="filters" aria-label="Filters">
${renderSelect(field("Product", "product"), [["", "all"], ...products.map(nameItself)])}
${renderSelect(field("Kind", "kind"), [["", "all"], ...MISMATCH_KINDS.map(nameItself)])}
${renderSelect(field("Status", "status"), [
  ["", "open and acknowledged"],
  ...MISMATCH_STATUSES.map(nameItself),
  [MISMATCH_STATUSES.join(","), "all"],
])}
${renderInput(field("Player", "username"), html`size="11" autocomplete="off"`)}
${renderCaseFilters(filters, problem)}
${renderInput(field("Currency", "currency"), html`size="5" autocomplete="off"`)}
${renderInput(field("Statement of", "day"), html`size="10" autocomplete="off" placeholder="2026-11-20"`)}
${renderInput(field("At risk, at least", "minAmount"), html`size="8" inputmode="decimal" autocomplete="off"`)}
${time("First seen from", "from")}
${time("First seen before", "to")}
${time("Happened from", "happenedFrom")}
${time("Happened before", "happenedTo")}
${incident}${sort}<button>Filter</button>
<a href="/mismatches">Clear</a>
</form>`;
}

function renderSums(list: MismatchList): SafeHtml {
  const { query, sums } = list;
  const csv = pathOfList({ ...query, from: null }).replace("/mismatches", "/mismatches.csv");
  const atRisk =
    sums.length === 0
      ? null
      : html` <span class="faint">with</span> ${sayAmounts(sums)} <span class="faint">at risk</span>`;
  return html`<div class="row sums" id="sums"><p><strong>${sayCount(countOf(sums))}</strong>${atRisk}${renderEffects(list)}</p>
<a href="${csv}" download="mismatches.csv">Download as CSV</a></div>`;
}

/**
 * What the statement of the day says of these mismatches, from their effects; null: no day was asked for, or the list is longer
 * than a page, because not every effect is stored.
 */
function renderEffects({ query, mismatches, before, after }: MismatchList): SafeHtml | null {
  const { day } = query.filters;
  if (day === undefined || before !== null || after !== null) return null;
  const known = mismatches.filter(({ effect }) => effect !== null);
  const sums = [...Map.groupBy(known, ({ currency }) => currency)].map(([currency, own]) => {
    const effects = own.map(({ effect }) => parseAmount(effect ?? "0", "effect"));
    return sayAmount(formatAmount(sumAmounts(effects)), currency);
  });
  if (sums.length === 0) return null;
  return html`<span class="faint">; effects in all</span> ${sums.join(", ")}<span class="faint">, which the statement of ${day} counts with the other sign</span>`;
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
      ? html`<label class="check"><input type="checkbox" name="scope" value="all" data-all="${showCount(count)} selected: ${sayAmounts(sums)}">
All ${showCount(count)} matching</label>`
      : null;
  return html`<form method="post" action="${pathOfList(query)}" data-select id="choose">
<div class="sheet acting">
<div class="row"><label class="check"><input type="checkbox" data-select-all>All on this page</label>
${all}
<output data-selected-count aria-live="polite" class="faint"></output></div>
<div class="row"><label class="note">Note <textarea name="note" rows="1" maxlength="2000" required>${typed?.note ?? ""}</textarea></label>
${renderActionButtons(actionsFor(statusesOfQuery(query.filters)))}
${renderCaseButtons()}</div>
</div>
${renderRows(list)}
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
  remindAt: "Reminder",
};

function renderRows(list: MismatchList): SafeHtml {
  const { query, mismatches, mayAct, typed } = list;
  const [firstSeen, occurred, amount] = MISMATCH_SORTS.map((by) => renderHead(query, by));
  const columns: Column[] = [
    ...(mayAct ? [{ name: "", as: "box" } as const] : []),
    { name: "Mismatch", of: "kind" },
    { name: "Status" },
    { name: "Product", as: "text" },
    { name: "Player", as: "text", of: "player" },
    { name: "Owner", as: "text" },
    ...[amount].filter((one) => one !== undefined),
    { name: "Effect", as: "number" },
    ...[occurred, firstSeen].filter((one) => one !== undefined),
    { name: "Reason", of: "reason" },
  ];
  const order = query.order.descending ? "largest or newest" : "smallest or oldest";
  return renderTable({
    name: `Mismatches, ${order} first by ${HEADS[query.order.by].toLowerCase()}`,
    of: "mismatches",
    columns,
    rows: mismatches.map((one) => renderRow(one, list, typed?.selected.has(one.id) ?? false)),
  });
}

function renderHead(query: ListQuery, by: MismatchSort): Column {
  const { order } = query;
  const isSorted = order.by === by;
  const arrow = isSorted ? html` <span aria-hidden="true">${order.descending ? "▼" : "▲"}</span>` : null;
  const href = pathOfList({ ...query, order: orderAfterClick(order, by), from: null });
  return {
    name: HEADS[by],
    head: html`<a href="${href}">${HEADS[by]}${arrow}</a>`,
    sort: isSorted ? (order.descending ? "descending" : "ascending") : null,
    ...(by === "amountAtRisk" ? { as: "number" } : {}),
  };
}

function renderRow(
  mismatch: Mismatch,
  { query, mayAct, zone, now }: Pick<MismatchList, "query" | "mayAct" | "zone" | "now">,
  isSelected: boolean,
) {
  const { id, kind, status, productId, username, currency, amountAtRisk, effect, occurredAt, firstSeenAt } =
    mismatch;
  const reason = sayWords(mismatch.reason, zone);
  const box = html`<input type="checkbox" name="id" value="${id}:${status}" id="box${id}" aria-label="Select mismatch ${id}" data-amount="${amountAtRisk}" data-currency="${currency ?? ""}"${isSelected ? html` checked` : null}>`;
  return {
    id: `m${id}`,
    cells: [
      ...(mayAct ? [box] : []),
      html`<a href="${pathOfMismatch(id, query)}">${kind}</a> <span class="faint">#${id}</span>`,
      showState(status),
      productId,
      username,
      sayCase(mismatch, zone, now, (owner) =>
        pathOfList({ ...query, filters: { ...query.filters, owner }, from: null }),
      ),
      showAmount(amountAtRisk, currency),
      showAmount(effect, currency),
      showTime(occurredAt, zone),
      showTime(firstSeenAt, zone),
      html`<span title="${reason}">${reason}</span>`,
    ],
  };
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
