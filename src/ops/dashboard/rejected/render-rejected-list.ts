/** Draws the list of rejected records and entries. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Instant } from "../../../clock.ts";
import type { RejectedList } from "../../../flows/rejected/read-rejected.ts";
import { nameItself, renderSelect } from "../parts/fields.ts";
import { showAge, showCount, showState } from "../parts/show.ts";

/** As typed; empty fields do not filter. */
export interface RejectedFilters {
  readonly side: string;
  readonly kind: string;
  readonly product: string;
  readonly reason: string;
  readonly since: string;
}

interface ShownList {
  /** those of the config */
  readonly products: readonly string[];
  /** null: the filters have an error */
  readonly list: RejectedList | null;
  /** one line that names the filter and its value; null: there is none */
  readonly problem: string | null;
}

export function renderRejectedList(
  filters: RejectedFilters,
  { products, list, problem }: ShownList,
  now: Instant,
): SafeHtml {
  return html`<h1>Rejected</h1>
<p>Records and entries that cannot be used. They are kept with their text, and what they speak of is never called missing.</p>
${list === null ? null : renderCounts(filters, list.counts)}
${renderFilters(filters, products)}
${problem === null ? null : html`<p class="problem" role="alert">${problem}</p>`}
${list === null ? null : list.rejected.length === 0 ? html`<p class="sheet">None is like that.</p>` : renderTable(filters, list, now)}`;
}

function renderCounts(filters: RejectedFilters, { records, entries }: RejectedList["counts"]): SafeHtml {
  const count = (side: string, name: string, whose: string, many: number) =>
    html`<div><dt><a href="${pathOf({ ...filters, side })}">${name}</a><small>${whose}</small></dt>
<dd>${showCount(many)}</dd></div>`;
  return html`<dl class="figures" aria-label="Rejected by side">
${count("record", "records", "of the provider", records)}
${count("entry", "entries", "of the ledger", entries)}
</dl>`;
}

function pathOf(query: Readonly<Record<string, string>>): string {
  const given = new URLSearchParams(Object.entries(query).filter(([, text]) => text !== ""));
  return given.size === 0 ? "/rejected" : `/rejected?${String(given)}`;
}

function renderFilters(
  { side, kind, product, reason, since }: RejectedFilters,
  products: readonly string[],
): SafeHtml {
  return html`<form method="get" action="/rejected" class="sheet fields" aria-label="Filters">
${renderSelect("Side", "side", side, [
  ["", "both"],
  ["record", "records"],
  ["entry", "entries"],
])}
${renderSelect("Kind", "kind", kind, [
  ["", "all"],
  ["unusable", "unusable"],
  ["changed", "refused changes"],
])}
${renderSelect("Product", "product", product, [["", "all"], ...products.map(nameItself)])}
<label>Reason <input name="reason" value="${reason}" size="18" autocomplete="off"></label>
<label>Since <input name="since" value="${since}" size="22" autocomplete="off" placeholder="2026-11-20T10:00:00Z"></label>
<button>Filter</button>
<a href="/rejected">Clear</a>
</form>`;
}

function renderTable(filters: RejectedFilters, { rejected, next }: RejectedList, now: Instant): SafeHtml {
  const rows = rejected.map(
    (one) => html`<tr>
<td><a href="/rejected/${one.id}">${one.id}</a></td><td>${showState(one.kind)}</td>
<td class="wrap">${one.productId ?? html`<span class="none">–</span>`}</td>
<td>${showAge(one.firstSeenAt, now)}</td><td class="wrap">${one.reason}</td><td class="wrap"><code>${one.excerpt}</code></td>
</tr>`,
  );
  const further = pathOf({ ...filters, after: next ?? "" });
  return html`<section class="sheet" aria-label="List"><div class="scroll" tabindex="0" role="group" aria-label="Rejected, table"><table>
<caption>Records before entries, each the newest first</caption>
<thead><tr><th scope="col">id</th><th scope="col">kind</th><th scope="col">product</th><th scope="col">first seen</th>
<th scope="col">reason</th><th scope="col">text begins</th></tr></thead>
<tbody>${rows}</tbody></table></div>
${next === null ? null : html`<p><a class="button quiet" href="${further}">Older ones</a></p>`}</section>`;
}
