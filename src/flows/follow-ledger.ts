/** Follows a ledger of the operator's own: its new and changed rows are copied into ours, whose triggers ask for the comparison. */

import { type BetRecord, type LedgerBet, realRound } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Config } from "../config-file.ts";
import type { Query } from "../db/client.ts";
import {
  areEntriesRejected,
  askRereads,
  lockFollowing,
  nextReread,
  type Reread,
  readFollowing,
  writeFollowing,
  writeLedgerSettings,
  writeReread,
} from "../ledger/follow-store.ts";
import {
  type Copied,
  type CopyRange,
  copyRows,
  findsUndatedRows,
  type LedgerRelation,
  openRelation,
  type RelationPosition,
  rejectUndatedRows,
} from "../ledger/relation-store.ts";
import { watchEntries } from "../ledger/store.ts";
import type { Finding, MismatchKind } from "../mismatch.ts";
import type { TimeRange } from "../window.ts";
import type { FlowContext } from "./context.ts";

const ROWS_PER_BATCH = 2_000;
/** More batches than this in one run leave the rest to the next, which goes on behind them. */
const MOST_BATCHES = 5_000;
/** Reading hours again must not keep what is new waiting for long. */
const MOST_REREAD_BATCHES = 50;
/** A resweep may ask for the same hour every minute; it is read again at most this often. */
const REREAD_PAUSE_MS = 3_600_000;
/** So much behind the newest row is read again in every run, for rows that were changed in place. */
const TAIL_MS = 60_000;
/** Older rows are read again at these shares of `ledger.lookback` after they were received. */
const AGES = [1 / 8, 1 / 4, 1 / 2, 1];
const UNDATED_EVERY_MS = 3_600_000;

export interface FollowResult {
  /** entries that were new */
  readonly added: number;
  /** rows that cannot be used and were not known as such */
  readonly rejected: number;
}

/**
 * Copies what is new in `ledger.relation`: rows behind the newest received_at seen, rows that were committed late within
 * `ledger.lookback`, rows that were changed in place, and then the hours that a resweep asked for. Without a relation
 * there is nothing to follow; where another worker follows, neither.
 * @throws ReconError `ledger-unreadable` where the relation cannot be read; what was copied stays
 */
export async function followLedger(context: FlowContext, signal: AbortSignal): Promise<FollowResult> {
  const { sql, config, clock, log } = context;
  const { relation: name, rowsChange } = config.ledger;
  const result = { added: 0, rejected: 0 };
  await writeLedgerSettings(sql, rowsChange);
  if (await watchEntries(sql)) {
    log.warn("triggers of callback_entries were not all on; they are, and every entry is compared anew");
  }
  if (name === null) return result;
  const run: FollowRun = {
    context,
    signal,
    now: clock.now(),
    relation: await openRelation(sql, name),
    count: ({ added, rejected }) => {
      result.added += added;
      result.rejected += rejected;
    },
  };
  if (await followNews(run)) await readHoursAgain(run);
  if (result.added > 0) log.debug({ relation: name, ...result }, "the ledger was read");
  return result;
}

interface FollowRun {
  readonly context: FlowContext;
  readonly signal: AbortSignal;
  readonly relation: LedgerRelation;
  /** when this run began */
  readonly now: Instant;
  readonly count: (copied: FollowResult) => void;
}

/** @returns false where another worker follows, or this one was stopped */
async function followNews(run: FollowRun): Promise<boolean> {
  const { sql, config } = run.context;
  const following = await readFollowing(sql, run.relation.name);
  const readUntil = following?.readUntil ?? null;
  const readAt = following?.readAt ?? null;
  const { lookback } = config.ledger;
  for (const range of rangesToRead({ readUntil, readAt, now: run.now, lookbackMs: lookback })) {
    if (!(await readRange(run, range))) return false;
  }
  if (readAt === null || Math.floor(readAt / UNDATED_EVERY_MS) < Math.floor(run.now / UNDATED_EVERY_MS)) {
    await rejectUndated(run);
  }
  await writeFollowing(sql, run.relation.name, { readUntil: null, readAt: run.now });
  return true;
}

