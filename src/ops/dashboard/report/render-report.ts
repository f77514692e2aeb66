/** Draws the day's statement: both sides, their difference, and what explains it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant } from "../../../clock.ts";
import type { Correction, DayStatement, MonthReport } from "../../../closed.ts";
import { isUnexplained, type ReportRow, type ReportSide } from "../../../report.ts";
import { type Problem, renderInput, renderProblem } from "../parts/fields.ts";
import { showAmount, showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

interface ReportForm {
  /** as typed */
  readonly day: string;
  readonly zone: string;
}

interface ShownReport {
  /** null: the form has an error */
  readonly report: DayStatement | MonthReport | null;
  readonly problem: Problem | null;
  /** the time zone of the person who reads; the report itself has a zone of its own */
  readonly reader: string;
}

export function renderReport(form: ReportForm, { report, problem, reader }: ShownReport): SafeHtml {
  const field = (label: string, name: keyof ReportForm) => ({ label, name, value: form[name], problem });
  return html`<h1>The day's statement</h1>
<form method="get" action="/report" class="sheet fields" aria-label="Day">
${renderInput(field("Day", "day"), html`type="${isDay(form.day) ? "date" : "text"}" required`)}
${renderInput(field("Time zone", "zone"), html`size="18" required autocomplete="off" placeholder="Asia/Bangkok"`)}
<button>Show</button>
</form>
${renderProblem(problem, ["day", "zone"])}
${report === null ? null : "month" in report ? renderMonth(report, reader) : html`${renderClosed(report, reader)}${renderStatement(report)}${renderCorrections(report.corrections, reader)}`}`;
}

/** A browser's date field would hide any other text. */
function isDay(text: string): boolean {
  if (text === "") return true;
  const at = Date.parse(`${text}T00:00:00Z`);
  // 31 November parses as 1 December.
  return !Number.isNaN(at) && formatInstant(at).startsWith(`${text}T`);
}

function renderClosed({ day, closed }: DayStatement, reader: string): SafeHtml {
  const month = day.slice(0, 7);
  const link = html`<a href="/report?month=${month}">The month ${month}</a>`;
  if (closed === null)
    return html`<p class="sheet">This day is open: its figures change with the data. ${link}</p>`;
  const { number, closedAt, hash } = closed;
  return html`<p class="sheet">Closed at ${showTime(closedAt, reader)} with number ${number}; these figures stay. ${link}<br><span class="faint wrap">hash ${hash}</span></p>`;
}

function renderMonth({ month, zone, days, rows, corrections, open }: MonthReport, reader: string): SafeHtml {
  const query = new URLSearchParams({ month });
  return html`<p class="sheet">${month} in ${zone}: ${days.length} closed days, ${open.length} open. The sums and the corrections together are today's data.</p>
<p class="row"><a href="/report.csv?${String(query)}" download="report-${month}.csv">Download as CSV</a></p>
<section class="sheet" aria-labelledby="statement"><h2 id="statement">${month}: net on both sides of the closed days</h2>${renderNetTable(rows)}</section>
${renderCorrections(corrections, reader)}
<section class="sheet" aria-labelledby="open"><h2 id="open">Open days</h2>
<ul>${open.map(({ day, reason }) => html`<li><a href="/report?${String(new URLSearchParams({ day, zone }))}">${day}</a>: ${reason}</li>`)}</ul></section>`;
}

const CORRECTION_COLUMNS: readonly Column[] = [
  { name: "day", as: "head" },
  { name: "product", as: "text" },
  { name: "player", as: "text" },
  { name: "bet", as: "text" },
  { name: "difference", as: "number" },
  { name: "reason", as: "text" },
  { name: "found" },
];

