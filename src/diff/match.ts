/**
 * Pairs the records of a player with the ledger bets that they report. First come rounds with equal sums, then
 * rounds that were settled BY_ROUND, then the rules of `matchBy` in their order.
 */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { type Amount, sumAmounts } from "../money.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./sums.ts";

export type IdRule = "betId" | "id";
export type MatchRule = IdRule | "round";

/** Records and bets that are compared with each other. At least one side is not empty. */
export interface Pair {
  /** the rule that matched the sides; null: one side is empty */
  readonly matchedBy: MatchRule | null;
  /** the round has ended on both sides with equal sums: only the money that moved is still compared */
  readonly agrees: boolean;
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
}

export interface MatchSettings {
  readonly matchBy: readonly MatchRule[];
  /** how the operator writes a settlement that pays 0: as an entry, or not at all */
  readonly lostBets: "written" | "omitted";
  /** a record counts with a stake of 0 if the ledger has its bet with a stake of 0 */
  readonly nominalStakes: boolean;
  readonly tolerance: Tolerance;
}

/** @returns all pairs, rounds with equal sums included; each record and each bet is in exactly one pair */
export function matchBets(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings,
): Pair[] {
  const isOfTip = namesTip(bets, settings);
  const inRounds = records.filter((record) => !isOfTip(record));
  const agreed = agreedRounds(inRounds, bets);
  const leftRecords = unmatched(records, agreed);
  const leftInRounds = unmatched(inRounds, agreed);
  const leftBets = unmatched(bets, agreed);

  const asWhole = new Set(leftBets.filter((bet) => bet.settledByRound).map((bet) => bet.roundId));
  let pairs = matchRounds(
    leftInRounds,
    leftBets.filter((bet) => asWhole.has(bet.roundId)),
    settings,
  );
  for (const rule of settings.matchBy) {
    if (rule === "round") {
      pairs = withoutWiderRecords(pairs, unmatched(leftBets, pairs), settings);
      pairs = [
        ...pairs,
        ...matchRounds(unmatched(leftInRounds, pairs), unmatched(leftBets, pairs), settings),
      ];
    } else {
      pairs = [...pairs, ...matchIds(unmatched(leftRecords, pairs), unmatched(leftBets, pairs), rule)];
    }
  }
  for (const alone of groupBy(unmatched(leftRecords, pairs), (record) => record.betId).values()) {
    pairs.push({ matchedBy: null, agrees: false, records: alone, bets: [] });
  }
  for (const bet of unmatched(leftBets, pairs)) {
    pairs.push({ matchedBy: null, agrees: false, records: [], bets: [bet] });
  }
  return [...agreed, ...pairs];
}

/** The rules by which an id of a record names a bet, in their order. */
export function idRulesOf(matchBy: readonly MatchRule[]): IdRule[] {
  return matchBy.filter((rule) => rule !== "round");
}

/** Whether a record names a bet by one of the product's rules. */
export function namesBet(record: StoredRecord, txnId: string, { matchBy }: MatchSettings): boolean {
  return idRulesOf(matchBy).some((rule) => record[rule] === txnId);
}

function unmatched<Side extends StoredRecord | LedgerBet>(
  sides: readonly Side[],
  pairs: readonly Pair[],
): Side[] {
  const taken = new Set<unknown>(pairs.flatMap((pair) => [...pair.records, ...pair.bets]));
  return sides.filter((side) => !taken.has(side));
}

/**
 * Removes pairs whose record has another stake than its bet, if other bets of the round have no record. Such a
 * record may report the whole round, so the next rule compares it with all those bets.
 */
function withoutWiderRecords(
  pairs: readonly Pair[],
  left: readonly LedgerBet[],
  settings: MatchSettings,
): Pair[] {
  const rounds = new Set(left.filter((bet) => !bet.tip && bet.status !== "void").map((bet) => bet.roundId));
  return pairs.filter(({ matchedBy, records, bets: [bet] }) => {
    if (matchedBy === "round" || bet === undefined || bet.tip || !rounds.has(bet.roundId)) return true;
    const listed = records.filter((record) => record.betStatus !== "VOID");
    const isInRound = (record: StoredRecord) =>
      bet.roundId !== null && realRound(record.roundId) === bet.roundId && record.currency === bet.currency;
    return listed.length === 0 || !records.every(isInRound) || haveEqualStakes(listed, [bet], settings);
  });
}

function haveEqualStakes(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  { tolerance }: MatchSettings,
): boolean {
  const amounts = Math.max(records.length, bets.length);
  const allowance = allowanceOf(tolerance, bets[0]?.currency ?? "", amounts);
  return differByAtMost(stakeOf(records), stakeOf(bets), allowance);
}

