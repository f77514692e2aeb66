/** Random rounds: most of them agree, the others are odd in every way in which the two sides can be odd. */

import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { createRandom, type Random } from "../../../src/sandbox/world/random.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, NOON } from "../../support/examples.ts";

/** What both sides say of one round, or of a few connected rounds. */
export interface Played {
  readonly entries: CallbackEntry[];
  readonly records: BetRecord[];
}

interface RoundPlace {
  readonly username: string;
  readonly roundId: string;
  readonly random: Random;
  /** a round or an id of the round before, which connects separate rounds */
  readonly neighbour: string;
}

const PLAYERS = ["anna", "bob", "cleo", "dan"] as const;

export function playRounds(seed: number, count: number): Played[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, index) => {
    const place: RoundPlace = {
      username: random.pick(PLAYERS),
      roundId: `r${index}`,
      random,
      neighbour: `r${index - 1}`,
    };
    const played = playRound(place, random.between(1, 3));
    if (random.below(10) < 6) return played;
    return random.pick(ODDITIES)(played, place);
  });
}

/** Bets that were placed, settled and listed with equal values. */
function playRound({ username, roundId, random }: RoundPlace, bets: number): Played {
  const each = Array.from({ length: bets }, (_, index) => {
    const txnId = `${roundId}-${index}`;
    const stake = amount(`${random.between(0, 5)}.50`);
    const payout = amount(random.oneIn(2) ? "0" : `${random.between(1, 9)}`);
    const of = { username, roundId, txnId };
    const placed = exampleEntry({ ...of, requestId: `${txnId}-place`, betAmount: stake });
    const settled = exampleSettle({ ...of, requestId: `${txnId}-settle`, payoutAmount: payout });
    const record = exampleRecord({
      username,
      roundId,
      betId: txnId,
      id: random.oneIn(2) ? txnId : `rec-${txnId}`,
      stake,
      payout,
      payoutStatus: "UNKNOWN",
    });
    return { entries: [withBalances(placed, random), withBalances(settled, random)], record };
  });
  return { entries: each.flatMap(({ entries }) => entries), records: each.map(({ record }) => record) };
}

/**
 * The same rounds for an operator that omits most lost settlements, and whose amounts are off by a cent and a little more at
 * most.
 */
export function keepOtherwise({ entries, records }: Played, round: number): Played {
  const isOmitted = ({ callback, payoutAmount, txnId }: CallbackEntry) =>
    callback === "settleBets" && payoutAmount?.eq("0") && !txnId.endsWith("2");
  const off = amount(["0", "0.004", "0.01", "0.011"][round % 4] ?? "0");
  return {
    entries: entries.filter((entry) => !isOmitted(entry)),
    records: records.map((one, index) => (index === 0 ? { ...one, stake: one.stake.plus(off) } : one)),
  };
}

function withBalances(entry: CallbackEntry, random: Random): CallbackEntry {
  if (random.oneIn(3)) return entry;
  const moved = entry.callback === "placeBets" ? entry.betAmount?.neg() : entry.payoutAmount;
  const balanceBefore = amount("100");
  return { ...entry, moved: moved ?? null, balanceBefore, balanceAfter: balanceBefore.plus(moved ?? "0") };
}

type RoundOddity = (played: Played, place: RoundPlace) => Played;

/** Changes the entry, or the record, at a random place. */
const entryWith =
  (change: (entry: CallbackEntry, place: RoundPlace) => Partial<CallbackEntry>): RoundOddity =>
  ({ entries, records }, place) => {
    const at = place.random.below(entries.length);
    const changed = entries.map((entry, index) =>
      index === at ? { ...entry, ...change(entry, place) } : entry,
    );
    return { entries: changed, records };
  };
const recordWith =
  (change: (record: BetRecord, place: RoundPlace) => Partial<BetRecord>): RoundOddity =>
  ({ entries, records }, place) => {
    const at = place.random.below(records.length);
    return {
      entries,
      records: records.map((one, index) => (index === at ? { ...one, ...change(one, place) } : one)),
    };
  };
/** Adds an entry like the first, or the last, of the round, with some fields changed. */
const another =
  (change: (entry: CallbackEntry, place: RoundPlace) => Partial<CallbackEntry>): RoundOddity =>
  ({ entries, records }, place) => {
    const like = entries.at(place.random.oneIn(2) ? 0 : -1);
    if (like === undefined) return { entries, records };
    const added = { ...like, entryId: `${like.entryId}-again`, requestId: `${like.requestId}-again` };
    return { entries: [...entries, { ...added, ...change(like, place) }], records };
  };
const later = { occurredAt: NOON - 60_000, receivedAt: NOON - 60_000 };
const known = { moved: null, balanceBefore: null, balanceAfter: null };