/** What one run has to read, besides hours that a resweep asked for. */
interface FollowProgress {
  /** the newest received_at seen; null: none yet */
  readonly readUntil: Instant | null;
  /** when the last run that reached its end began; null: none did yet */
  readonly readAt: Instant | null;
  readonly now: Instant;
  readonly lookbackMs: number;
}

/**
 * The ranges of received_at that a run reads: unknown rows within the lookback, every row since shortly before the newest
 * one, and of older rows those that have just reached one of a few ages. So a row that changes is noticed when it is
 * at most twice as old, and no row of the lookback is read more than a few times.
 */
export function rangesToRead({ readUntil, readAt, now, lookbackMs }: FollowProgress): CopyRange[] {
  if (readUntil === null) return [{ from: null, to: null }];
  const tail = readUntil - Math.min(lookbackMs, TAIL_MS);
  const late: CopyRange = { from: readUntil - lookbackMs, to: tail, onlyUnknown: true };
  const aged = AGES.map((share) => share * lookbackMs)
    .filter((ageMs) => ageMs > TAIL_MS && readAt !== null)
    .map((ageMs) => ({ from: (readAt ?? now) - ageMs, to: Math.min(now - ageMs, tail) }));
  return [late, { from: tail, to: null }, ...aged].filter(
    ({ from, to }) => to === null || from === null || from < to,
  );
}

/** @returns whether it was read to its end */
async function readRange(run: FollowRun, range: CopyRange): Promise<boolean> {
  let after: RelationPosition | null = null;
  for (let batch = 0; batch < MOST_BATCHES && !run.signal.aborted; batch += 1) {
    const copied: Copied | null = await run.context.sql.begin(async (tx) => {
      if (!(await lockFollowing(tx, run.relation.name))) return null;
      const step = await copyRows(tx, run.relation, range, after, ROWS_PER_BATCH);
      // One row dated ahead must not make everything before it look old.
      const readUntil = step.newest === null ? null : Math.min(step.newest, run.now);
      await writeFollowing(tx, run.relation.name, { readUntil, readAt: null });
      return step;
    });
    if (copied === null) return false;
    run.count(copied);
    after = copied.after;
    if (after === null) return true;
  }
  return false;
}

/** The hours of received_at that a resweep fetches again: rows may have come in behind what was read. */
async function readHoursAgain(run: FollowRun): Promise<void> {
  for (let batch = 0; batch < MOST_REREAD_BATCHES && !run.signal.aborted; batch += 1) {
    const copied = await run.context.sql.begin(async (tx) => {
      if (!(await lockFollowing(tx, run.relation.name))) return null;
      const hour = await nextReread(tx, run.now, REREAD_PAUSE_MS);
      return hour === null ? null : await readHourOn(run, tx, hour);
    });
    if (copied === null) return;
    run.count(copied);
  }
}

async function readHourOn(run: FollowRun, tx: Query, hour: Reread): Promise<Copied> {
  const copied = await copyRows(tx, run.relation, hour, hour.after, ROWS_PER_BATCH);
  await writeReread(tx, hour, copied.after);
  return copied;
}

/** Rows without a received_at are in no range: they are looked for only where an index leads to them. */
async function rejectUndated(run: FollowRun): Promise<void> {
  const { sql } = run.context;
  if (!(await findsUndatedRows(sql, run.relation))) return;
  run.count(await rejectUndatedRows(sql, run.relation, ROWS_PER_BATCH));
}

/** What a resweep fetches again is read again in the ledger too; part of the transaction that plans it. */
export async function rereadWith(
  tx: Query,
  { ledger }: Config,
  ranges: readonly TimeRange[],
  now: Instant,
): Promise<void> {
  if (ledger.relation !== null) await askRereads(tx, ranges, now);
}

/**
 * The moment as of which the ledger is known whole: now, where its entries are written into our own table; else when
 * the last reading of the relation began that reached its end; null: none did yet.
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

/** What is called missing, and the two sides that it is about. */
interface Suspicion {
  readonly finding: Pick<Finding, "kind" | "productId" | "username">;
  readonly pair: {
    readonly records: readonly Pick<BetRecord, "betId" | "id" | "roundId">[];
    readonly bets: readonly Pick<LedgerBet, "txnId" | "roundId">[];
  };
}

/** What of it is called missing and may be in a row that cannot be used: the row has to be mended first. */
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
