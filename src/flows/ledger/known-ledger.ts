/** What is known of the ledger: from which time on, up to which time, and without which unusable entries. */

import { type BetRecord, type LedgerBet, realRound } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import type { Config, ProductConfig } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { keepLedgerStart, markEntriesWithin, markRecordsWithin } from "../../diff/ledger-start-store.ts";
import { areEntriesRejected, readFollowing } from "../../ledger/follow-store.ts";
import { readLedgerStart } from "../../ledger/store.ts";
import type { Finding, MismatchKind } from "../../mismatch.ts";
import type { FlowContext } from "../context.ts";

/**
 * The product's own beginning, the ledger's, or the first entry (docs/settings.md#ledger); null: there is no entry
 * yet.
 */
export async function findLedgerStart(
  tx: Query,
  { ledger }: Config,
  product: ProductConfig,
): Promise<Instant | null> {
  return product.ledgerSince ?? ledger.since ?? (await readLedgerStart(tx));
}

/**
 * As `findLedgerStart`, for a comparison. Entries may be inserted in any order, and settings may change, so the
 * beginning may move back. Then records between the new and the former beginning were not compared, and entries were
 * left out as too old. This function marks both for a comparison.
 */
export async function openLedgerStart(
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
 * The time up to which the ledger is completely known: now, where entries are written to `callback_entries`;
 * otherwise the beginning of the last complete reading of the relation; null: there was none.
 */
export async function readLedgerMoment({ sql, config, clock }: FlowContext): Promise<Instant | null> {
  const now = clock.now();
  if (config.ledger.relation === null) return now;
  const readAt = (await readFollowing(sql, config.ledger.relation))?.readAt ?? null;
  return readAt === null ? null : Math.min(readAt, now);
}

const LACKS_AN_ENTRY: ReadonlySet<MismatchKind> = new Set([
  "missing-in-ledger",
  "missing-placement",
  "missing-settlement",
]);

/** A finding of a missing side, with both sides. */
interface Suspicion {
  readonly finding: Pick<Finding, "kind" | "productId" | "username">;
  readonly pair: {
    readonly records: readonly Pick<BetRecord, "betId" | "id" | "roundId">[];
    readonly bets: readonly Pick<LedgerBet, "txnId" | "roundId">[];
  };
}

/** The findings whose missing entry may be in a rejected row, which people must correct first. */
export async function findUnusableEntries<Suspected extends Suspicion>(
  tx: Query,
  suspicions: readonly Suspected[],
): Promise<Suspected[]> {
  const lacking = suspicions.filter(({ finding }) => LACKS_AN_ENTRY.has(finding.kind));
  if (lacking.length === 0) return [];
  const rejected = await areEntriesRejected(
    tx,
    lacking.map(({ finding: { productId, username }, pair: { records, bets } }) => ({
      productId,
      username,
      txnIds: [...records.flatMap((one) => [one.betId, one.id]), ...bets.map((bet) => bet.txnId)],
      roundIds: [...records, ...bets].map((one) => realRound(one.roundId)).filter((id) => id !== null),
    })),
  );
  return lacking.filter((_, position) => rejected[position]);
}
