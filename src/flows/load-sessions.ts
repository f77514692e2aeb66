/** Loads the sessions that were touched, each of them whole. */

import type { StoredRecord } from "../bet.ts";
import { type CallbackEntry, inLedgerOrder } from "../callback.ts";
import { formatInstant, type Instant } from "../clock.ts";
import { readRecordsWithin } from "../diff/session-store.ts";
import { type Session, splitSessions } from "../diff/sessions.ts";
import { ReconError } from "../errors.ts";
import { readEntriesWithin } from "../ledger/store.ts";
import type { TimeRange } from "../window.ts";
import type { Scene } from "./diff-scene.ts";

/** A session is loaded with this much time around it at first, and with twice as much until it is whole. */
const FIRST_MARGIN_QUIETS = 4;
const MOST_DOUBLINGS = 12;
const DAY_MS = 24 * 3_600_000;
/** More entries, or records, are not held at once. */
const MOST_ROWS = 100_000;

/** A player's sessions near the touched times, and all entries around them. */
export interface PlayedSessions {
  readonly sessions: readonly Session[];
  /** in ledger order */
  readonly entries: readonly CallbackEntry[];
}

/**
 * Of each player every session that one of the touched times may belong to.
 * @param touched by player; both ends of a time count
 * @throws ReconError `session-too-long` where a session, or all of them together, cannot be held: nothing is cut off
 */
export async function loadSessions(
  scene: Scene,
  touched: ReadonlyMap<string, readonly Instant[]>,
): Promise<Map<string, PlayedSessions>> {
  const quietMs = scene.context.config.diff.sessionQuiet;
  const whole = new Map<string, PlayedSessions>();
  let marginMs = (quietMs + 1) * FIRST_MARGIN_QUIETS;
  for (let doublings = 0; doublings <= MOST_DOUBLINGS; doublings += 1) {
    const spans = new Map<string, TimeRange>();
    for (const [username, times] of touched)
      if (!whole.has(username)) spans.set(username, spanOf(times, marginMs));
    if (spans.size === 0) return whole;
    const { entries, records } = await loadSpans(scene, spans);
    for (const [username, span] of spans) {
      const own = (entries.get(username) ?? []).sort(inLedgerOrder);
      const sessions = splitSessions(username, own, records.get(username) ?? [], quietMs);
      const { from, to } = spanOf(touched.get(username) ?? [], quietMs);
      const near = sessions.filter((one) => one.lastAt >= from && one.firstAt <= to);
      const isWhole = near.every(
        (one) => one.firstAt - span.from > quietMs && span.to - one.lastAt > quietMs,
      );
      if (isWhole) whole.set(username, { sessions: near, entries: own });
    }
    marginMs *= 2;
  }
  const [endless = ""] = [...touched.keys()].filter((username) => !whole.has(username));
  const days = Math.floor(marginMs / 2 / DAY_MS);
  throw tooLong(scene, `the session of ${endless} has no end in the ${days} days around what was touched`);
}

/** From before the first of some times until after the last. */
function spanOf(times: readonly Instant[], marginMs: number): TimeRange {
  const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const last = times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return { from: first - marginMs, to: last + marginMs };
}

async function loadSpans(scene: Scene, spans: ReadonlyMap<string, TimeRange>) {
  const { tx, product } = scene;
  const [entries, records] = await Promise.all([
    readEntriesWithin(tx, product.productId, spans, MOST_ROWS + 1),
    readRecordsWithin(tx, product.productId, spans, MOST_ROWS + 1),
  ]);
  if (Math.max(entries.length, records.length) > MOST_ROWS) throw tooMany(scene, spans);
  return {
    entries: Map.groupBy<string, CallbackEntry>(entries, ({ username }) => username),
    records: Map.groupBy<string, StoredRecord>(records, ({ username }) => username),
  };
}

function tooMany(scene: Scene, spans: ReadonlyMap<string, TimeRange>): ReconError {
  const [[username, { from, to }] = ["", { from: 0, to: 0 }]] = spans;
  const whose = spans.size === 1 ? `of ${username}` : `of ${username} and ${spans.size - 1} other players`;
  const when = `from ${formatInstant(from)} to ${formatInstant(to)}`;
  return tooLong(scene, `the sessions ${whose} ${when} have more than ${MOST_ROWS} entries or records`);
}

function tooLong({ product: { productId } }: Scene, what: string): ReconError {
  return new ReconError("session-too-long", `${productId}: ${what}; they are not compared`);
}
