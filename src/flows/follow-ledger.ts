/** Follows a ledger of the operator's own: what is new in it comes into ours, and is looked at by the diff. */

import { type BetRecord, type LedgerBet, realRound } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Config } from "../config-file.ts";
import type { Query } from "../db/client.ts";
import {
  areEntriesRejected,
  askRereads,
  forgetRejected,
  lockFollowing,
  nextReread,
  type Reread,
  readFollowing,
  rejectEntries,
  writeFollowing,
  writeReread,
} from "../ledger/follow-store.ts";
import { type RelationRow, readRelationRow } from "../ledger/relation.ts";
import {
  type LedgerRelation,
  openRelation,
  type Place,
  readPlacelessRows,
  readRows,
} from "../ledger/relation-store.ts";
import { appendEntriesWithin } from "../ledger/store.ts";
import type { Finding, MismatchKind } from "../mismatch.ts";
import type { TimeRange } from "../window.ts";
import type { FlowContext } from "./context.ts";

const ROWS_PER_BATCH = 2_000;
/** More batches than this in one run leave the rest to the next, which goes on behind them. */
const MOST_BATCHES = 5_000;
/** Reading days again must not keep what is new waiting for long. */
const MOST_REREAD_BATCHES = 50;
/** A resweep may ask for the same day every minute; it is read again at most this often. */
const REREAD_PAUSE_MS = 3_600_000;

export interface FollowResult {
  /** entries that were new */
  readonly added: number;
  /** rows that cannot be used and were not known as such */
  readonly rejected: number;
}

/**
 * Reads what is new in `ledger.relation`, from `ledger.lookback` before the newest received_at seen, and then the days
 * that a resweep asked for. Without a relation there is nothing to do; where another worker follows, neither.
 * @throws ReconError `ledger-unreadable` where the relation cannot be read; what was read of it stays
 */
export async function followLedger(context: FlowContext, signal: AbortSignal): Promise<FollowResult> {
  const { sql, config, clock, log } = context;
  const { relation: name } = config.ledger;
  const result = { added: 0, rejected: 0 };
  if (name === null) return result;
  const run: Run = {
    context,
    signal,
    name,
    now: clock.now(),
    relation: await openRelation(sql, name),
    count: (step) => {
      result.added += step.added;
      result.rejected += step.rejected;
    },
  };
  await followNews(run);
  await readDaysAgain(run);
  if (result.added > 0) log.debug({ relation: name, ...result }, "the ledger was read");
  return result;
}

interface Run {
  readonly context: FlowContext;
  readonly signal: AbortSignal;
  /** the relation as the settings name it */
  readonly name: string;
  readonly relation: LedgerRelation;
  /** when this run began */
  readonly now: Instant;
  readonly count: (step: FollowResult) => void;
}

/** What one transaction did. */
interface Step extends FollowResult {
  /** null: all of it was read */
  readonly after: Place | null;
  readonly newest: Instant | null;
}

async function followNews(run: Run): Promise<void> {
  const { sql, config } = run.context;
  const following = await readFollowing(sql, run.name);
  if (following === null) run.count(await sql.begin((tx) => takePlacelessRows(run, tx)));
  const readUntil = following?.readUntil ?? null;
  const range = { from: readUntil === null ? null : readUntil - config.ledger.lookback, to: null };
  let after: Place | null = null;
  for (let batch = 0; batch < MOST_BATCHES && !run.signal.aborted; batch += 1) {
    const step: Step | null = await sql.begin(async (tx) => {
      if (!(await lockFollowing(tx, run.name))) return null;
      const read = await readBatch(run, tx, range, after);
      const readAt = read.after === null ? run.now : null;
      await writeFollowing(tx, run.name, { readUntil: read.newest, readAt });
      return read;
    });
    if (step === null) return;
    run.count(step);
    after = step.after;
    if (after === null) return;
  }
}

/** The UTC days of received_at that a resweep fetches again: rows may have come in behind what was read. */
async function readDaysAgain(run: Run): Promise<void> {
  for (let batch = 0; batch < MOST_REREAD_BATCHES && !run.signal.aborted; batch += 1) {
    const step = await run.context.sql.begin(async (tx) => {
      if (!(await lockFollowing(tx, run.name))) return null;
      const day = await nextReread(tx, run.now, REREAD_PAUSE_MS);
      return day === null ? null : await readDayOn(run, tx, day);
    });
    if (step === null) return;
    run.count(step);
  }
}

async function readDayOn(run: Run, tx: Query, day: Reread): Promise<FollowResult> {
  const step = await readBatch(run, tx, day, day.after);
  await writeReread(tx, day, step.after);
  if (step.after !== null) return step;
  const placeless = await takePlacelessRows(run, tx);
  return { added: step.added, rejected: step.rejected + placeless.rejected };
}

async function readBatch(
  run: Run,
  tx: Query,
  range: { readonly from: Instant | null; readonly to: Instant | null },
  after: Place | null,
): Promise<Step> {
  const found = await readRows(tx, run.name, run.relation, range, after, ROWS_PER_BATCH);
  const unknown = found.map(({ row }) => row).filter((row) => row !== null);
  const taken = await takeRows(run, tx, unknown);
  const isLast = found.length < ROWS_PER_BATCH;
  const last = found.findLast((one) => one.receivedAt !== null)?.receivedAt ?? null;
  // One row dated ahead must not make everything before it look old.
  const newest = last === null ? null : Math.min(last, run.now);
  return { ...taken, newest, after: isLast ? null : (found.at(-1)?.place ?? null) };
}

async function takePlacelessRows(run: Run, tx: Query): Promise<FollowResult> {
  return await takeRows(run, tx, await readPlacelessRows(tx, run.name, run.relation, ROWS_PER_BATCH));
}

/** Appends the rows that are entries, and keeps the others for people. */
async function takeRows({ context, name, now }: Run, tx: Query, rows: readonly RelationRow[]) {
  const read = rows.map(readRelationRow);
  const entries = read.flatMap((one) => ("entry" in one ? [one.entry] : []));
  const unusable = read.flatMap((one) => ("rejected" in one ? [one.rejected] : []));
  const added = await appendEntriesWithin(tx, entries, now);
  const entryIds = entries.map((entry) => entry.entryId);
  if (entries.length > 0) await forgetRejected(tx, entryIds);
  const rejected = await rejectEntries(tx, unusable, now);
  if (rejected > 0) {
    const { entryId, reason } = unusable[0] ?? {};
    context.log.warn(
      { relation: name, rows: rejected, example: { entryId, reason } },
      "rows of the ledger cannot be used; rejected_entries has them with their reasons",
    );
  }
  return { added, rejected };
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
export async function findHeardUnusably<Suspected extends Suspicion>(
  { ledger }: Config,
  tx: Query,
  suspicions: readonly Suspected[],
): Promise<Suspected[]> {
  const lacking = suspicions.filter(({ finding }) => LACKS_AN_ENTRY.has(finding.kind));
  if (ledger.relation === null || lacking.length === 0) return [];
  const rejected = await areEntriesRejected(
    tx,
    lacking.map(({ finding: { productId, username }, pair: { records, bets } }) => ({
      productId,
      username,
      txnIds: [...records.flatMap((one) => [one.betId, one.id]), ...bets.map((bet) => bet.txnId)],
      roundIds: [...records, ...bets].map((one) => realRound(one.roundId)).filter((id) => id !== null),
    })),
  );
  return lacking.filter((_, place) => rejected[place]);
}
