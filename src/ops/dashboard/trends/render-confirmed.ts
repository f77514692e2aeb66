/** Draws the share of the money that both sides confirmed in time, as a row for each month and product. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Instant } from "../../../clock.ts";
import { sayShare } from "../../../closing/confirmed-days.ts";
import { CONFIRMED_WITHIN, type ConfirmedWithin } from "../../../confirmed.ts";
import type { MonthlyShares } from "../../../flows/trends/read-confirmed.ts";
import { sayTime, showAmount } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

const COLUMNS: readonly Column[] = [
  { name: "month", as: "head" },
  { name: "product", as: "text" },
  { name: "stake", as: "number" },
  { name: "within an hour", as: "number" },
  { name: "within a day", as: "number" },
  { name: "within a week", as: "number" },
];

/** @param months the newest first */
export function renderConfirmed(months: readonly MonthlyShares[], now: Instant, zone: string): SafeHtml {
  const rows = months.map((one) => ({
    cells: [
      html`<a href="/report?month=${one.month}">${one.month}</a>`,
      one.productId,
      showAmount(one.stake, one.currency),
      sayOrWhen(one, "hour", one.withinHour),
      sayOrWhen(one, "day", one.withinDay),
      sayOrWhen(one, "week", one.withinWeek),
    ],
  }));
  const body =
    rows.length === 0
      ? html`<p>No day with a bet is closed yet.</p>`
      : renderTable({ name: "Confirmed by both sides", columns: COLUMNS, rows });
  return html`<section class="sheet" aria-labelledby="confirmed"><h2 id="confirmed">Money that both sides confirmed</h2>
<p>The share of the provider's stake of the closed days for which the record and all callbacks were there and agreed within an hour, a day and a week of the bet.</p>
${body}</section>`;

  function sayOrWhen(
    { to, isWhole }: MonthlyShares,
    within: ConfirmedWithin,
    share: string | null,
  ): SafeHtml | string {
    const knownAt = to + CONFIRMED_WITHIN[within];
    if (share !== null || !isWhole || knownAt <= now) return sayShare(share);
    return html`unknown <span class="faint">until ${sayTime(knownAt, zone).slice(0, 16)}</span>`;
  }
}
