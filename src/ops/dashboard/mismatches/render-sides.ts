/** The provider's values and the ledger's, next to each other. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Judged } from "../../../effect.ts";
import { compareSides, type FieldComparison } from "../../../flows/read/compare-sides.ts";
import { sayAmount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

const COLUMNS: readonly Column[] = [
  { name: "Field", as: "head" },
  { name: "Provider", as: "text" },
  { name: "Ledger", as: "text" },
  { name: "Compared", of: "compared" },
];

export function renderSideTable(sides: Judged, zone: string): SafeHtml {
  const rows = compareSides(sides).map((field) => renderField(field, zone));
  return renderTable({
    name: "The provider's values and the ledger's, field by field",
    of: "sides",
    columns: COLUMNS,
    rows,
  });
}

function renderField({ name, provider, ledger, differs, as }: FieldComparison, zone: string) {
  const value = (text: string | null) => {
    if (as === "time" || text === null) return showTime(text, zone);
    return html`<span>${as === "amount" ? sayAmount(text, null) : text}</span>`;
  };
  const asked =
    name === "Moved in the wallet" && provider !== null ? html` <span class="faint">asked for</span>` : null;
  const word =
    differs === true
      ? html`<strong>differs</strong>`
      : differs === false
        ? html`<span class="faint">same</span>`
        : null;
  return {
    of: differs === true ? "differs" : null,
    cells: [name, html`${value(provider)}${asked}`, value(ledger), word],
  };
}
