/** The part of the ledger that is known: since when, until when, and without which unusable entries. */

import { type BetRecord, type LedgerBet, realRound } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import type { Config, ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { MISSING_ENTRIES } from "../../diff/deleted.ts";
import { keepLedgerStart, markEntriesWithin, markRecordsWithin } from "../../diff/mark-store.ts";
import { readFollowing } from "../../ledger/follow-store.ts";
import { areEntriesRejected } from "../../ledger/rejected-store.ts";
import { readLedgerStart } from "../../ledger/store.ts";
import type { MismatchContent } from "../../mismatch.ts";
import type { FlowContext } from "../context.ts";

/**
 * The product's own start of the ledger, else the ledger's, else the first entry (docs/settings.md#ledger); null: there
 * is no entry yet.
 */
export async function findLedgerStart(
  tx: Query,
  { ledger }: Config,
  product: ProductConfig,
): Promise<Instant | null> {
  return product.ledgerSince ?? ledger.since ?? (await readLedgerStart(tx));
}

/**
 * `findLedgerStart` for a comparison. The start may move back, because entries are inserted in any order and settings
 * change. Records and entries between the new and the former start were skipped as too old; this function marks both for
 * comparison.
 */
export async function trackLedgerStart(
  tx: Query,
  config: Config,
  product: ProductConfig,
  now: Instant,
): Promise<Instant | null> {
  const start = await findLedgerStart(tx, config, product);
  if (start === null) return null;
  const before = await keepLedgerStart(tx, product.productId, start);
  if (before !== null && start < before) {
    const moved = { from: start, to: before };
    await markRecordsWithin(tx, product.productId, moved, now);
    await markEntriesWithin(tx, product.productId, moved, product.stuckOpenAfter, now);
  }
  return start;
}

/**
 * The time up to which the ledger is completely known: now if entries are written to `callback_entries`, otherwise the
 * start of the last complete reading of the relation; null: there was none.
 */
export async function readLedgerMoment({ sql, config, clock }: FlowContext): Promise<Instant | null> {
  const now = clock.now();
  if (config.ledger.relation === null) return now;
  const readAt = (await readFollowing(sql, config.ledger.relation))?.readAt ?? null;
  return readAt === null ? null : Math.min(readAt, now);
}

/** A pending difference, with both sides. */
interface Suspicion {
  readonly content: Pick<MismatchContent, "kind" | "productId" | "username">;
  readonly pair: {
    readonly records: readonly Pick<BetRecord, "betId" | "id" | "roundId">[];
    readonly bets: readonly Pick<LedgerBet, "txnId" | "roundId">[];
  };
}

/** The differences whose missing entry may be in a rejected row, which must be corrected first. */
export async function findUnusableEntries<Suspected extends Suspicion>(
  tx: Query,
  suspicions: readonly Suspected[],
): Promise<Suspected[]> {
  const lacking = suspicions.filter(({ content }) => MISSING_ENTRIES.has(content.kind));
  if (lacking.length === 0) return [];
  const rejected = await areEntriesRejected(
    tx,
    lacking.map(({ content: { productId, username }, pair: { records, bets } }) => ({
      productId,
      username,
      txnIds: [...records.flatMap((one) => [one.betId, one.id]), ...bets.map((bet) => bet.txnId)],
      roundIds: [...records, ...bets].map((one) => realRound(one.roundId)).filter((id) => id !== null),
    })),
  );
  return lacking.filter((_, position) => rejected[position]);
}
