/** Draws the list of rejected records and entries. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Instant } from "../../../clock.ts";
import type { RejectedList } from "../../../flows/rejected/read-rejected.ts";
import {
  nameItself,
  type Problem,
  renderInput,
  renderProblem,
  renderSelect,
  renderTimeField,
} from "../parts/fields.ts";
import { showAge, showCount, showState } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

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
  /** null: there is none */
  readonly problem: Problem | null;
}

/** The present time, and the zone of the person who reads. */
interface When {
  readonly now: Instant;
  readonly zone: string;
}

export function renderRejectedList(
  filters: RejectedFilters,
  { products, list, problem }: ShownList,
  when: When,
): SafeHtml {
  return html`<p class="trail"><a href="/health">Health</a> <span aria-hidden="true">›</span> Rejected</p>
<h1>Rejected</h1>
<p>Records and entries that cannot be used. They are kept with their text, and what they speak of is never called missing.</p>
${list === null ? null : renderCounts(filters, list.counts)}
${renderFilters(filters, products, problem)}
${renderProblem(problem, ["side", "kind", "product", "reason", "since"])}
${list === null ? null : list.rejected.length === 0 ? html`<p class="sheet">None is like that.</p>` : renderList(filters, list, when)}`;
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
  problem: Problem | null,
): SafeHtml {
  const field = (label: string, name: string, value: string) => ({ label, name, value, problem });
  return html`<form method="get" action="/rejected" class="sheet fields" aria-label="Filters">
${renderSelect(field("Side", "side", side), [
  ["", "both"],
  ["record", "records"],
  ["entry", "entries"],
])}
${renderSelect(field("Kind", "kind", kind), [
  ["", "all"],
  ["unusable", "unusable"],
  ["changed", "refused changes"],
])}
${renderSelect(field("Product", "product", product), [["", "all"], ...products.map(nameItself)])}
${renderInput(field("Reason", "reason", reason), html`size="18" autocomplete="off"`)}
${renderTimeField(field("Since", "since", since))}
<button>Filter</button>
<a href="/rejected">Clear</a>
</form>`;
}

const COLUMNS: readonly Column[] = [
  { name: "id" },
  { name: "kind" },
  { name: "product", as: "text" },
  { name: "first seen" },
  { name: "reason", as: "text" },
  { name: "text begins", as: "text" },
];

function renderList(
  filters: RejectedFilters,
  { rejected, next }: RejectedList,
  { now, zone }: When,
): SafeHtml {
  const rows = rejected.map((one) => ({
    cells: [
      html`<a href="/rejected/${one.id}">${one.id}</a>`,
      showState(one.kind),
      one.productId ?? html`<span class="none">–</span>`,
      showAge(one.firstSeenAt, now, zone),
      one.reason,
      html`<code>${one.excerpt}</code>`,
    ],
  }));
  const further = pathOf({ ...filters, after: next ?? "" });
  const caption = "Records before entries, each the newest first";
  return html`<section class="sheet" aria-label="List">${renderTable({ name: "Rejected", caption, columns: COLUMNS, rows })}
${next === null ? null : html`<p><a class="button quiet" href="${further}">Older ones</a></p>`}</section>`;
}
