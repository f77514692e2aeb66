/** What moved outside the comparison: measured by a worker, read by everybody. */

import { type Instant, monotonicMs } from "../../clock.ts";
import { readClosedTime } from "../../closing/closed-day-store.ts";
import { dayAt } from "../../closing/day-bounds.ts";
import type { Config } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { allowStatementTime, inSnapshot } from "../../db/transactions.ts";
import { countUnknown, findOtherProducts, sumEntries } from "../../diff/outside-store.ts";
import { restAfter } from "../../health/money.ts";
import type { Measured, MoneyOutside, OutsideSeen } from "../../money-outside.ts";
import { readMoneyStates, writeMoneyState } from "../../work/work-store.ts";
import type { FlowContext } from "../context.ts";
import { findLedgerStart } from "../ledger/known-ledger.ts";

const DAY_MS = 24 * 3_600_000;
/** Older days stay in their statements. */
const MOST_DAYS = 7;
/** An entry may occur a day after it was received. */
const AHEAD_MS = 2 * DAY_MS;
const LONGEST_MS = 60_000;
/** A status that is read without a worker measures again after this time. */
const FRESH_MS = 120_000;

/** The settings on which it depends what is outside, as text. */
export function settingsOfMoney({ products, ledger, closing }: Config): string {
  const own = products.map(({ productId, walletMode, settlement, ledgerSince }) => [
    productId,
    walletMode,
    settlement,
    ledgerSince,
  ]);
  return JSON.stringify([own, ledger.since, closing.zone]);
}

/** Measures, unless a worker has just done so. */
export async function keepOutside(context: FlowContext): Promise<void> {
  const { sql, config, clock } = context;
  const settings = settingsOfMoney(config);
  const { outside } = await readMoneyStates(sql, settings);
  const rests = outside === null ? 0 : Math.max(config.alerts.every / 2, restAfter(outside.tookMs));
  if (outside !== null && clock.now() - outside.measuredAt < rests) return;
  await writeMoneyState(sql, "outside", settings, await measureOutside(context));
}

/** As a worker measured it just now; without one, it is measured here. */
export async function readOutside(context: FlowContext): Promise<OutsideSeen> {
  const { outside } = await readMoneyStates(context.sql, settingsOfMoney(context.config));
  const isFresh = outside !== null && context.clock.now() - outside.measuredAt < FRESH_MS;
  return (isFresh ? outside : await measureOutside(context)).content;
}

export async function measureOutside(context: FlowContext): Promise<Measured<OutsideSeen>> {
  const { sql, config, clock } = context;
  const now = clock.now();
  const beganMs = monotonicMs();
  const content = await inSnapshot(sql, async (tx) => {
    await allowStatementTime(tx, LONGEST_MS);
    return await seeOutside(tx, config, now);
  });
  return { measuredAt: now, tookMs: monotonicMs() - beganMs, content };
}

async function seeOutside(tx: Query, config: Config, now: Instant): Promise<OutsideSeen> {
  const closed = await readClosedTime(tx);
  const first = dayAt(now - (MOST_DAYS - 1) * DAY_MS, config.closing.zone).from;
  const from = Math.max(first, closed?.to ?? 0);
  const to = now + AHEAD_MS;
  const money: MoneyOutside[] = [];
  for (const product of config.products) {
    // What lies before the ledger's beginning is left out by a setting.
    const start = (await findLedgerStart(tx, config, product)) ?? to;
    const range = { from: Math.max(from, start), to };
    money.push(...(await sumOutside(tx, product, range)));
  }
  const others = await findOtherProducts(
    tx,
    config.products.map(({ productId }) => productId),
  );
  const unknown = await countUnknown(tx, others);
  const range = { from: Math.max(from, config.ledger.since ?? 0), to };
  const recent = unknown.filter(({ until }) => until >= range.from).map(({ productId }) => productId);
  return { from, money: [...money, ...(await sumEntries(tx, recent, range))].sort(byProduct), unknown };
}

/** What moved outside the comparison of a product of the settings, in a range of time. */
async function sumOutside(
  tx: Query,
  { productId, walletMode, settlement }: Config["products"][number],
  range: { readonly from: Instant; readonly to: Instant },
): Promise<MoneyOutside[]> {
  if (walletMode === "transfer") return await sumEntries(tx, [productId], range);
  if (settlement === "bets") return await sumEntries(tx, [productId], range, "adjustments");
  return settlement === "session" ? await sumEntries(tx, [productId], range, "bets") : [];
}

function byProduct(a: MoneyOutside, b: MoneyOutside): number {
  return a.productId === b.productId
    ? a.currency < b.currency
      ? -1
      : 1
    : a.productId < b.productId
      ? -1
      : 1;
}
