/** Draws a list of corrections. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { BetFigures, Correction } from "../../../closed.ts";
import { sayWords, showAmount, showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

const CORRECTION_COLUMNS: readonly Column[] = [
  { name: "day", as: "head" },
  { name: "product", as: "text" },
  { name: "player", as: "text" },
  { name: "bet", as: "text" },
  { name: "provider's net" },
  { name: "ledger's net" },
  { name: "change of the difference", as: "number" },
  { name: "reason", as: "text" },
  { name: "found" },
];
/** The CSV has all of them. */
const MOST_SHOWN = 500;

interface ShownCorrections {
  /** unique on the page */
  readonly id: string;
  readonly title: string;
  readonly corrections: readonly Correction[];
}

export function renderCorrections(
  { id, title, corrections }: ShownCorrections,
  zone: string,
): SafeHtml | null {
  if (corrections.length === 0) return null;
  const rows = corrections.slice(0, MOST_SHOWN).map((one) => {
    const { day, productId, username, betId, transactionId, before, after, difference, currency } = one;
    return {
      cells: [
        html`<a href="/report?day=${day}">${day}</a>`,
        productId,
        username,
        renderBet(transactionId ?? betId),
        renderChange(before, after, "provider", currency),
        renderChange(before, after, "ledger", currency),
        showAmount(difference, currency),
        sayWords(one.reason, zone),
        showTime(one.at, zone),
      ],
    };
  });
  const more = corrections.length - rows.length;
  return html`<section class="sheet" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${renderTable({ name: title, columns: CORRECTION_COLUMNS, rows })}
${more > 0 ? html`<p>and ${showCount(more)} more: the CSV of the month has all of them.</p>` : null}</section>`;
}

function renderBet(id: string | null): SafeHtml | string {
  if (id === null) return "several";
  return html`<a href="/search?${String(new URLSearchParams({ q: id }))}">${id}</a>`;
}

function renderChange(
  before: BetFigures,
  after: BetFigures,
  side: "provider" | "ledger",
  currency: string,
): SafeHtml {
  const [was, is] = [before[side].net, after[side].net];
  if (was === is) return html`${showAmount(is, currency)} <span class="faint">as before</span>`;
  return html`${showAmount(was, null)} <span aria-label="became">→</span> ${showAmount(is, currency)}`;
}
