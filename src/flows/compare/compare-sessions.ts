/** One comparison of the sessions of a product whose money moves only by adjustBalance. */

import { readTouchedTimes } from "../../diff/session-store.ts";
import type { DiffMark } from "../../diff/store.ts";
import type { ComparisonContext, ComparisonResult } from "./comparison-context.ts";
import { decideAbsences } from "./decide-absences.ts";
import { comparePlayer, judgePlayer } from "./judge-sessions.ts";
import { loadSessions } from "./load-sessions.ts";
import { loadPasses } from "./load-what-decides.ts";
import { writeJudgements } from "./write-judgements.ts";

/** Records dated later than this after now belong to no session. */
const AHEAD_MS = 24 * 3_600_000;

export async function compareMarkedSessions(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<ComparisonResult> {
  const { tx, product, now, graces } = comparison;
  const references = marks.map(({ username, betRef, roundId }) => ({
    username,
    ref: betRef ?? roundId ?? "",
  }));
  const within = { from: graces.earliestFetch, to: now + AHEAD_MS };
  const touched = await readTouchedTimes(tx, product.productId, references, within);
  const played = await loadSessions(comparison, touched, decideAbsences);

  const players = [...played].map(([username, own]) =>
    comparePlayer(comparison, username, own, touched.get(username) ?? []),
  );
  const candidates = players.flatMap((player) => player.candidates);
  const passes = await loadPasses(
    comparison,
    candidates.flatMap(({ conditions }) => conditions.eitherFetched),
  );
  const marksOf = Map.groupBy(marks, ({ username }) => username);
  const judged = players.map((player) =>
    judgePlayer(player, passes, marksOf.get(player.username) ?? [], comparison),
  );

  const wantsFetch = await writeJudgements(comparison, judged);
  return { compared: touched.size, wantsFetch, stale: new Set() };
}
