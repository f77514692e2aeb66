/** Loads the touched sessions, each one whole. */

import type { StoredRecord } from "../../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../../callback.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import { readRecordsWithin } from "../../diff/session-store.ts";
import { type PlayerSession, splitSessions } from "../../diff/sessions.ts";
import type { Absences } from "../../diff/vanished.ts";
import { ReconError } from "../../errors.ts";
import { readEntriesWithin } from "../../ledger/store.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { BothSides } from "./decide-absences.ts";

/** The first margin around a session, in quiet times. The margin doubles until the session is whole. */
const FIRST_MARGIN_QUIETS = 4;
const MOST_DOUBLINGS = 12;
const DAY_MS = 24 * 3_600_000;
/** The most entries, or records, in memory at once. */
const MOST_ROWS = 40_000;

/** A player's sessions near the touched times, and all entries around them. */
export interface PlayedSessions<Found extends Absences> {
  /** without the records that are absent */
  readonly sessions: readonly PlayerSession[];
  /** the same sessions without the records in doubt */
  readonly otherwise: readonly PlayerSession[];
  /** in ledger order */
  readonly entries: readonly CallbackEntry[];
  readonly absences: Found;
}

/** Decides which records are absent or in doubt. */
type FindAbsences<Found extends Absences> = (
  comparison: ComparisonContext,
  sides: readonly BothSides[],
) => Promise<(one: BothSides) => Found>;

/**
 * Loads every session that may contain one of the touched times.
 * @param touched by player; both ends of a time count
 * @throws ReconError `session-too-long` where a session, or all of them together, exceed the limit: nothing is cut
 * off
 */
export async function loadSessions<Found extends Absences>(
  comparison: ComparisonContext,
  touched: ReadonlyMap<string, readonly Instant[]>,
  findAbsences: FindAbsences<Found>,
): Promise<Map<string, PlayedSessions<Found>>> {
  const quietMs = comparison.context.config.diff.sessionQuiet;
  const whole = new Map<string, PlayedSessions<Found>>();
  let marginMs = (quietMs + 1) * FIRST_MARGIN_QUIETS;
  for (let doublings = 0; doublings <= MOST_DOUBLINGS; doublings += 1) {
    const spans = new Map<string, TimeRange>();
    for (const [username, times] of touched)
      if (!whole.has(username)) spans.set(username, spanOf(times, marginMs));
    if (spans.size === 0) return whole;
    const { entries, records } = await loadSpans(comparison, spans);
    // Such a product has no bets, so a record is searched by its own dates.
    const side: BothSides = { records: [...records.values()].flat(), bets: [] };
    const absences = (await findAbsences(comparison, [side]))(side);
    const absent = new Set(absences.absent);
    const unlisted = new Set([...absent, ...absences.doubtful]);
    for (const [username, span] of spans) {
      const own = (entries.get(username) ?? []).sort(inLedgerOrder);
      const { from, to } = spanOf(touched.get(username) ?? [], quietMs);
      const near = (without: ReadonlySet<StoredRecord>) => {
        const listed = (records.get(username) ?? []).filter((record) => !without.has(record));
        const sessions = splitSessions(username, own, listed, quietMs);
        return sessions.filter((one) => one.lastAt >= from && one.firstAt <= to);
      };
      const sessions = near(absent);
      const otherwise = unlisted.size === absent.size ? sessions : near(unlisted);
      const isWhole = sessions.every(
        (one) => one.firstAt - span.from > quietMs && span.to - one.lastAt > quietMs,
      );
      if (isWhole) whole.set(username, { sessions, otherwise, entries: own, absences });
    }
    marginMs *= 2;
  }
  const [endless = ""] = [...touched.keys()].filter((username) => !whole.has(username));
  const days = Math.floor(marginMs / 2 / DAY_MS);
  throw tooLong(
    comparison,
    `the session of ${endless} has no end in the ${days} days around what was touched`,
  );
}

/** The span of some times, with a margin on both sides. */
function spanOf(times: readonly Instant[], marginMs: number): TimeRange {
  const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const last = times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return { from: first - marginMs, to: last + marginMs };
}

async function loadSpans(comparison: ComparisonContext, spans: ReadonlyMap<string, TimeRange>) {
  const { tx, product } = comparison;
  const [entries, records] = await Promise.all([
    readEntriesWithin(tx, product.productId, spans, MOST_ROWS + 1),
    readRecordsWithin(tx, product.productId, spans, MOST_ROWS + 1),
  ]);
  if (Math.max(entries.length, records.length) > MOST_ROWS) throw tooMany(comparison, spans);
  return {
    entries: Map.groupBy<string, CallbackEntry>(entries, ({ username }) => username),
    records: Map.groupBy<string, StoredRecord>(records, ({ username }) => username),
  };
}

function tooMany(comparison: ComparisonContext, spans: ReadonlyMap<string, TimeRange>): ReconError {
  const [[username, { from, to }] = ["", { from: 0, to: 0 }]] = spans;
  const whose = spans.size === 1 ? `of ${username}` : `of ${username} and ${spans.size - 1} other players`;
  const when = `from ${formatInstant(from)} to ${formatInstant(to)}`;
  return tooLong(comparison, `the sessions ${whose} ${when} have more than ${MOST_ROWS} entries or records`);
}

function tooLong({ product: { productId } }: ComparisonContext, what: string): ReconError {
  return new ReconError(
    "session-too-long",
    `${productId}: ${what}; they are not compared. A shorter diff.sessionQuiet ends sessions sooner. The worker tries again every hour.`,
  );
}
