/**
 * Follows the operator's relation: copies new and changed rows to `callback_entries`, whose triggers write the marks.
 */

import { formatInstant, type Instant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { Query } from "../../db/client.ts";
import { readEntriesDeletedUpTo } from "../../db/retention-store.ts";
import {
  lockFollowing,
  nextReread,
  planRereads,
  readFollowing,
  writeFollowing,
  writeLedgerSettings,
  writeReread,
} from "../../ledger/follow-store.ts";
import {
  type Copied,
  type CopyRange,
  copyRows,
  costOfUndatedRows,
  type LedgerRelation,
  openRelation,
  type RelationPosition,
  type RowsOfRange,
  rejectUndatedRows,
} from "../../ledger/relation-store.ts";
import { watchEntries } from "../../ledger/triggers-store.ts";
import { findUnreadableRow, isErrorOfRow, rejectUnreadableRow } from "../../ledger/unreadable-row-store.ts";
import type { TimeRange } from "../../window.ts";
import type { FlowContext } from "../context.ts";

const ROWS_PER_BATCH = 2_000;
/** The most batches of one run; the next run continues after them. */
const MOST_BATCHES = 5_000;
/** The most batches of one run that read hours again, so new rows do not wait for long. */
const MOST_REREAD_BATCHES = 50;
/** The shortest interval between two readings of an hour: a resweep may request the same hour every minute. */
const REREAD_PAUSE_MS = 3_600_000;
/** Every run reads this much time before the newest row again, to find rows that were changed in place. */
const TAIL_MS = 60_000;
/** The ages, as shares of `ledger.lookback`, at which older rows are read again. */
const AGES = [1 / 8, 1 / 4, 1 / 2, 1];
/** Up to this planner cost (`costOfUndatedRows`), every run searches for rows without a received_at; */
const CHEAP_COST = 1_000;
/** up to this cost, once an hour; above it, once a day. */
const HOURLY_COST = 50_000;
const DAY_MS = 86_400_000;
/** The most unreadable rows in one run; with more, the whole relation counts as unreadable. */
const MOST_UNREADABLE = 20;
const NOTHING: Copied = { added: 0, rejected: 0, last: null, newest: null };

interface FollowResult {
  /** the number of new entries */
  readonly added: number;
  /** the number of newly rejected rows */
  readonly rejected: number;
}

/**
 * Copies new and changed rows of `ledger.relation`: rows after the newest received_at, late commits within
 * `ledger.lookback`, rows changed in place, and the hours that a resweep asked for. Does nothing without a relation, or
 * while another worker follows it.
 * @throws ReconError `ledger-unreadable` if the relation cannot be read; copied rows stay
 */
export async function followLedger(context: FlowContext, signal: AbortSignal): Promise<FollowResult> {
  const { sql, config, clock, log } = context;
  const { relation: name, rowsChange } = config.ledger;
  const result = { added: 0, rejected: 0 };
  await writeLedgerSettings(sql, rowsChange);
  if (await watchEntries(sql)) {
    log.warn(
      "triggers of callback_entries were off; they are on again, and every entry will be compared again",
    );
  }
  if (name === null) return result;
  const run: FollowRun = {
    context,
    signal,
    now: clock.now(),
    relation: await openRelation(sql, name),
    unreadable: 0,
    count: ({ added, rejected }) => {
      result.added += added;
      result.rejected += rejected;
    },
  };
  if (await followNews(run)) await readHoursAgain(run);
  if (result.added > 0) log.debug({ relation: name, ...result }, "ledger rows copied");
  return result;
}

interface FollowRun {
  readonly context: FlowContext;
  readonly signal: AbortSignal;
  readonly relation: LedgerRelation;
  /** the start of this run */
  readonly now: Instant;
  readonly count: (copied: FollowResult) => void;
  /** the number of unreadable rows so far */
  unreadable: number;
}

/** @returns false if another worker follows the relation, or this run was stopped or reached its limit */
async function followNews(run: FollowRun): Promise<boolean> {
  const { sql, config } = run.context;
  const following = await readFollowing(sql, run.relation.name);
  const readUntil = following?.readUntil ?? null;
  const readAt = following?.readAt ?? null;
  const { lookback } = config.ledger;
  const keptFrom = await readEntriesDeletedUpTo(sql);
  if (readUntil === null && keptFrom > Number.NEGATIVE_INFINITY) {
    const [relation, time] = [run.relation.name, formatInstant(keptFrom)];
    run.context.log.warn(
      { relation, time },
      "rows before this time are not read, because entries up to it were deleted (retain.entries)",
    );
  }
  for (const range of rangesToRead({ readUntil, readAt, now: run.now, lookbackMs: lookback, keptFrom })) {
    if (!(await readRange(run, range))) return false;
  }
  await rejectUndated(run, readAt);
  await writeFollowing(sql, run.relation.name, { readUntil: null, readAt: run.now });
  return true;
}

/** The progress that decides which rows a run reads. */
interface FollowProgress {
  /** the newest received_at seen; null: none yet */
  readonly readUntil: Instant | null;
  /** the start of the last complete run; null: there was none */
  readonly readAt: Instant | null;
  readonly now: Instant;
  readonly lookbackMs: number;
  /** entries before this time were deleted; -Infinity: none were */
  readonly keptFrom: Instant;
}

/**
 * The ranges of received_at that a run reads: unknown rows within the lookback (an anti-join by index), all rows since
 * shortly before the newest one, and older rows that have just reached an eighth, a quarter, a half or the whole of the
 * lookback. So no row is read more than a few times; reading the whole lookback in every run cost ten times as much with ten
 * million rows a day. A change is noticed before the age of its row has doubled, except in the first eighth of a long
 * lookback. Rows whose entries were deleted are not read, because they would come back (decision 160).
 */
export function rangesToRead(progress: FollowProgress): CopyRange[] {
  const { keptFrom } = progress;
  return wantedRanges(progress)
    .map((range) => ({
      ...range,
      from: keptFrom > (range.from ?? Number.NEGATIVE_INFINITY) ? keptFrom : range.from,
    }))
    .filter(({ from, to }) => to === null || from === null || from < to);
}

function wantedRanges({ readUntil, readAt, now, lookbackMs }: FollowProgress): CopyRange[] {
  if (readUntil === null) return [{ from: null, to: null }];
  const tail = readUntil - Math.min(lookbackMs, TAIL_MS);
  const late: CopyRange = { from: readUntil - lookbackMs, to: tail, onlyUnknown: true };
  const aged = AGES.map((share) => share * lookbackMs)
    .filter((ageMs) => ageMs > TAIL_MS && readAt !== null)
    .map((ageMs) => ({ from: (readAt ?? now) - ageMs, to: Math.min(now - ageMs, tail) }));
  return [late, { from: tail, to: null }, ...aged];
}

/** @returns whether the range was read to its end */
async function readRange(run: FollowRun, range: CopyRange): Promise<boolean> {
  let after: RelationPosition | null = null;
  for (let batch = 0; batch < MOST_BATCHES && !run.signal.aborted; batch += 1) {
    const step = await copyStep(run, { range, after }, async (tx, { newest }) => {
      // A row dated in the future must not make all others look old.
      const readUntil = newest === null ? null : Math.min(newest, run.now);
      await writeFollowing(tx, run.relation.name, { readUntil, readAt: null });
    });
    if (step === null) return false;
    after = step.next;
    if (after === null) return true;
  }
  return false;
}

/** Reads the hours of received_at that a resweep fetches again, because rows may have arrived there late. */
async function readHoursAgain(run: FollowRun): Promise<void> {
  for (let batch = 0; batch < MOST_REREAD_BATCHES && !run.signal.aborted; batch += 1) {
    const hour = await nextReread(run.context.sql, run.now, REREAD_PAUSE_MS);
    if (hour === null) return;
    const step = await copyStep(run, { range: hour, after: hour.after }, (tx, _, next) =>
      writeReread(tx, hour, next),
    );
    if (step === null) return;
  }
}

/** Writes the progress after a batch. `next`: the row after which to continue; null: there are no more rows. */
type Keep = (tx: Query, copied: Copied, next: RelationPosition | null) => Promise<void>;

interface Step {
  readonly next: RelationPosition | null;
}

/**
 * Copies the next batch. If a row cannot be read, copies the rows before it and rejects this row, so it does not hold up
 * the others.
 * @returns null: another worker follows the relation
 */
async function copyStep(run: FollowRun, rows: RowsOfRange, keep: Keep): Promise<Step | null> {
  const { relation } = run;
  try {
    return await copyBatch(run, rows, keep, null);
  } catch (error) {
    if (!isErrorOfRow(error) || run.unreadable >= MOST_UNREADABLE) throw error;
    const { sql, log } = run.context;
    const found = await findUnreadableRow(sql, relation, rows, ROWS_PER_BATCH);
    if (found === null) throw error;
    run.unreadable += 1;
    const { rejected, reason } = await rejectUnreadableRow(sql, relation, rows, found);
    run.count({ added: 0, rejected });
    if (rejected > 0) {
      log.warn(
        { relation: relation.name, entryId: found.row.entryId, reason },
        "a row of the ledger cannot be read",
      );
    }
    return await copyBatch(run, { ...rows, upTo: found.before }, keep, found.row);
  }
}

/** @param unreadable the unreadable row after these rows; null: there is none */
async function copyBatch(
  { context, relation, count }: FollowRun,
  rows: RowsOfRange,
  keep: Keep,
  unreadable: RelationPosition | null,
): Promise<Step | null> {
  const isFirst = unreadable !== null && (rows.upTo ?? null) === null;
  return await context.sql.begin(async (tx) => {
    if (!(await lockFollowing(tx, relation.name))) return null;
    const copied = isFirst ? NOTHING : await copyRows(tx, relation, rows, ROWS_PER_BATCH);
    const { receivedAt = null, entryId = null } = copied.last ?? {};
    const next = unreadable ?? (receivedAt === null ? null : { receivedAt, entryId });
    await keep(tx, copied, next);
    count(copied);
    return { next };
  });
}

/** Whether rows without a received_at are searched only once a day, because the search reads a large table. */
export function isSearchedDaily(cost: number): boolean {
  return cost > HOURLY_COST;
}

/** Rejects rows without a received_at, which no range of received_at finds. The cheaper the search, the more often. */
async function rejectUndated(run: FollowRun, readAt: Instant | null): Promise<void> {
  const { sql } = run.context;
  const cost = await costOfUndatedRows(sql, run.relation);
  const everyMs = isSearchedDaily(cost) ? DAY_MS : REREAD_PAUSE_MS;
  const wasSearched = readAt !== null && Math.floor(readAt / everyMs) === Math.floor(run.now / everyMs);
  if (wasSearched && cost > CHEAP_COST) return;
  let afterId: string | null = null;
  for (let batch = 0; batch < MOST_REREAD_BATCHES && !run.signal.aborted; batch += 1) {
    const copied: Copied = await rejectUndatedRows(sql, run.relation, afterId, ROWS_PER_BATCH);
    run.count(copied);
    afterId = copied.last?.entryId ?? null;
    if (afterId === null) return;
  }
}

/** Plans to read the time of a resweep again in the relation, in the transaction that plans the resweep. */
export async function planResweepRereads(
  tx: Query,
  { ledger }: Config,
  ranges: readonly TimeRange[],
  now: Instant,
): Promise<void> {
  if (ledger.relation !== null) await planRereads(tx, ranges, now);
}
