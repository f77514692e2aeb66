/** Pairs a player's records with the ledger bets they report: rounds first, then bets, then what is left of rounds. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import { sumAmounts } from "../money.ts";

export type MatchRule = "betId" | "id" | "round";

/** What is compared with what: at least one side has something. */
export interface Pair {
  /** how the sides found each other; null: one side stands alone */
  readonly matchedBy: MatchRule | null;
  readonly records: readonly StoredRecord[];
  readonly bets: readonly LedgerBet[];
}

export interface MatchSettings {
  readonly matchBy: readonly MatchRule[];
  readonly singleState: boolean;
}

/** The pairs that need comparing; rounds whose sums agree are done and not among them. */
export function matchBets(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings,
): Pair[] {
  const agreed = agreedRounds(records, bets, settings);
  let openRecords = records.filter((record) => !agreed.has(realRound(record.roundId)));
  let openBets = bets.filter((bet) => !agreed.has(bet.roundId));
  const pairs: Pair[] = [];

  for (const rule of settings.matchBy) {
    const matched = rule === "round" ? matchRounds(openRecords, openBets) : matchIds(openRecords, openBets, rule);
    pairs.push(...matched);
    const taken = new Set<unknown>(matched.flatMap((pair) => [...pair.records, ...pair.bets]));
    openRecords = openRecords.filter((record) => !taken.has(record));
    openBets = openBets.filter((bet) => !taken.has(bet));
  }
  for (const alone of groupBy(openRecords, (record) => record.betId).values()) {
    pairs.push({ matchedBy: null, records: alone, bets: [] });
  }
  for (const bet of openBets) pairs.push({ matchedBy: null, records: [], bets: [bet] });
  return pairs;
}

/** Rounds that have ended on both sides with equal sums (§4.3: rounds first). */
function agreedRounds(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings,
): Set<string | null> {
  const betsOf = groupBy(
    bets.filter((bet) => !bet.tip),
    (bet) => bet.roundId,
  );
  const agreed = new Set<string | null>();
  for (const [round, inRound] of groupBy(records, (record) => realRound(record.roundId))) {
    const others = betsOf.get(round);
    if (round !== null && others !== undefined && roundAgrees(inRound, others, settings)) agreed.add(round);
  }
  return agreed;
}

function roundAgrees(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings,
): boolean {
  if (new Set([...records, ...bets].map((side) => side.currency)).size > 1) return false;
  if (records.some((record) => record.betStatus === "OPEN" || record.betStatus === "UNSETTLED")) return false;
  if (bets.some((bet) => bet.status === "open")) return false;
  if (!settings.singleState && bets.some((bet) => bet.status === "settled" && !bet.placed && !bet.rewardOnly)) return false;
  const listed = records.filter((record) => record.betStatus !== "VOID");
  const held = bets.filter((bet) => bet.status !== "void");
  if ((listed.length === 0) !== (held.length === 0)) return false;
  return (
    sumAmounts(listed.map((record) => record.stake)).eq(sumAmounts(held.map((bet) => bet.stake))) &&
    sumAmounts(listed.map((record) => record.payout)).eq(sumAmounts(held.map((bet) => bet.payout)))
  );
}

function matchIds(records: readonly StoredRecord[], bets: readonly LedgerBet[], rule: "betId" | "id"): Pair[] {
  const byId = groupBy(records, (record) => record[rule]);
  return bets.flatMap((bet) => {
    const found = byId.get(bet.txnId);
    return found === undefined ? [] : [{ matchedBy: rule, records: found, bets: [bet] }];
  });
}

/** Where something is left on both sides of a round, it can only be compared together. */
function matchRounds(records: readonly StoredRecord[], bets: readonly LedgerBet[]): Pair[] {
  const betsOf = groupBy(
    bets.filter((bet) => !bet.tip),
    (bet) => bet.roundId,
  );
  const pairs: Pair[] = [];
  for (const [round, left] of groupBy(records, (record) => realRound(record.roundId))) {
    const others = betsOf.get(round);
    if (round !== null && others !== undefined) pairs.push({ matchedBy: "round", records: left, bets: others });
  }
  return pairs;
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  return Map.groupBy(items, keyOf);
}
