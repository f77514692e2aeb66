/**
 * Checks that all money of the ledger is in the day's statements, and that entries which nothing compares are named: none before
 * some are planted, and exactly the planted ones afterwards.
 */

import type { Sql } from "../../src/db/client.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { measureOutside } from "../../src/flows/read/read-outside.ts";
import { readReport } from "../../src/flows/reports/read-report.ts";
import { addUpMoney } from "../../src/flows/reports/sum-money.ts";
import { missingOf } from "../../src/health/money.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../../src/money.ts";

const DAY_MS = 86_400_000;

interface PlantedEntry {
  readonly productId: string;
  readonly callback: string;
  readonly moved: string;
}

type Sums = Map<string, Amount>;

/** @param played the beginnings of the UTC days with play @returns one line for each sum that is not as it should be */
export async function auditOutside(context: FlowContext, played: readonly number[]): Promise<string[]> {
  const at = context.clock.now();
  const days = [...new Set([...played, Math.floor(at / DAY_MS) * DAY_MS])];
  const before = await auditSums(context, days, new Map(), "before");
  const planted = plantedFor(context);
  for (const [index, one] of planted.entries()) await plant(context.sql, one, index, at);
  const signal = new AbortController().signal;
  for (const { productId } of context.config.products) await compareProduct(context, productId, signal);
  const expected: Sums = new Map();
  for (const { productId, moved } of planted) add(expected, productId, parseAmount(moved, "moved"));
  return [...before, ...(await auditSums(context, days, expected, "with planted entries"))];
}

/** Of each product the entries that its settlement does not compare, and play in a product that is not in the settings. */
function plantedFor({ config }: FlowContext): PlantedEntry[] {
  const inSettings = config.products.flatMap(({ productId, settlement }): PlantedEntry[] => {
    if (settlement === "mixed") return [];
    const callback = settlement === "bets" ? "adjustBalance" : "placeBets";
    return [{ productId, callback, moved: settlement === "bets" ? "5000.01" : "-30.5" }];
  });
  return [
    ...inSettings,
    { productId: "NOT IN THE SETTINGS", callback: "placeBets", moved: "-10" },
    { productId: "NOT IN THE SETTINGS", callback: "settleBets", moved: "25" },
  ];
}

async function plant(sql: Sql, { productId, callback, moved }: PlantedEntry, index: number, at: number) {
  const id = `planted ${productId} ${callback}`;
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
      skip_balance_update, moved, occurred_at, received_at)
    values (${id}, ${callback}, ${id}, ${productId}, 'planted', 'THB', ${`planted ${productId}`}, null, 'CREDIT', false,
      ${moved}::text::numeric, ${at - index}, ${at - index})`;
}

async function auditSums(
  context: FlowContext,
  days: readonly number[],
  expected: Sums,
  when: string,
): Promise<string[]> {
  const problems: string[] = [];
  const compare = (what: string, found: Sums, wanted: Sums) => {
    for (const key of new Set([...found.keys(), ...wanted.keys()])) {
      const [is, should] = [found.get(key) ?? ZERO, wanted.get(key) ?? ZERO];
      if (!is.eq(should))
        problems.push(`${when}, ${what} of ${key} is ${formatAmount(is)} instead of ${formatAmount(should)}`);
    }
  };
  const reported: { readonly all: Sums; readonly outside: Sums } = { all: new Map(), outside: new Map() };
  for (const from of days) {
    const day = { day: new Date(from).toISOString().slice(0, 10), zone: "UTC", from, to: from + DAY_MS };
    for (const { productId, ledger, outside } of (await readReport(context, day)).rows) {
      const apart = parseAmount(outside, "outside");
      add(reported.outside, productId, apart);
      add(reported.all, productId, parseAmount(ledger.moved, "moved").plus(apart));
    }
  }
  compare("what the statements have outside", reported.outside, expected);
  const measured: Sums = new Map();
  for (const { productId, outside } of (await measureOutside(context)).content.money)
    add(measured, productId, parseAmount(outside, "outside"));
  compare("what is measured outside", measured, expected);
  const { sums, left } = await addUpMoney(context, new AbortController().signal);
  for (const { productId, reason } of left) problems.push(`${when}, ${productId} is not added up: ${reason}`);
  const added: Sums = new Map();
  for (const one of sums) {
    add(added, one.productId, parseAmount(one.ledger, "ledger"));
    const missing = missingOf(one);
    if (!missing.eq(ZERO))
      problems.push(
        `${when}, ${formatAmount(missing)} ${one.currency} of ${one.productId} is in no statement`,
      );
  }
  for (const [productId, amount] of expected) if (!added.has(productId)) add(added, productId, amount);
  compare("what the statements have", reported.all, added);
  return problems;
}

function add(sums: Sums, key: string, amount: Amount): void {
  sums.set(key, (sums.get(key) ?? ZERO).plus(amount));
}
