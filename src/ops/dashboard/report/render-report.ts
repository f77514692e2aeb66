/** Draws the day's statement: both sides, their difference, and what explains it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Correction, DayStatement, MonthReport } from "../../../closed.ts";
import { isUnexplained, type ReportRow, type ReportSide } from "../../../report.ts";
import { showAmount, showCount } from "../parts/show.ts";

interface ReportForm {
  /** as typed */
  readonly day: string;
  readonly zone: string;
}

/** @param report null: the form has an error, and `problem` says which */
export function renderReport(
  form: ReportForm,
  report: DayStatement | MonthReport | null,
  problem: string | null,
): SafeHtml {
  return html`<h1>The day's statement</h1>
<form method="get" action="/report" class="sheet fields" aria-label="Day">
<label>Day <input type="date" name="day" value="${form.day}" required></label>
<label>Time zone <input name="zone" value="${form.zone}" size="18" required autocomplete="off" placeholder="Asia/Bangkok"></label>
<button>Show</button>
</form>
${problem === null ? null : html`<p class="problem" role="alert">${problem}</p>`}
${report === null ? null : "month" in report ? renderMonth(report) : html`${renderClosed(report)}${renderStatement(report)}${renderCorrections(report.corrections)}`}`;
}

function renderClosed({ day, closed }: DayStatement): SafeHtml {
  const month = day.slice(0, 7);
  const link = html`<a href="/report?month=${month}">The month ${month}</a>`;
  if (closed === null)
    return html`<p class="sheet">This day is open: its figures change with the data. ${link}</p>`;
  const { number, closedAt, hash } = closed;
  return html`<p class="sheet">Closed at ${closedAt} with number ${number}; these figures stay. ${link}<br><span class="faint">hash ${hash}</span></p>`;
}

function renderMonth({ month, zone, days, rows, corrections, open }: MonthReport): SafeHtml {
  const query = new URLSearchParams({ month });
  return html`<p class="sheet">${month} in ${zone}: ${days.length} closed days, ${open.length} open. The sums and the corrections together are today's data.</p>
<p class="row"><a href="/report.csv?${String(query)}" download="report-${month}.csv">Download as CSV</a></p>
<section class="sheet" aria-labelledby="statement"><h2 id="statement">${month}: net on both sides of the closed days</h2>${renderNetTable(rows)}</section>
${renderCorrections(corrections)}
<section class="sheet" aria-labelledby="open"><h2 id="open">Open days</h2>
<ul>${open.map(({ day, reason }) => html`<li><a href="/report?${String(new URLSearchParams({ day, zone }))}">${day}</a>: ${reason}</li>`)}</ul></section>`;
}

function renderCorrections(corrections: readonly Correction[]): SafeHtml | null {
  if (corrections.length === 0) return null;
  return html`<section class="sheet" aria-labelledby="corrections"><h2 id="corrections">Corrections of closed days</h2>
<div class="scroll" tabindex="0" role="group" aria-label="Corrections, table"><table>
<thead><tr><th scope="col">day</th><th scope="col">product</th><th scope="col">player</th><th scope="col">bet</th><th scope="col" class="number">difference</th><th scope="col">reason</th><th scope="col">found</th></tr></thead>
<tbody>${corrections.map(
    ({ day, productId, username, betId, transactionId, difference, currency, reason, at }) =>
      html`<tr><th scope="row">${day}</th><td class="wrap">${productId}</td><td class="wrap">${username}</td><td class="wrap">${transactionId ?? betId ?? "several"}</td>
<td class="number">${showAmount(difference, currency)}</td><td class="wrap">${reason}</td><td>${at}</td></tr>`,
  )}</tbody></table></div></section>`;
}

function renderStatement(report: DayStatement): SafeHtml {
  const { day, zone, rows } = report;
  if (rows.length === 0) {
    return html`<p class="sheet">Neither side has a bet on ${day} (${zone}), or no callback has been received yet.</p>`;
  }
  const query = new URLSearchParams({ day, zone });
  return html`${renderVerdict(rows)}
<p class="row"><a href="/report.csv?${String(query)}" download="report-${day}.csv">Download as CSV</a></p>
<section class="sheet" aria-labelledby="statement"><h2 id="statement">${day}, ${zone}: net on both sides</h2>
${renderNetTable(rows)}
<p class="faint">Net is what the players won. A bet counts on the day of its record's accounting date on both sides, one without a record on the day of its last callback.</p>
</section>
<section class="sheet" aria-labelledby="why"><h2 id="why">What explains each difference</h2>${renderExplanations(rows)}</section>
<section class="sheet" aria-labelledby="sides"><h2 id="sides">Bets, stakes and payouts</h2>
<div class="scroll" tabindex="0" role="group" aria-label="Bets, table"><table id="bets" class="statement">
<thead>
<tr><th scope="col" rowspan="2">product</th><th scope="col" rowspan="2">currency</th><th scope="colgroup" colspan="3">provider</th><th scope="colgroup" colspan="3">ledger</th></tr>
<tr>${SIDE_HEADS}${SIDE_HEADS}</tr>
</thead>
<tbody>${rows.map(renderSums)}</tbody></table></div></section>`;
}

