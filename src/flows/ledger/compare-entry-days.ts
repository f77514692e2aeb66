/** Compares the entries of each day with the account of accepted entries, to notice entries that vanish (decision 272). */

import { type Instant, monotonicMs, parseInstant } from "../../clock.ts";
import { allowStatementTime, inSnapshot } from "../../db/transactions.ts";
import { markRecordsWithin } from "../../diff/mark-store.ts";
import { sayGone } from "../../health/other-work.ts";
import {
  type Account,
  type ComparedDay,
  type DayFacts,
  findDueDays,
  type GoneDay,
  readDayFacts,
  readEntryDays,
  writeComparedDay,
} from "../../ledger/entry-days-store.ts";
import type { TimeRange } from "../../window.ts";
import { type FlowContext, pulledProducts } from "../context.ts";

const DAY_MS = 24 * 3_600_000;
/** A tenth of the time between two runs, so a long ledger takes at most a tenth of a connection. */
const LONGEST_RUN_MS = 60_000;
const MOST_DAYS = 1_000;
/** Enough for a day of a hundred million entries. */
const LONGEST_DAY_MS = 600_000;

/** Compares the due days: each day once a day, days with a difference in every run. */
export async function compareEntryDays(context: FlowContext, signal: AbortSignal): Promise<void> {
  const now = context.clock.now();
  const endsAtMs = monotonicMs() + LONGEST_RUN_MS;
  for (const day of await findDueDays(context.sql, now - DAY_MS, MOST_DAYS)) {
    if (signal.aborted || monotonicMs() > endsAtMs) return;
    await compareEntryDay(context, day, now);
  }
}

interface InspectedDays {
  readonly gone: readonly GoneDay[];
  /** the number of days that were compared in time, and of all days */
  readonly compared: number;
  readonly days: number;
}

/** Compares the days now, newest first, for a minute at most. Stores nothing. */
export async function inspectEntryDays({ sql, clock }: FlowContext): Promise<InspectedDays> {
  const now = clock.now();
  const endsAtMs = monotonicMs() + LONGEST_RUN_MS;
  const days = await readEntryDays(sql);
  const gone: GoneDay[] = [];
  let compared = 0;
  for (const day of days) {
    if (monotonicMs() > endsAtMs) break;
    const { goneAt, accepted, found, unwatchedAt } = await inSnapshot(sql, async (tx) => {
      await allowStatementTime(tx, LONGEST_DAY_MS);
      return compareDay(await readDayFacts(tx, day), now);
    });
    if (goneAt !== null && accepted !== null && found !== null)
      gone.push({ day, goneAt, accepted, found, unwatchedAt });
    compared += 1;
  }
  return { gone: gone.toReversed(), compared, days: days.length };
}

/** Compares each UTC day that a range of time touches. */
export async function compareEntryDaysOf(context: FlowContext, { from, to }: TimeRange): Promise<void> {
  for (let at = beginOfDay(from); at < to; at += DAY_MS)
    await compareEntryDay(context, new Date(at).toISOString().slice(0, 10), context.clock.now());
}

/**
 * Compares one day. If entries are gone, the records around that day are marked for comparison: their bets become
 * mismatches, although no record and no entry has changed.
 */
async function compareEntryDay(context: FlowContext, day: string, now: Instant): Promise<void> {
  const { sql, config, log } = context;
  const verdict = await inSnapshot(sql, async (tx) => {
    await allowStatementTime(tx, LONGEST_DAY_MS);
    const facts = await readDayFacts(tx, day);
    const result = compareDay(facts, now);
    await writeComparedDay(tx, day, result, facts.noted, now);
    if (result.isNew) {
      const from = parseInstant(`${day}T00:00:00Z`, "day");
      const around = { from: from - DAY_MS, to: from + 2 * DAY_MS };
      for (const productId of pulledProducts(config)) await markRecordsWithin(tx, productId, around, now);
    }
    return result;
  });
  const { accepted, found, unwatchedAt, isNew } = verdict;
  if (!isNew || accepted === null || found === null) return;
  const sentence = `callback_entries does not have the entries that were accepted: ${sayGone({ day, accepted, found, unwatchedAt })}`;
  log.error({ day, accepted, found }, sentence);
}

function beginOfDay(at: Instant): Instant {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

interface DayVerdict extends ComparedDay {
  /** the comparison found a new difference */
  readonly isNew: boolean;
}

/**
 * Compares the rows of a day with its account. A difference stays open until the same entries are there again, or the
 * operator accepts it (decision 273). After a difference the account starts again from the rows found, so entries that are
 * inserted again count like any other. More rows than accepted are a difference too: while the triggers were off, rows may
 * have been inserted and others deleted.
 */
function compareDay(facts: DayFacts, now: Instant): DayVerdict {
  const { account, rows, isUncounted, unwatchedAt, goneAt, accepted, acceptedDigest, found } = facts;
  const isRepaired =
    accepted !== null &&
    acceptedDigest !== null &&
    isSame(rows, { entries: accepted, digest: acceptedDigest });
  const known =
    isRepaired || goneAt === null
      ? { unwatchedAt: null, goneAt: null, accepted: null, acceptedDigest: null, found: null }
      : { unwatchedAt, goneAt, accepted, acceptedDigest, found };
  const isMore = rows.entries > account.entries;
  if (isRepaired || isSame(rows, account) || (isUncounted && isMore))
    return { ...known, account: rows, isNew: false };
  if (goneAt === null || accepted === null || found === null) {
    return {
      account: rows,
      unwatchedAt,
      goneAt: now,
      accepted: account.entries,
      acceptedDigest: account.digest,
      found: rows.entries,
      isNew: true,
    };
  }
  // Entries accepted since the first difference count too.
  const total = accepted + account.entries - found;
  return {
    account: rows,
    unwatchedAt,
    goneAt,
    accepted: total,
    acceptedDigest: null,
    found: rows.entries,
    isNew: true,
  };
}

function isSame(one: Account, other: Account): boolean {
  return one.entries === other.entries && one.digest === other.digest;
}
