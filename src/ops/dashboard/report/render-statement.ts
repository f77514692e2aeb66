/** Draws the figures of a statement: both sides, their difference, and what explains it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { DayStatement, ReportTotal } from "../../../closed.ts";
import { ggrOf } from "../../../closing/sum-rows.ts";
import type { WaitingCorrections } from "../../../flows/closing/find-corrections.ts";
import { MISMATCH_STATUSES } from "../../../mismatch.ts";
import { isUnexplained, type ReportRow, type ReportSide } from "../../../report.ts";
import { showAmount, showCount } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { type ItemsForm, linkToItems } from "./render-items.ts";

/**
 * @param closingZone `closing.zone`
 * @param whyEmpty shown if the statement has no rows
 * @param waiting the changes that are about to become corrections: what they leave unexplained is not decided yet
 * @param isSound false: the stored statement was altered, so its figures prove nothing
 */
export function renderStatement(
  report: DayStatement,
  {
    closingZone,
    whyEmpty,
    isSound,
    waiting,
  }: {
    readonly closingZone: string;
    readonly whyEmpty: string;
    readonly isSound: boolean;
    readonly waiting: WaitingCorrections;
  },
): SafeHtml {
  const { day, zone, rows } = report;
  if (rows.length === 0) {
    return html`<p class="sheet">${whyEmpty}</p>`;
  }
  const query = new URLSearchParams({ day, zone });
  return html`${isSound ? renderVerdict(rows, waiting) : null}
<p class="row"><a href="/report.csv?${String(query)}" download="report-${day}.csv">Download as CSV</a></p>
<section class="sheet" aria-labelledby="statement"><h2 id="statement">${day}, ${zone}: net on both sides</h2>
${renderNetTable(rows, { day, zone })}
<p class="faint">Outside is what moved by entries that no comparison looks at: it is in no other column. Net is what the players won. A bet counts on the day of its record's accounting date on both sides, one without a record on the day of its last callback.</p>
</section>
<section class="sheet" aria-labelledby="why"><h2 id="why">What explains each difference</h2>${renderExplanations(rows, report.closed !== null || zone === closingZone ? day : null)}</section>
${renderSides(rows, { day, zone })}
${renderTotals(report.totals)}
${renderRewardsAndTips(rows, report.totals, { day, zone })}`;
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
  "outside",
] as const;
const NET_COLUMNS: readonly Column[] = [...HEAD, ...NETS.map((name): Column => ({ name, as: "number" }))];
const SIDE_COLUMNS = ["provider", "ledger"].flatMap((side) =>
  ["bets", "stake", "payout", "GGR"].map((what): Column => ({ name: `${side}'s ${what}`, as: "number" })),
);
const BET_COLUMNS: readonly Column[] = [...HEAD, ...SIDE_COLUMNS];
const TOTAL_COLUMNS: readonly Column[] = [{ name: "currency", as: "head" }, ...SIDE_COLUMNS];

/** The day or the month whose lines the figures lead to. */
type Period = Pick<ItemsForm, "day" | "zone"> | Pick<ItemsForm, "month">;

export function renderNetTable(rows: readonly ReportRow[], period: Period): SafeHtml {
  const shown = rows.map((row) => renderNets(row, period));
  return renderTable({ name: "Nets", id: "nets", columns: NET_COLUMNS, rows: shown });
}

/** Bets, stakes, payouts and GGR of each row. */
export function renderSides(rows: readonly ReportRow[], period: Period): SafeHtml {
  const shown = rows.map((row) => renderSums(row, period));
  return html`<section class="sheet" aria-labelledby="sides"><h2 id="sides">Bets, stakes, payouts and GGR</h2>
${renderTable({ name: "Bets", id: "bets", columns: BET_COLUMNS, rows: shown })}</section>`;
}

const NOT_COMPLETE = html` <span class="state" data-tone="warn">not complete</span>`;

/** What all products have together. GGR is what the operator won: stake − payout. */
export function renderTotals(totals: readonly ReportTotal[]): SafeHtml {
  const rows = totals.map(({ currency, provider, ledger, complete }) => ({
    cells: [html`${currency}${complete ? null : NOT_COMPLETE}`, ...[provider, ledger].flatMap(renderSide)],
  }));
  return html`<section class="sheet" aria-labelledby="totals"><h2 id="totals">All products</h2>
${renderTable({ name: "Totals", columns: TOTAL_COLUMNS, rows })}
<p class="faint">GGR is what the operator won: stake minus payout.</p></section>`;
}

const OF_WHICH_COLUMNS: readonly Column[] = [
  ...HEAD,
  ...["ledger's payout", "of which rewards", "ledger's tips", "provider's rewards", "provider's tips"].map(
    (name): Column => ({ name, as: "number" }),
  ),
];

