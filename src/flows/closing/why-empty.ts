/** Why a day's statement has no rows, which its JSON does not say (its keys are fixed). */

import { showInstant } from "../../clock.ts";
import type { DayStatement } from "../../closed.ts";
import type { ZonedDay } from "../../closing/day-bounds.ts";
import type { Query } from "../../db/client.ts";
import { inSnapshot } from "../../db/transactions.ts";
import { findGaps } from "../../sync/coverage.ts";
import { readFetched } from "../../sync/coverage-store.ts";
import type { FlowContext } from "../context.ts";
import { findLedgerStart } from "../ledger/known-ledger.ts";

/** @param asked the day that the statement was asked for @returns one sentence or two; null: the statement has rows */
export async function readWhyEmpty(
  context: FlowContext,
  asked: ZonedDay,
  { closed, rows }: DayStatement,
): Promise<string | null> {
  if (rows.length > 0) return null;
  return closed === null ? await inSnapshot(context.sql, (tx) => whyEmpty(context, tx, asked)) : NO_BET;
}

const NO_BET = "Neither side has a bet on this day.";

async function whyEmpty(context: FlowContext, tx: Query, day: ZonedDay): Promise<string> {
  const { config, clock } = context;
  const now = clock.now();
  if (day.from >= now) return `The day is in the future: it begins at ${showInstant(day.from)}.`;
  const products = config.products.filter(({ walletMode }) => walletMode === "seamless");
  if (products.length === 0) return "No product has bets.";
  const partly: string[] = [];
  let isFetched = false;
  for (const { productId } of products) {
    const covered = await readFetched(tx, productId, day);
    isFetched ||= covered.length > 0;
    if (findGaps(day, now - config.pull.settleDelay, covered, []).length > 0) partly.push(productId);
  }
  if (!isFetched) return "This day was not fetched, so nothing is known of it (recon backfill fetches it).";
  if (partly.length > 0)
    return `Not all of this day was fetched: ${partly.join(", ")} (recon coverage shows what is missing). What was fetched has no bet.`;
  for (const product of products) {
    if ((await findLedgerStart(tx, config, product)) === null)
      return `The ledger of ${product.productId} has no entry, so nothing can be compared.`;
  }
  return day.to > now ? "Neither side has a bet on this day so far." : NO_BET;
}