function renderCorrections(corrections: readonly Correction[], reader: string): SafeHtml | null {
  if (corrections.length === 0) return null;
  const rows = corrections.map(
    ({ day, productId, username, betId, transactionId, difference, currency, reason, at }) => ({
      cells: [
        day,
        productId,
        username,
        transactionId ?? betId ?? "several",
        showAmount(difference, currency),
        reason,
        showTime(at, reader),
      ],
    }),
  );
  return html`<section class="sheet" aria-labelledby="corrections"><h2 id="corrections">Corrections of closed days</h2>
${renderTable({ name: "Corrections", columns: CORRECTION_COLUMNS, rows })}</section>`;
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
${renderTable({ name: "Bets", id: "bets", columns: BET_COLUMNS, rows: rows.map(renderSums) })}</section>`;
}

const HEAD: readonly Column[] = [{ name: "product", as: "head" }, { name: "currency" }];
const NETS = [
  "provider",
  "ledger",
  "difference",
  "mismatches",
  "corrected",
  "pending",
  "rounding",
  "rest",
] as const;
const NET_COLUMNS: readonly Column[] = [...HEAD, ...NETS.map((name): Column => ({ name, as: "number" }))];
const BET_COLUMNS: readonly Column[] = [
  ...HEAD,
  ...["provider", "ledger"].flatMap((side) =>
    ["bets", "stake", "payout"].map((what): Column => ({ name: `${side}'s ${what}`, as: "number" })),
  ),
];

function renderNetTable(rows: readonly ReportRow[]): SafeHtml {
  return renderTable({ name: "Nets", id: "nets", columns: NET_COLUMNS, rows: rows.map(renderNets) });
}

function renderVerdict(rows: readonly ReportRow[]): SafeHtml {
  const unexplained = rows.filter(isUnexplained);
  const incomplete = rows.filter(({ complete }) => !complete);
  if (unexplained.length > 0) {
    const named = unexplained.map(
      ({ productId, currency, rest }) => html` ${productId} ${showAmount(rest, currency)};`,
    );
    return html`<p class="verdict" data-state="bad"><span>Money that nothing explains:${named} report this to the person who runs wallet-recon.</span></p>`;
  }
  if (incomplete.length > 0) {
    const products = [...new Set(incomplete.map(({ productId }) => productId))].join(", ");
    return html`<p class="verdict" data-state="warn"><span>Not all of the day has been fetched yet: ${products}.</span></p>`;
  }
  const isEven = rows.every(({ difference }) => difference === "0");
  return isEven
    ? html`<p class="verdict" data-state="good"><span>Both sides agree to the last digit.</span></p>`
    : html`<p class="verdict" data-state="good"><span>Every difference is explained.</span></p>`;
}

function renderNets(row: ReportRow) {
  const { provider, ledger, difference, mismatches, adjustments, pending, rounding, rest } = row;
  const amounts = [provider.net, ledger.net, difference, mismatches, adjustments, pending, rounding];
  const last = html`<strong${rest === "0" ? null : html` class="differs"`}>${showAmount(rest, null)}</strong>`;
  return { cells: [...renderHead(row), ...amounts.map((amount) => showAmount(amount, null)), last] };
}

function renderSums(row: ReportRow) {
  return { cells: [...renderHead(row), ...renderSide(row.provider), ...renderSide(row.ledger)] };
}

function renderHead({ productId, currency, complete }: ReportRow) {
  const missing = complete ? null : html` <span class="state" data-tone="warn">not complete</span>`;
  return [html`${productId}${missing}`, currency];
}

function renderSide({ bets, stake, payout }: ReportSide) {
  return [showCount(bets), showAmount(stake, null), showAmount(payout, null)];
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
  return html`<li class="wrap">${productId}, ${currency}: ${money(difference)} = ${money(mismatches)} by <a href="/mismatches?${String(query)}">mismatches</a>
+ ${money(adjustments)} corrected by hand + ${money(pending)} that waits for graces or for running bets
+ ${money(rounding)} of rounding + ${money(rest)} that nothing explains.</li>`;
}
