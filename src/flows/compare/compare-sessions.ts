/** One comparison of the sessions of a product whose money moves only by adjustBalance. */

import type { Instant } from "../../clock.ts";
import type { Reference } from "../../diff/link-store.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import {
  findAdjusted,
  findBetIds,
  findRoundsOfBets,
  readDifferingSessions,
  readTouchedTimes,
} from "../../diff/session-store.ts";
import { LONGEST_JOINED_QUIETS } from "../../diff/split-sessions.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";
import { decideAbsences } from "./decide-absences.ts";
import { comparePlayer, judgePlayer } from "./judge-sessions.ts";
import { loadPasses } from "./load-confirmation-facts.ts";
import { loadSessions } from "./load-sessions.ts";
import { writeResults } from "./write-results.ts";

/** Records dated further than this in the future belong to no session. */
const AHEAD_MS = 24 * 3_600_000;

/** Loads the sessions that the marks touch, judges them, and writes the results. */
export async function compareMarkedSessions(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<ComparisonResult> {
  const { tx, product, now, graces } = comparison;
  const references = await referencesOf(comparison, marks);
  const within = { from: graces.earliestFetch, to: now + AHEAD_MS };
  const touched = await readTouchedTimes(tx, product.productId, references, within);
  await touchJoined(comparison, touched);
  const played = await loadSessions(comparison, touched, decideAbsences);

  const players = [...played].map(([username, own]) =>
    comparePlayer(comparison, username, own, touched.get(username) ?? []),
  );
  const checks = players.flatMap((player) => player.checks);
  const passes = await loadPasses(
    comparison,
    checks.flatMap(({ conditions }) => conditions.eitherFetched),
  );
  const marksOf = Map.groupBy(marks, ({ username }) => username);
  const judged = players.map((player) =>
    judgePlayer(player, passes, marksOf.get(player.username) ?? [], comparison),
  );

  const wantsFetch = await writeResults(comparison, judged);
  return { compared: touched.size, wantsFetch, stale: new Set() };
}

/**
 * A record that closes nothing makes the mismatch of an earlier session larger. When its own entries arrive, that
 * session is no longer near what they touch, and is compared all the same.
 */
async function touchJoined(
  { tx, product: { productId }, context }: ComparisonContext,
  touched: Map<string, Instant[]>,
): Promise<void> {
  const reachMs = LONGEST_JOINED_QUIETS * context.config.diff.sessionQuiet;
  for (const { username, at } of await readDifferingSessions(tx, productId, [...touched.keys()])) {
    const times = touched.get(username) ?? [];
    if (times.some((time) => Math.abs(time - at) <= reachMs)) times.push(at);
  }
}

/**
 * The bets that the marks name. In a product with bets and sessions, the bets of a player touch sessions only while
 * the player has an open mismatch about one: a late placement may take its record out of the session, and without
 * this rule each slot bet would load the sessions of its player. An adjustBalance entry always touches its session,
 * although its refId may be the id of a bet: an operator debited one stake by placeBets and by adjustBalance.
 */
async function referencesOf(
  { tx, product: { productId, settlement } }: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<Reference[]> {
  const named = marks.map(({ username, betRef, roundId }) => ({ username, ref: betRef ?? roundId ?? "" }));
  if (settlement !== "mixed") return named;
  const inRounds = marks.flatMap(({ username, roundId }) =>
    roundId === null ? [] : [{ username, ref: roundId }],
  );
  const [ids, played, adjusted, open] = await Promise.all([
    findBetIds(tx, productId, named),
    findRoundsOfBets(tx, productId, inRounds),
    findAdjusted(tx, productId, named),
    readDifferingSessions(tx, productId, [...new Set(marks.map(({ username }) => username))]),
  ]);
  const players = new Set(open.map(({ username }) => username));
  const keyOf = (username: string, ref: string | null) => JSON.stringify([username, ref]);
  const setOf = (found: readonly Reference[]) =>
    new Set(found.map(({ username, ref }) => keyOf(username, ref)));
  const [bets, rounds, sessions] = [setOf(ids), setOf(played), setOf(adjusted)];
  // Ids are compared with ids, and rounds with rounds: a reward may have the number of a round as its id.
  const isOfBet = ({ username, betRef, roundId }: DiffMark) =>
    !sessions.has(keyOf(username, betRef)) &&
    (bets.has(keyOf(username, betRef)) || rounds.has(keyOf(username, roundId)));
  return named.filter((_, index) => {
    const mark = marks[index];
    return mark !== undefined && (players.has(mark.username) || !isOfBet(mark));
  });
}
