/** Adds the sessions of a day to its statement, each with what explains its difference. */

import type { Instant } from "../../clock.ts";
import { readActivity, readWaiting } from "../../diff/activity-store.ts";
import { readTouchedTimes } from "../../diff/session-store.ts";
import {
  allowanceOfSession,
  compareSession,
  type PlayerSession,
  subjectsOfSession,
  sumSession,
} from "../../diff/sessions.ts";
import { type ExplainingRow, readExplaining } from "../../mismatches/explaining-store.ts";
import { type Contribution, explainDifference } from "../../report.ts";
import type { TimeRange } from "../../window.ts";
import type { ComparisonContext } from "../compare/comparison-context.ts";
import { readAbsences } from "../compare/decide-absences.ts";
import { loadSessions } from "../compare/load-sessions.ts";

/** Adds every session that ends on the day. A running session is pending. */
export async function* reportSessions(
  comparison: ComparisonContext,
  day: TimeRange,
): AsyncGenerator<Contribution> {
  const { tx, product } = comparison;
  for await (const active of readActivity(tx, product.productId, day, "adjustBalance")) {
    const references = active.map(({ username, betRef }) => ({ username, ref: betRef ?? "" }));
    const touched = await readTouchedTimes(tx, product.productId, references, day);
    const usernames = [...touched.keys()];
    const standing = await readExplaining(tx, product.productId, usernames);
    const waiting = await readWaiting(tx, product.productId, usernames);
    for (const [username, times] of touched) {
      const own = standing.filter((row) => row.username === username);
      const isMarked = waiting.some((mark) => mark.username === username);
      yield* reportPlayer(comparison, day, { username, times, own, isMarked });
    }
  }
}

interface ReportedPlayer {
  readonly username: string;
  readonly times: readonly Instant[];
  readonly own: readonly ExplainingRow[];
  readonly isMarked: boolean;
}

async function* reportPlayer(
  comparison: ComparisonContext,
  day: TimeRange,
  player: ReportedPlayer,
): AsyncGenerator<Contribution> {
  const played = await loadSessions(comparison, new Map([[player.username, player.times]]), readAbsences);
  const { settings, now, context } = comparison;
  for (const session of played.get(player.username)?.sessions ?? []) {
    if (session.lastAt < day.from || session.lastAt >= day.to) continue;
    if (session.firstAt < settings.ledgerStart) continue;
    const { provider, ledger } = sumSession(session);
    const finding = compareSession(session, settings);
    const isOver = now > session.lastAt + context.config.diff.sessionQuiet;
    const difference = provider.net.minus(ledger.net);
    const mismatch = findStanding(session, player.own, finding !== null);
    yield {
      currency: session.currency,
      provider,
      ledger,
      ...explainDifference(difference, mismatch, player.isMarked || !isOver, {
        allowance: allowanceOfSession(session, settings),
        agrees: finding === null,
      }),
    };
  }
}

function findStanding(
  session: PlayerSession,
  rows: readonly ExplainingRow[],
  differs: boolean,
): ExplainingRow | null {
  const subjects = new Set(subjectsOfSession(session));
  const about = rows.filter((row) => subjects.has(row.subject));
  return about.find((row) => (differs && row.stands) || row.adjustments !== null) ?? null;
}
