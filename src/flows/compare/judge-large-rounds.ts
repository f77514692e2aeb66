/** Judges which bets of a large round do not agree by themselves. The next comparison of the round loads them. */

import { type LedgerBet, realRound, type StoredRecord } from "../../bet.ts";
import { subjectOfRequest } from "../../diff/balance.ts";
import { settleOmittedLosses } from "../../diff/counted-bets.ts";
import { subjectOfRecord } from "../../diff/inconsistent.ts";
import type { LargeRound } from "../../diff/large-round-store.ts";
import { namingRulesOf, separateAgreeing } from "../../diff/large-rounds.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import { roundKey } from "../../diff/neighbourhood.ts";
import type { EntryTimes } from "../../diff/sums.ts";
import type { JudgeContext } from "./comparison-context.ts";
import type { NeighbourhoodResult } from "./judge-bets.ts";
import type { Assessment, LoadedBets } from "./load-bets.ts";

/** The large rounds of a neighbourhood, as they are stored. */
export interface KeptRounds {
  /** the rounds, each with its bets that do not agree by themselves */
  readonly rounds: readonly LargeRound[];
  /** the marks of the neighbourhood, to write again if something waits; one stands for all kept bets of a round */
  readonly marks: readonly DiffMark[];
}

/** Judges the large rounds of a neighbourhood. */
export function judgeLargeRounds(
  result: NeighbourhoodResult,
  { large, isComplete }: LoadedBets,
  context: JudgeContext,
): KeptRounds {
  const { assessment } = result;
  const { username, neighbourhood } = assessment;
  const { records, entries, rest } = neighbourhood;
  let marks: readonly DiffMark[] = neighbourhood.marks;
  if (large.isEmpty()) return { rounds: [], marks };
  // If the loaded rows are connected with rows that are not loaded, no bet agrees by itself.
  const isDisturbed = isComplete ? disturbedBy(result) : () => true;
  const rounds: LargeRound[] = [];
  const roundIds = [...records, ...entries, ...marks, ...rest].map(({ roundId }) => realRound(roundId));
  for (const roundId of new Set(roundIds.filter((one) => one !== null))) {
    const round = large.roundOf(roundKey(username, roundId));
    if (round === undefined) continue;
    const isOwn = (mark: DiffMark) => mark.username === username && mark.roundId === roundId;
    const [own, others] = [marks.filter(isOwn), marks.filter((mark) => !isOwn(mark))];
    if (round.currency === null) {
      marks = [...own.slice(0, 1), ...others];
      continue;
    }
    const { kept, marks: again } = separate(
      { ...round, currency: round.currency },
      assessment,
      own,
      isDisturbed,
      context,
    );
    rounds.push(kept);
    marks = [...again, ...others];
  }
  return { rounds, marks };
}

/** @param own the marks of the round */
function separate(
  round: LargeRound & { readonly currency: string },
  { neighbourhood, bets: allBets }: Assessment,
  own: readonly DiffMark[],
  isDisturbed: (one: LedgerBet | StoredRecord) => boolean,
  { settings }: JudgeContext,
): { readonly kept: LargeRound; readonly marks: readonly DiffMark[] } {
  const { username, roundId, currency } = round;
  const records = neighbourhood.records.filter((one) => one.username === username);
  const held = allBets.filter((one) => one.username === username);
  const bets = settleOmittedLosses(records, held, settings);
  const { agreeing, entryTimes, ...found } = separateAgreeing(
    { roundId, currency, records, bets },
    namingRulesOf(settings.matchBy),
    isDisturbed,
  );
  const entries = neighbourhood.entries.filter(
    (entry) => entry.username === username && realRound(entry.roundId) === roundId,
  );
  const ofRound = new Set([
    ...records.filter((one) => realRound(one.roundId) === roundId).map(({ betId }) => betId),
    ...entries.map(({ txnId }) => txnId),
  ]);
  // An adjustBalance is no bet, and agrees with nothing. It is loaded each time, because a statement needs its money.
  const adjusting = entries.filter(({ callback }) => callback === "adjustBalance").map(({ txnId }) => txnId);
  const apart = [...new Set([...found.apart, ...adjusting])];
  const kept = apart.filter((id) => ofRound.has(id));
  const known = new Set([...agreeing, ...apart]);
  const strange = own.filter(({ betRef }) => betRef !== null && !known.has(betRef));
  const [betRef = own.find((mark) => mark.betRef !== null)?.betRef ?? null] = kept;
  return {
    kept: { ...round, apart: kept, entryTimes: joinEntryTimes(round.entryTimes, entryTimes) },
    marks: [{ username, roundId, betRef }, ...strange],
  };
}

/** Whether a difference concerns a record or a bet, or a fetch missed the record. */
function disturbedBy({ assessment, seen }: NeighbourhoodResult): (one: LedgerBet | StoredRecord) => boolean {
  const { neighbourhood, absences } = assessment;
  // A difference of a round says nothing about its single bets.
  const reported = new Set(
    seen.flatMap(({ content, subjects }) =>
      content.subject.startsWith("round:") ? [content.subject] : [content.subject, ...subjects],
    ),
  );
  const requestsOf = Map.groupBy(neighbourhood.entries, ({ txnId }) => txnId);
  const missed = new Set([...absences.absent, ...absences.doubtful]);
  return (one) => {
    if ("betId" in one) {
      const own = [`bet:${one.betId}`, `bet:${one.id}`, subjectOfRecord(one)];
      return own.some((subject) => reported.has(subject)) || missed.has(one);
    }
    const own = [`bet:${one.txnId}`, ...(requestsOf.get(one.txnId) ?? []).map(subjectOfRequest)];
    return own.some((subject) => reported.has(subject));
  };
}

function joinEntryTimes(a: EntryTimes | null, b: EntryTimes | null): EntryTimes | null {
  if (a === null || b === null) return a ?? b;
  return {
    firstEntryAt: Math.min(a.firstEntryAt, b.firstEntryAt),
    lastEntryAt: Math.max(a.lastEntryAt, b.lastEntryAt),
    lastReceivedAt: Math.max(a.lastReceivedAt, b.lastReceivedAt),
  };
}
