/** The provider's values and the ledger's, next to each other, and when the provider was asked. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Judged } from "../../../effect.ts";
import { compareSides, type FieldComparison } from "../../../flows/read/compare-sides.ts";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import { sayAmount, showCount, showTime } from "../parts/show.ts";
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

const FETCHES: readonly Column[] = [
  { name: "Fetch" },
  { name: "Window" },
  { name: "Asked" },
  { name: "Records", as: "number" },
  { name: "Confirms" },
];

export function renderFetches({ fetches }: MismatchStory, zone: string): SafeHtml {
  const rows = fetches.map(({ kind, from, to, startedAt, records, isLateEnough }) => ({
    cells: [
      kind,
      html`${showTime(from, zone)} – ${showTime(to, zone)}`,
      showTime(startedAt, zone),
      showCount(records),
      isLateEnough ? "yes" : html`<span class="faint">no, too early</span>`,
    ],
  }));
  const caption =
    "Fetches of this time, the latest first. A fetch confirms that a record is missing if the fetch began later than the provider's grace after the last callback.";
  return html`<section class="sheet" aria-labelledby="fetches-head"><h2 id="fetches-head">Fetches of this time</h2>
${rows.length === 0 ? html`<p class="faint">No window of this time is kept: none has fetched it, or they were deleted (retain.windows).</p>` : renderTable({ name: "Fetches", caption, columns: FETCHES, rows })}
</section>`;
}