/** Jackpots, bonuses and tips of each row and of all products. Nothing if no callback of the time is one. */
export function renderRewardsAndTips(
  rows: readonly ReportRow[],
  totals: readonly ReportTotal[],
  period: Period,
): SafeHtml | null {
  const hasSome = ({ ledger: { rewards, tips } }: Pick<ReportRow, "ledger">) =>
    rewards !== "0" || tips !== "0";
  if (!rows.some(hasSome)) return null;
  const shown = [
    ...rows.filter(hasSome).map((row) => ({
      cells: [
        ...renderHead(row),
        ...renderOfWhich(row).map((figure) =>
          linkToItems(figure, { ...period, productId: row.productId, currency: row.currency }),
        ),
      ],
    })),
    ...totals
      .filter(hasSome)
      .map((total) => ({ cells: ["All products", total.currency, ...renderOfWhich(total)] })),
  ];
  return html`<section class="sheet" aria-labelledby="rewards"><h2 id="rewards">Rewards and tips</h2>
${renderTable({ name: "Rewards and tips", columns: OF_WHICH_COLUMNS, rows: shown })}
<p class="faint">Rewards are jackpots and bonuses: a part of the payout. Tips are a part of the stake in products that settle by sessions; in others they are in neither stake nor GGR, and only in what the wallet moved. The provider's records do not say what is a reward or a tip.</p></section>`;
}

const UNKNOWN = {
  provider: "Unknown: the provider's records do not say it",
  ledger: "Unknown: an older version closed the day, and did not store it",
} as const;

function renderOfWhich({ provider, ledger }: Pick<ReportRow, "provider" | "ledger">) {
  const ofWhich = (amount: string | null, side: keyof typeof UNKNOWN) =>
    amount === null
      ? html`<span class="none" title="${UNKNOWN[side]}">unknown</span>`
      : showAmount(amount, null);
  return [
    showAmount(ledger.payout, null),
    ofWhich(ledger.rewards, "ledger"),
    ofWhich(ledger.tips, "ledger"),
    ofWhich(provider.rewards, "provider"),
    ofWhich(provider.tips, "provider"),
  ];
}

function renderVerdict(rows: readonly ReportRow[], waiting: WaitingCorrections): SafeHtml {
  const unexplained = rows.filter((row) => isUnexplained(row) && !waiting.has(row.productId));
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
  const outside = rows.filter((row) => ((row as Partial<ReportRow>).outside ?? "0") !== "0");
  if (outside.length > 0) {
    const named = outside.map((row) => html` ${row.productId} ${showAmount(row.outside, row.currency)};`);
    return html`<p class="verdict" data-state="bad"><span>Money moved that nothing compares:${named} the difference says nothing about it.</span></p>`;
  }
  const isEven = rows.every(({ difference }) => difference === "0");
  return isEven
    ? html`<p class="verdict" data-state="good"><span>Both sides agree to the last digit.</span></p>`
    : html`<p class="verdict" data-state="good"><span>Every difference is explained.</span></p>`;
}

function renderNets(row: ReportRow, period: Period) {
  const { productId, currency, provider, ledger, difference, rest } = row;
  // Statements of older versions do not say it.
  const { outside = "0" } = row as Partial<ReportRow>;
  const link = (amount: string, explainedBy: string, figure = showAmount(amount, null)) =>
    amount === "0" && explainedBy !== ""
      ? figure
      : linkToItems(figure, { ...period, productId, currency, explainedBy });
  const strong = (amount: string) =>
    html`<strong${amount === "0" ? null : html` class="differs"`}>${showAmount(amount, null)}</strong>`;
  return {
    cells: [
      ...renderHead(row),
      ...[provider.net, ledger.net, difference].map((amount) => link(amount, "")),
      link(row.mismatches, "mismatch"),
      link(row.adjustments, "correction"),
      link(row.pending, "pending"),
      link(row.rounding, "rounding"),
      link(rest, "nothing", strong(rest)),
      link(outside, "outside", strong(outside)),
    ],
  };
}

function renderSums(row: ReportRow, period: Period) {
  const { productId, currency, provider, ledger } = row;
  const figures = [...renderSide(provider), ...renderSide(ledger)];
  return {
    cells: [
      ...renderHead(row),
      ...figures.map((figure) => linkToItems(figure, { ...period, productId, currency })),
    ],
  };
}

function renderHead({ productId, currency, complete }: ReportRow) {
  const missing = complete ? null : NOT_COMPLETE;
  return [html`${productId}${missing}`, currency];
}

function renderSide(side: ReportSide) {
  const amounts = [side.stake, side.payout, ggrOf(side)];
  return [html`${showCount(side.bets)}`, ...amounts.map((amount) => showAmount(amount, null))];
}

/** @param day whose mismatches can be listed; null: a day of another zone than `closing.zone` */
function renderExplanations(rows: readonly ReportRow[], day: string | null): SafeHtml {
  const differing = rows.filter(
    ({ difference, mismatches, adjustments, pending, rounding }) =>
      ![difference, mismatches, adjustments, pending, rounding].every((amount) => amount === "0"),
  );
  if (differing.length === 0) return html`<p>There is no difference.</p>`;
  return html`<ul>${differing.map((row) => renderExplanation(row, day))}</ul>`;
}

/** One sentence whose sums a finance person can check. */
function renderExplanation(row: ReportRow, day: string | null): SafeHtml {
  const { productId, currency, difference, mismatches, adjustments, pending, rounding, rest } = row;
  const money = (amount: string) => showAmount(amount, currency);
  const query = new URLSearchParams({
    product: productId,
    status: MISMATCH_STATUSES.join(","),
    currency,
    ...(day === null ? {} : { day }),
  });
  return html`<li class="wrap">${productId}, ${currency}: ${money(difference)} = ${money(mismatches)} by <a href="/mismatches?${String(query)}">mismatches</a>
+ ${money(adjustments)} corrected by hand + ${money(pending)} that waits for graces or for running bets
+ ${money(rounding)} of rounding + ${money(rest)} that nothing explains.</li>`;
}