function renderNetTable(rows: readonly ReportRow[]): SafeHtml {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Nets, table"><table id="nets">
<thead><tr><th scope="col">product</th><th scope="col">currency</th><th scope="col" class="number">provider</th><th scope="col" class="number">ledger</th>
<th scope="col" class="number">difference</th><th scope="col" class="number">mismatches</th><th scope="col" class="number">corrected</th>
<th scope="col" class="number">pending</th><th scope="col" class="number">rounding</th><th scope="col" class="number">rest</th></tr></thead>
<tbody>${rows.map(renderNets)}</tbody></table></div>`;
}

const SIDE_HEADS = html`<th scope="col" class="number">bets</th><th scope="col" class="number">stake</th><th scope="col" class="number">payout</th>`;

function renderVerdict(rows: readonly ReportRow[]): SafeHtml {
  const unexplained = rows.filter(isUnexplained);
  const incomplete = rows.filter(({ complete }) => !complete);
  if (unexplained.length > 0) {
    const named = unexplained.map(
      ({ productId, currency, rest }) => html` ${productId} ${showAmount(rest, currency)};`,
    );
    return html`<p class="verdict" data-state="bad">Money that nothing explains:${named} report this to the person who runs wallet-recon.</p>`;
  }
  if (incomplete.length > 0) {
    const products = [...new Set(incomplete.map(({ productId }) => productId))].join(", ");
    return html`<p class="verdict" data-state="warn">Not all of the day has been fetched yet: ${products}.</p>`;
  }
  const isEven = rows.every(({ difference }) => difference === "0");
  return isEven
    ? html`<p class="verdict" data-state="good">Both sides agree to the last digit.</p>`
    : html`<p class="verdict" data-state="good">Every difference is explained.</p>`;
}

function renderNets(row: ReportRow): SafeHtml {
  const { provider, ledger, difference, mismatches, adjustments, pending, rounding, rest } = row;
  const amounts = [provider.net, ledger.net, difference, mismatches, adjustments, pending, rounding];
  return html`<tr>${renderHead(row)}
${amounts.map((amount) => html`<td class="number">${showAmount(amount, null)}</td>`)}
<td class="number${rest === "0" ? "" : " differs"}"><strong>${showAmount(rest, null)}</strong></td>
</tr>`;
}

function renderSums(row: ReportRow): SafeHtml {
  return html`<tr>${renderHead(row)}${renderSide(row.provider)}${renderSide(row.ledger)}</tr>`;
}

function renderHead({ productId, currency, complete }: ReportRow): SafeHtml {
  const missing = complete ? null : html` <span class="state" data-tone="warn">not complete</span>`;
  return html`<th scope="row" class="wrap">${productId}${missing}</th><td>${currency}</td>`;
}

function renderSide({ bets, stake, payout }: ReportSide): SafeHtml {
  return html`<td class="number">${showCount(bets)}</td>${[stake, payout].map((amount) => html`<td class="number">${showAmount(amount, null)}</td>`)}`;
}

function renderExplanations(rows: readonly ReportRow[]): SafeHtml {
  const differing = rows.filter(
    ({ difference, mismatches, adjustments, pending, rounding }) =>
      ![difference, mismatches, adjustments, pending, rounding].every((amount) => amount === "0"),
  );
  if (differing.length === 0) return html`<p>There is no difference.</p>`;
  return html`<ul>${differing.map(renderExplanation)}</ul>`;
}

/** One sentence whose sums a finance person can check. */
function renderExplanation(row: ReportRow): SafeHtml {
  const { productId, currency, difference, mismatches, adjustments, pending, rounding, rest } = row;
  const money = (amount: string) => showAmount(amount, currency);
  const query = new URLSearchParams({ product: productId, status: "open,acknowledged,resolved,ignored" });
  return html`<li>${productId}, ${currency}: ${money(difference)} = ${money(mismatches)} by <a href="/mismatches?${String(query)}">mismatches</a>
+ ${money(adjustments)} corrected by hand + ${money(pending)} that waits for graces or for running bets
+ ${money(rounding)} of rounding + ${money(rest)} that nothing explains.</li>`;
}
