/** Draws the transfers and top-ups of a day: how many of each type and status, and their open mismatches. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { DayStatement } from "../../../closed.ts";
import { TRANSFERS_UNKNOWN, type TransferSum } from "../../../transfer.ts";
import { showAmount, showCount, showState } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

const COLUMNS: readonly Column[] = [
  { name: "product", as: "head" },
  { name: "type" },
  { name: "status" },
  { name: "count", as: "number" },
  { name: "amount", as: "number" },
  { name: "open mismatches", as: "text" },
];

/** @returns null: none was sent */
export function renderTransferSums(transfers: DayStatement["transfers"]): SafeHtml | null {
  if (transfers?.length === 0) return null;
  return html`<section class="sheet" aria-labelledby="transfers"><h2 id="transfers">Transfers and top-ups sent on this day</h2>
${transfers === null ? html`<p>They are ${TRANSFERS_UNKNOWN}</p>` : renderSums(transfers)}</section>`;
}

function renderSums(transfers: readonly TransferSum[]): SafeHtml {
  const rows = transfers.map((one) => ({
    cells: [
      one.productId,
      one.type,
      showState(one.status),
      showCount(one.count),
      showAmount(one.amount, one.currency),
      renderMismatches(one),
    ],
  }));
  return html`${renderTable({ name: "Transfers", columns: COLUMNS, rows })}
<p class="faint">As they are now. They are in no figure of the statement. A link leads to all open mismatches of the kind, also those of other days.</p>`;
}

function renderMismatches({ productId, currency, openMismatches, mismatchKinds }: TransferSum) {
  const links = mismatchKinds.map((kind) => {
    const query = new URLSearchParams({ product: productId, currency, kind });
    return html` <a href="/mismatches?${String(query)}">${kind}</a>`;
  });
  return html`${showCount(openMismatches)}${links}`;
}