const ODDITIES: readonly [RoundOddity, ...RoundOddity[]] = [
  entryWith(() => ({ betAmount: amount("3"), payoutAmount: amount("3"), ...known })),
  entryWith(() => ({ moved: amount("1") })),
  entryWith(() => ({ skipBalanceUpdate: true })),
  entryWith(() => ({ currency: "USD" })),
  entryWith(() => ({ balanceBefore: amount("1"), balanceAfter: amount("9"), moved: amount("2") })),
  entryWith(() => ({ transactionType: "BY_ROUND" })),
  entryWith(() => ({ transactionType: "BY_BET" })),
  entryWith((_, { random }) => ({ singleState: random.oneIn(2) })),
  entryWith((_, { random }) => ({ singleState: random.oneIn(2), occurredAt: NOON - 7 * 60_000 })),
  entryWith(() => ({ status: "WAITING" })),
  entryWith((_, { neighbour }) => ({ roundId: neighbour })),
  entryWith(() => ({ roundId: null })),
  entryWith((_, { neighbour }) => ({ txnId: `${neighbour}-0` })),
  entryWith(() => ({ username: "eve" })),
  entryWith(() => ({
    requestId: "shared",
    balanceBefore: amount("5"),
    balanceAfter: amount("4"),
    moved: amount("-1"),
  })),
  entryWith(() => ({ occurredAt: NOON - 7 * 60_000 })),
  another(() => ({
    ...later,
    callback: "rollback",
    status: "ROLLBACK",
    ...known,
    payoutAmount: amount("1"),
  })),
  another(() => ({ ...later, callback: "cancelBets", status: "REFUND", ...known })),
  another(() => ({ ...later, callback: "voidSettled", status: "REFUND", ...known })),
  another(() => ({ ...later, callback: "winRewards", ...known, payoutAmount: amount("2") })),
  another(() => ({ ...later, callback: "adjustBets", status: "OPEN", ...known, betAmount: amount("4") })),
  another((entry) => ({
    ...later,
    callback: "placeTips",
    status: "TIPS",
    ...known,
    txnId: `tip-${entry.txnId}`,
  })),
  another((entry, { neighbour }) => ({
    ...later,
    callback: "placeTips",
    txnId: `rec-${entry.txnId}`,
    roundId: neighbour,
  })),
  another((entry) => ({ requestId: entry.requestId })),
  another(() => ({ ...later, ...known, moved: amount("0") })),
  another(() => later),
  another((_, { neighbour }) => ({ ...later, roundId: neighbour, ...known })),
  another((entry) => ({ ...later, txnId: `rec-${entry.txnId}`, ...known })),
  recordWith(() => ({ stake: amount("7") })),
  recordWith(() => ({ payout: amount("7") })),
  recordWith(() => ({ betStatus: "OPEN" })),
  recordWith(() => ({ betStatus: "VOID" })),
  recordWith(() => ({ currency: "USD" })),
  recordWith(() => ({ payoutStatus: "WIN", payout: amount("0") })),
  recordWith(() => ({ payoutStatus: "LOSE", payout: amount("99") })),
  recordWith((_, { neighbour }) => ({ roundId: neighbour })),
  recordWith(() => ({ roundId: "UNKNOWN" })),
  recordWith((_, { neighbour }) => ({ betId: `${neighbour}-0` })),
  recordWith((_, { neighbour }) => ({ id: `${neighbour}-0` })),
  recordWith((_, { neighbour }) => ({ id: `rec-${neighbour}-0` })),
  recordWith(() => ({ username: "eve" })),
  ({ entries, records }) => ({ entries, records: records.slice(1) }),
  ({ entries, records }) => ({ entries: entries.slice(1), records }),
  ({ entries, records }) => ({ entries: entries.slice(0, -1), records }),
  ({ records }) => ({ entries: [], records }),
  ({ entries, records }) => ({
    entries,
    records: [...records, ...records.map((one) => ({ ...one, id: `${one.id}-b` }))],
  }),
  ({ entries, records }) => ({
    entries,
    records: [...records, ...records.map((one) => ({ ...one, betId: `${one.betId}-b` }))],
  }),
  ({ entries, records }, { username }) => ({
    entries,
    records: [
      ...records,
      ...records.map((one) => ({ ...one, username: username === "anna" ? "bob" : "anna" })),
    ],
  }),
];

/** What arrives in one of several waves. One round in five arrives in parts, some of them in other waves. */
export function waveOf(played: readonly Played[], wave: number, waves: number): Played {
  const isNow = (round: number, index: number) =>
    (round % 5 === 0 ? (index + round) % 3 : round) % waves === wave;
  return {
    entries: played.flatMap(({ entries }, round) => entries.filter((_, index) => isNow(round, index))),
    records: played.flatMap(({ records }, round) => records.filter((_, index) => isNow(round, index + 1))),
  };
}
