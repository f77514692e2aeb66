/** Draws the list of transfers or top-ups, with the number in each status. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Instant } from "../../../clock.ts";
import type { TransferDocument } from "../../../flows/read/read-transfer.ts";
import { TRANSFER_STATUSES, type TransferStatus } from "../../../transfer.ts";
import { filtersOf } from "../../input/fields.ts";
import { LIST_QUERY } from "../../input/transfer-query.ts";
import {
  nameItself,
  type Problem,
  renderInput,
  renderProblem,
  renderSelect,
  type TypedFields,
} from "../parts/fields.ts";
import { showAge, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

/** The fields of the form: filters of the API. */
export const FILTERS = filtersOf(LIST_QUERY);
type TransferFilters = TypedFields<typeof FILTERS>;

export interface TransferList {
  /** the products of the config */
  readonly products: readonly string[];
  /** of transfers, without top-ups */
  readonly counts: Readonly<Record<TransferStatus, number>>;
  /** null: the filters have an error */
  readonly page: { readonly transfers: readonly TransferDocument[]; readonly next: string | null } | null;
  /** null: there is none */
  readonly problem: Problem | null;
}

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

export function renderTransfers(filters: TransferFilters, list: TransferList, when: When): SafeHtml {
  const { page, problem } = list;
  return html`<h1>${filters.kind === "top-up" ? "Top-ups" : "Transfers"}</h1>
${renderCounts(list.counts)}
${renderFilters(filters, list)}
${renderProblem(problem, FILTERS)}
${page === null ? null : page.transfers.length === 0 ? html`<p class="sheet">No ${filters.kind === "top-up" ? "top-up" : "transfer"} matches the filters.</p>` : renderList(filters, page, when)}`;
}

/** The path of a transfer or top-up. A ref may name several top-ups, so the path has more fields. */
export function pathOfTransfer(ref: string, choice: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams(
    Object.entries(choice).filter((one): one is [string, string] => typeof one[1] === "string"),
  );
  const path = `/transfers/${encodeURIComponent(ref)}`;
  return query.size === 0 ? path : `${path}?${String(query)}`;
}

const SAID: Readonly<Record<TransferStatus, string>> = {
  pending: "verified until the outcome is certain",
  accepted: "booked as it was sent",
  rejected: "the provider reported the failure twice",
  inconclusive: "ops must decide",
};

function renderCounts(counts: TransferList["counts"]): SafeHtml {
  const items = TRANSFER_STATUSES.map(
    (
      status,
    ) => html`<div><dt><a href="/transfers?status=${status}">${status}</a><small>${SAID[status]}</small></dt>
<dd>${showCount(counts[status])}</dd></div>`,
  );
  return html`<dl class="figures" aria-label="Transfers by status">${items}</dl>`;
}

const ORDERS: readonly (readonly [string, string])[] = [
  ["", "the newest"],
  ["oldest", "the oldest"],
  ["amount", "the largest of each currency"],
];

function renderFilters(
  { kind, status, product, username, currency, sort }: TransferFilters,
  { products, problem }: TransferList,
): SafeHtml {
  const field = (label: string, name: string, value: string) => ({ label, name, value, problem });
  return html`<form method="get" action="/transfers" class="sheet fields" aria-label="Filters">
${renderSelect(field("Kind", "kind", kind === "" ? "transfer" : kind), [
  ["transfer", "transfers"],
  ["top-up", "top-ups"],
])}
${renderSelect(field("Status", "status", status), [
  ["", "all that are not accepted"],
  ...TRANSFER_STATUSES.map(nameItself),
  [TRANSFER_STATUSES.join(","), "all"],
])}
${renderSelect(field("Product", "product", product), [["", "all"], ...products.map(nameItself)])}
${renderInput(field("Player", "username", username), html`size="14" autocomplete="off"`)}
${renderInput(field("Currency", "currency", currency), html`size="5" autocomplete="off"`)}
${renderSelect(field("First", "sort", sort === "newest" ? "" : sort), ORDERS)}
<button>Filter</button>
<a href="/transfers">Clear</a>
</form>`;
}

const COLUMNS: readonly Column[] = [
  { name: "ref", as: "text" },
  { name: "status" },
  { name: "product", as: "text" },
  { name: "player", as: "text" },
  { name: "type" },
  { name: "amount", as: "number" },
  { name: "sent" },
  { name: "asked", as: "number" },
  { name: "asked again" },
];

function renderList(
  filters: TransferFilters,
  { transfers, next }: NonNullable<TransferList["page"]>,
  { now, zone }: When,
): SafeHtml {
  const kind = filters.kind === "top-up" ? "top-up" : undefined;
  const rows = transfers.map((one) => {
    const of = kind === undefined ? {} : { kind, product: one.productId, username: one.username };
    const cells = [
      html`<a href="${pathOfTransfer(one.transactionRef, of)}">${one.transactionRef}</a>`,
      showState(one.status),
      one.productId,
      one.username,
      one.type,
      showAmount(one.amount, one.currency),
      showAge(one.sentAt, now, zone),
      showCount(one.attempts),
      showTime(one.nextVerifyAt, zone),
    ];
    return { cells };
  });
  const further = new URLSearchParams(
    Object.entries({ ...filters, after: next ?? "" }).filter(([, text]) => text !== ""),
  );
  return html`<section class="sheet" aria-label="List">${renderTable({ name: "Transfers", caption: `First ${ORDERS.find(([order]) => order === filters.sort)?.[1] ?? "the newest"}`, columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="/transfers?${String(further)}">More</a></p>`}</section>`;
}
