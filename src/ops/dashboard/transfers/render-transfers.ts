/** Draws the list of transfers or top-ups, with the number in each status. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Instant } from "../../../clock.ts";
import type { TransferDocument } from "../../../flows/read/read-transfer.ts";
import { TRANSFER_STATUSES, type TransferStatus } from "../../../transfer.ts";
import { nameItself, renderSelect } from "../parts/fields.ts";
import { showAge, showAmount, showCount, showState, showTime } from "../parts/show.ts";

/** As typed; empty fields do not filter. */
export interface TransferFilters {
  readonly kind: string;
  readonly status: string;
  readonly product: string;
  readonly username: string;
}

export interface TransferList {
  /** the products of the config */
  readonly products: readonly string[];
  /** of transfers, without top-ups */
  readonly counts: Readonly<Record<TransferStatus, number>>;
  /** null: the filters have an error */
  readonly page: { readonly transfers: readonly TransferDocument[]; readonly next: string | null } | null;
  /** one line that names the filter and its value; null: there is none */
  readonly problem: string | null;
}

export function renderTransfers(filters: TransferFilters, list: TransferList, now: Instant): SafeHtml {
  const { page, problem } = list;
  return html`<h1>${filters.kind === "top-up" ? "Top-ups" : "Transfers"}</h1>
${renderCounts(list.counts)}
${renderFilters(filters, list.products)}
${problem === null ? null : html`<p class="problem" role="alert">${problem}</p>`}
${page === null ? null : page.transfers.length === 0 ? html`<p class="sheet">No ${filters.kind === "top-up" ? "top-up" : "transfer"} matches the filters.</p>` : renderTable(filters, page, now)}`;
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
  inconclusive: "a person must decide",
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

function renderFilters(
  { kind, status, product, username }: TransferFilters,
  products: readonly string[],
): SafeHtml {
  return html`<form method="get" action="/transfers" class="sheet fields" aria-label="Filters">
${renderSelect("Kind", "kind", kind === "" ? "transfer" : kind, [
  ["transfer", "transfers"],
  ["top-up", "top-ups"],
])}
${renderSelect("Status", "status", status, [
  ["", "all that are not accepted"],
  ...TRANSFER_STATUSES.map(nameItself),
  [TRANSFER_STATUSES.join(","), "all"],
])}
${renderSelect("Product", "product", product, [["", "all"], ...products.map(nameItself)])}
<label>Player <input name="username" value="${username}" size="14" autocomplete="off"></label>
<button>Filter</button>
<a href="/transfers">Clear</a>
</form>`;
}

function renderTable(
  filters: TransferFilters,
  { transfers, next }: NonNullable<TransferList["page"]>,
  now: Instant,
): SafeHtml {
  const kind = filters.kind === "top-up" ? "top-up" : undefined;
  const rows = transfers.map((one) => {
    const of = kind === undefined ? {} : { kind, product: one.productId, username: one.username };
    return html`<tr>
<td class="wrap"><a href="${pathOfTransfer(one.transactionRef, of)}">${one.transactionRef}</a></td><td>${showState(one.status)}</td>
<td class="wrap">${one.productId}</td><td class="wrap">${one.username}</td><td>${one.type}</td><td class="number">${showAmount(one.amount, one.currency)}</td>
<td>${showAge(one.sentAt, now)}</td><td class="number">${showCount(one.attempts)}</td><td>${showTime(one.nextVerifyAt)}</td>
</tr>`;
  });
  const further = new URLSearchParams(
    Object.entries({ ...filters, after: next ?? "" }).filter(([, text]) => text !== ""),
  );
  return html`<section class="sheet" aria-label="List"><div class="scroll" tabindex="0" role="group" aria-label="Transfers, table"><table>
<caption>The newest first</caption>
<thead><tr><th scope="col">ref</th><th scope="col">status</th><th scope="col">product</th><th scope="col">player</th><th scope="col">type</th>
<th scope="col" class="number">amount</th><th scope="col">sent</th><th scope="col" class="number">asked</th><th scope="col">asked again</th></tr></thead>
<tbody>${rows}</tbody></table></div>
${next === null ? null : html`<p><a class="button quiet" href="/transfers?${String(further)}">Older ones</a></p>`}</section>`;
}