function stakeOf(sides: readonly { readonly stake: Amount }[]): Amount {
  return sumAmounts(sides.map((side) => side.stake));
}

/** @returns whether a record reports a tip; tips count in no round */
function namesTip(bets: readonly LedgerBet[], settings: MatchSettings): (record: StoredRecord) => boolean {
  const tips = new Set(bets.filter((bet) => bet.tip).map((bet) => bet.txnId));
  const rules = idRulesOf(settings.matchBy);
  return (record) => tips.size > 0 && rules.some((rule) => tips.has(record[rule]));
}

/** Rounds that have ended on both sides with equal sums (docs/mismatches.md#how-both-sides-are-compared). */
function agreedRounds(records: readonly StoredRecord[], bets: readonly LedgerBet[]): Pair[] {
  return sidesOfRounds(records, bets)
    .filter(([inRound, others]) => roundAgrees(inRound, others))
    .map(([inRound, others]) => ({ matchedBy: "round", agrees: true, records: inRound, bets: others }));
}

/**
 * The records and the bets of each round that both sides name. Tips are left out. If both sides have the same several
 * currencies, each is a round of its own, because amounts of different currencies are never added.
 */
function sidesOfRounds(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
): [StoredRecord[], LedgerBet[]][] {
  const betsOf = groupBy(
    bets.filter((bet) => !bet.tip),
    (bet) => bet.roundId,
  );
  const rounds: [StoredRecord[], LedgerBet[]][] = [];
  for (const [round, inRound] of groupBy(records, (record) => realRound(record.roundId))) {
    const others = betsOf.get(round);
    if (round !== null && others !== undefined) rounds.push(...byCurrency(inRound, others));
  }
  return rounds;
}

function byCurrency(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
): [StoredRecord[], LedgerBet[]][] {
  const listed = groupBy(records, ({ currency }) => currency);
  const held = groupBy(bets, ({ currency }) => currency);
  const areSame = listed.size === held.size && [...listed.keys()].every((currency) => held.has(currency));
  if (!areSame) return [[[...records], [...bets]]];
  return [...listed].map(([currency, own]) => [own, held.get(currency) ?? []]);
}

function roundAgrees(records: readonly StoredRecord[], bets: readonly LedgerBet[]): boolean {
  if (new Set([...records, ...bets].map((side) => side.currency)).size > 1) return false;
  if (records.some((record) => record.betStatus === "OPEN" || record.betStatus === "UNSETTLED")) return false;
  if (bets.some((bet) => bet.status === "open" || bet.others.length > 0)) return false;
  if (bets.some((bet) => bet.status === "settled" && !bet.placed && !bet.rewardOnly)) return false;
  const listed = records.filter((record) => record.betStatus !== "VOID");
  const held = bets.filter((bet) => bet.status !== "void");
  if ((listed.length === 0) !== (held.length === 0)) return false;
  // To the last digit: a tolerance of the whole round could hide a small bet that one side lacks.
  return (
    stakeOf(listed).eq(stakeOf(held)) &&
    sumAmounts(listed.map((record) => record.payout)).eq(sumAmounts(held.map((bet) => bet.payout)))
  );
}

function matchIds(records: readonly StoredRecord[], bets: readonly LedgerBet[], rule: IdRule): Pair[] {
  const byId = groupBy(records, (record) => record[rule]);
  return bets.flatMap((bet) => {
    const found = byId.get(bet.txnId);
    return found === undefined ? [] : [{ matchedBy: rule, agrees: false, records: found, bets: [bet] }];
  });
}

/** Pairs the unmatched records and bets of each round: only their sums can be compared. */
function matchRounds(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings,
): Pair[] {
  return sidesOfRounds(records, bets)
    .filter(([left, others]) => belongTogether(left, others, settings))
    .map(([left, others]) => ({ matchedBy: "round", agrees: false, records: left, bets: others }));
}

/**
 * Void agrees with absent, inside rounds too. If one side is all void and ids did not match it with the other side,
 * the two belong together only if their stakes are equal. Otherwise a refused bet beside an open one would be a
 * `round-differs`.
 */
function belongTogether(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings,
): boolean {
  const { matchBy } = settings;
  const recordsAreVoid = records.every((record) => record.betStatus === "VOID");
  const betsAreVoid = bets.every((bet) => bet.status === "void");
  if (recordsAreVoid === betsAreVoid || matchBy.every((rule) => rule === "round")) return true;
  const listed = recordsAreVoid ? records : records.filter((record) => record.betStatus !== "VOID");
  const held = betsAreVoid ? bets : bets.filter((bet) => bet.status !== "void");
  return haveEqualStakes(listed, held, settings);
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  return Map.groupBy(items, keyOf);
}
