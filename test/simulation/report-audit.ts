/** Compares the day's statements with the open mismatches: every difference must belong to one of them, without a rest. */

import type { Sql } from "../../src/db/client.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { inspectEntryDays } from "../../src/flows/ledger/compare-entry-days.ts";
import { listMismatches } from "../../src/flows/read/list-mismatches.ts";
import { readReport } from "../../src/flows/reports/read-report.ts";
import { sayGone } from "../../src/health/other-work.ts";
import {
  type LedgerSide,
  MISMATCH_STATUSES,
  type MismatchKind,
  type OtherCurrency,
  type ProviderSide,
} from "../../src/mismatch.ts";
import { type Amount, formatAmount, parseAmount, sumAmounts, ZERO } from "../../src/money.ts";
import type { ReportRow } from "../../src/report.ts";
import type { TimeRange } from "../../src/window.ts";

const DAY_MS = 86_400_000;

interface OpenMismatch {
  readonly kind: MismatchKind;
  readonly productId: string;
  readonly amountAtRisk: string;
  readonly provider: ProviderSide | null;
  readonly ledger: (LedgerSide & { readonly otherCurrencies?: readonly OtherCurrency[] }) | null;
}

/** Kinds that are about one side alone, without a difference of money between the sides. */
const STANDS_ALONE: ReadonlySet<MismatchKind> = new Set(["balance-differs", "provider-inconsistent"]);

/** @returns one line for each day whose accepted entries are not there, for each row with unexplained money, and for each sum that differs from the open mismatches */
export async function auditReports(context: FlowContext): Promise<string[]> {
  const { sql } = context;
  const problems = (await inspectEntryDays(context)).gone.map(
    (day) => `entries have vanished: ${sayGone(day)}`,
  );
  const explained = new Map<string, Amount>();
  const pending = new Map<string, Amount>();
  const waiting = await readWaitingProducts(sql);
  for (const from of await readDays(sql)) {
    const day = new Date(from).toISOString().slice(0, 10);
    const { rows } = await readReport(context, { day, zone: "UTC", from, to: from + DAY_MS });
    for (const row of rows) {
      const about = `the report of ${day} for ${row.productId} in ${row.currency}`;
      if (row.rest !== "0") problems.push(`${about} has a rest of ${row.rest}`);
      if (!waiting.has(row.productId))
        add(pending, row.productId, row.currency, parseAmount(row.pending, "pending"));
      add(explained, row.productId, row.currency, parseAmount(row.mismatches, "mismatches"));
      const listed = await readEffects(context, row, { from, to: from + DAY_MS });
      if (listed !== null && listed !== row.mismatches)
        problems.push(`${about} has ${row.mismatches} by mismatches, and its mismatches have ${listed}`);
    }
  }
  for (const { productId, currency, paid } of await readRunningParts(sql)) {
    if (!waiting.has(productId)) add(pending, productId, currency, parseAmount(paid, "paid"));
  }
  for (const [key, amount] of pending) {
    if (!amount.eq(ZERO)) problems.push(`${key} has ${formatAmount(amount)} pending`);
  }
  const open = new Map<string, Amount>();
  for (const mismatch of await readOpen(sql)) {
    for (const [currency, amount] of differenceOf(mismatch)) add(open, mismatch.productId, currency, amount);
  }
  for (const key of new Set([...explained.keys(), ...open.keys()])) {
    const [reported, expected] = [explained.get(key) ?? ZERO, open.get(key) ?? ZERO];
    if (reported.eq(expected)) continue;
    problems.push(
      `mismatches explain ${formatAmount(reported)} of the reports of ${key}, but differ by ${formatAmount(expected)}`,
    );
  }
  return problems;
}

/**
 * What the mismatches of a row add up to, with the sign of the statement.
 * @returns null if bets with two names or currencies may count in another row, too
 */
async function readEffects(
  context: FlowContext,
  { productId, currency }: ReportRow,
  countsIn: TimeRange,
): Promise<string | null> {
  const [two] = await context.sql`
    select from mismatches where product_id = ${productId} and kind in ('username-differs', 'currency-differs') limit 1`;
  if (two !== undefined) return null;
  const choice = { statuses: MISMATCH_STATUSES, kind: null, productId, username: null, currency, countsIn };
  const { mismatches } = await listMismatches(context, { ...choice, order: null, limit: 1_000, after: null });
  const effects = mismatches.map(({ effect }) => parseAmount(effect ?? "0", "effect"));
  return mismatches.length === 1_000 ? null : formatAmount(sumAmounts(effects).neg());
}

function add(sums: Map<string, Amount>, productId: string, currency: string, amount: Amount): void {
  const key = `${productId} in ${currency}`;
  sums.set(key, (sums.get(key) ?? ZERO).plus(amount));
}

/** The provider's net minus the ledger's, by the values that the mismatch shows, for each currency. */
function differenceOf({ kind, amountAtRisk, provider, ledger }: OpenMismatch): [string, Amount][] {
  if (STANDS_ALONE.has(kind)) return [];
  const expected = provider === null ? ZERO : expectedBy(provider);
  const moved = ledger === null ? ZERO : parseAmount(ledger.moved, "moved");
  const currency = ledger?.currency ?? provider?.currency ?? "";
  if (kind === "currency-differs") {
    const others = ledger?.otherCurrencies ?? [];
    const isNamed = others.some((other) => other.currency === provider?.currency);
    return [
      [provider?.currency ?? "", isNamed ? ZERO : expected],
      [currency, moved.neg()],
      ...others.map(({ currency, effect }): [string, Amount] => [
        currency,
        parseAmount(effect, "effect").neg(),
      ]),
    ];
  }
  const difference = expected.minus(moved);
  // The record does not say what a void bet or a tip requires.
  if (kind === "net-differs") {
    const atRisk = parseAmount(amountAtRisk, "amountAtRisk");
    return [[currency, difference.lt(ZERO) ? atRisk.neg() : atRisk]];
  }
  return [[currency, difference]];
}

function expectedBy({ status, stake, payout }: ProviderSide): Amount {
  if (status === "VOID") return ZERO;
  const staked = parseAmount(stake, "stake");
  return status === "OPEN" || status === "UNSETTLED"
    ? staked.neg()
    : parseAmount(payout, "payout").minus(staked);
}

/** The UTC days on which something happened on either side. */
export async function readDays(sql: Sql): Promise<number[]> {
  const rows = await sql<{ day: number }[]>`
    select date_trunc('day', accounting_date) as day from bet_records
    union select date_trunc('day', occurred_at) from callback_entries
    order by day`;
  return rows.map(({ day }) => day);
}

/** Products with marks that wait. */
async function readWaitingProducts(sql: Sql): Promise<Set<string>> {
  const rows = await sql<{ productId: string }[]>`select distinct product_id as "productId" from diff_marks`;
  return new Set(rows.map(({ productId }) => productId));
}

/** What bets that still run were paid in parts: the provider's record does not have it until the bet ends. */
async function readRunningParts(sql: Sql): Promise<{ productId: string; currency: string; paid: string }[]> {
  return await sql`
    select product_id as "productId", currency, sum(paid) as paid from (
      select product_id, currency, sum(payout_amount) as paid from callback_entries
      where callback = 'settleBets' group by product_id, currency, username, txn_id
      having bool_and(end_round is false)
    ) running group by product_id, currency`;
}

async function readOpen(sql: Sql): Promise<OpenMismatch[]> {
  return await sql<OpenMismatch[]>`
    select kind, product_id as "productId", amount_at_risk as "amountAtRisk", provider, ledger
    from mismatches where status = 'open' order by id`;
}
