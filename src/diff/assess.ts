/**
 * Turns a player's records and bets into pairs with their verdicts: matches, compares, and says what a verdict
 * depends on.
 */

import { type BetStatus, type LedgerBet, type LedgerStatus, realRound, type StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Finding } from "../mismatch.ts";
import { formatMoney } from "../money.ts";
import { type AssessSettings, comparePair, type Difference } from "./compare.ts";
import { endFeatureSpins } from "./feature-spins.ts";
import { toFinding } from "./finding.ts";
import { settleOmittedLosses, settleOmittedLossesOfRound } from "./lost-bets.ts";
import { idRulesOf, matchBets, namesBet, type Pair } from "./match.ts";
import { countNominalStakes } from "./nominal-stakes.ts";
import { joinPaidElsewhere } from "./paid-elsewhere.ts";
import { withoutEarlierSteps } from "./steps.ts";
import { type EntryTimes, entryTimesOf, isRunning, type Sums, sumBets, sumRecords } from "./sums.ts";

/** A finding with what its graces depend on. */
export interface Verdict {
  readonly finding: Finding;
  readonly pair: Pair;
  /**
   * the times of the entries that the provider must know: those of the pair's bets, or of its whole round; null: none
   */
  readonly entryTimes: EntryTimes | null;
  /** another bet of the round must end first */
  readonly waitsForRound: boolean;
  /** another record may still arrive, however fresh our copy is */
  readonly asksAgain: boolean;
  /** the verdict holds from this time on, and the provider may list the bet until then; null: it always holds */
  readonly holdsFrom: Instant | null;
}

/** A pair and the result of its comparison; pairs that agree are included. */
export interface AssessedPair {
  readonly pair: Pair;
  readonly provider: Sums<BetStatus> | null;
  readonly ledger: Sums<LedgerStatus> | null;
  /** null: the pair agrees, or there is nothing to compare yet */
  readonly verdict: Verdict | null;
}

/**
 * Matches and compares the records and bets of one neighbourhood. The order of the input does not matter. Each bet, and
 * each record that no later step of its bet replaces, is in exactly one pair.
 * @param vanished records that the provider no longer returns; they count as absent
 */
export function assessPairs(
  records: readonly StoredRecord[],
  held: readonly LedgerBet[],
  settings: AssessSettings,
  vanished: readonly StoredRecord[] = [],
): AssessedPair[] {
  const gone = new Set(vanished);
  const present = records.filter((record) => !gone.has(record)).sort(byKey);
  const steps = withoutEarlierSteps(present, held);
  const nominal = countNominalStakes(steps, held, settings);
  // A provider may list a nominal stake in some of the steps.
  const listed = nominal === steps ? steps : withoutEarlierSteps(nominal, held);
  // A record that the provider has dropped still says that the bet had ended.
  const lost = settleOmittedLosses(withoutEarlierSteps(records, held), held, settings);
  const bets = endFeatureSpins(listed, lost, idRulesOf(settings.matchBy));
  const pairs = matchBets(listed, bets, settings)
    .map((pair) => settleOmittedLossesOfRound(pair, settings))
    .flatMap((pair) => withoutOpenPart(pair, settings));
  const rounds = seeRounds(
    listed,
    pairs.flatMap((pair) => pair.bets),
  );
  const compared = pairs.map((pair) => ({ pair, difference: comparePair(pair, settings) }));
  return joinPaidElsewhere(compared, settings).map((one) => {
    const { pair } = one;
    const difference = sayNominal(pair, one.difference);
    return {
      pair,
      provider: pair.records.length === 0 ? null : sumRecords(pair.records),
      ledger: pair.bets.length === 0 ? null : sumBets(pair.bets),
      verdict: difference && judge(pair, difference, rounds, vanished, settings),
    };
  });
}

/** Whether a pair has a record, or its copy with a stake of 0. A record that a later step replaces is in no pair. */
export function hasRecord({ pair }: Pick<AssessedPair, "pair">, record: StoredRecord): boolean {
  const { username, betId, id } = record;
  return pair.records.some((one) => one.id === id && one.betId === betId && one.username === username);
}

/** The txn id of the ledger bet that a record reports; null: there is no such bet, or several could be meant. */
export function transactionOf(
  record: StoredRecord,
  pairs: readonly AssessedPair[],
  settings: AssessSettings,
): string | null {
  const bets = pairs.find((one) => hasRecord(one, record))?.pair.bets ?? [];
  const named = bets.find((bet) => namesBet(record, bet.txnId, settings));
  return (named ?? (bets.length === 1 ? bets[0] : undefined))?.txnId ?? null;
}

/** The provider's side then has another stake than its record, so the reason says why. */
function sayNominal({ records }: Pair, difference: Difference | null): Difference | null {
  const nominal = records.flatMap(({ listedStake, currency }) =>
    listedStake === undefined ? [] : [formatMoney(listedStake, currency)],
  );
  if (difference === null || nominal.length === 0) return difference;
  const stakes = `${nominal.slice(0, MOST_NAMED).join(", ")}${nominal.length > MOST_NAMED ? " and others" : ""}`;
  return {
    ...difference,
    reason: `${difference.reason}; the provider lists a nominal stake of ${stakes}, which counts as 0`,
  };
}

const MOST_NAMED = 3;

function judge(
  pair: Pair,
  difference: Difference,
  rounds: Rounds,
  vanished: readonly StoredRecord[],
  settings: AssessSettings,
): Verdict {
  const [bet] = pair.bets;
  const verdict = verdictOf(pair, difference, settings);
  if (bet === undefined) return verdict;
  if (difference.kind === "stuck-open") {
    return { ...verdict, holdsFrom: bet.firstEntryAt + settings.stuckOpenAfterMs };
  }
  if (difference.kind !== "missing-at-provider") return verdict;
  const once = vanished.find((record) => wasOf(record, bet, settings));
  const named = once === undefined ? verdict : vanishedVerdict(pair, once, settings);
  return bet.status === "open" ? named : ofRound(named, bet, rounds);
}

/**
 * The verdict of a difference without regard to the rest of its round. A pair matched by round may always get another
 * record.
 */
export function verdictOf(pair: Pair, difference: Difference, settings: AssessSettings): Verdict {
  return {
    pair,
    finding: toFinding(pair, difference, settings),
    entryTimes: entryTimesOf(pair.bets),
    waitsForRound: false,
    asksAgain: pair.matchedBy === "round" && !pair.agrees,
    holdsFrom: null,
  };
}

function wasOf(record: StoredRecord, bet: LedgerBet, settings: AssessSettings): boolean {
  if (namesBet(record, bet.txnId, settings)) return true;
  return (
    settings.matchBy.includes("round") && bet.roundId !== null && realRound(record.roundId) === bet.roundId
  );
}

function vanishedVerdict(pair: Pair, record: StoredRecord, settings: AssessSettings): Verdict {
  const { stake, payout, currency, betStatus } = record;
  const once = `${betStatus} with a stake of ${formatMoney(stake, currency)} and a payout of ${formatMoney(payout, currency)}`;
  const difference = {
    kind: "vanished-at-provider",
    reason: `the provider had the bet as ${once}, and no longer returns it; the ledger still has it`,
  } as const;
  return verdictOf(pair, difference, settings);
}

/** The times of all entries of each round, and the rounds in which a bet or a record still runs. */
interface Rounds {
  readonly entryTimesOf: ReadonlyMap<string | null, EntryTimes | null>;
  readonly running: ReadonlySet<string | null>;
}

function seeRounds(records: readonly StoredRecord[], bets: readonly LedgerBet[]): Rounds {
  const open = bets.filter((bet) => bet.status === "open").map((bet) => bet.roundId);
  const betsOf = Map.groupBy(bets, ({ roundId }) => roundId);
  const listedAsRunning = records.filter(isRunning).map((record) => realRound(record.roundId));
  return {
    entryTimesOf: new Map([...betsOf].map(([roundId, inRound]) => [roundId, entryTimesOf(inRound)])),
    running: new Set([...open, ...listedAsRunning]),
  };
}

/**
 * The provider may list a round as one record when the last bet ends. Until then no record is missing. The provider's
 * grace begins at that end.
 */
function ofRound(verdict: Verdict, { roundId }: LedgerBet, rounds: Rounds): Verdict {
  if (roundId === null) return verdict;
  const entryTimes = rounds.entryTimesOf.get(roundId) ?? verdict.entryTimes;
  return { ...verdict, entryTimes, waitsForRound: rounds.running.has(roundId) };
}

/** The provider need not list open bets, so its records of the round may be those of the ended bets alone. */
function withoutOpenPart(pair: Pair, settings: AssessSettings): Pair[] {
  if (pair.matchedBy !== "round" || pair.agrees) return [pair];
  const { open = [], ended = [] } = Object.groupBy(pair.bets, ({ status }) =>
    status === "open" ? "open" : "ended",
  );
  if (open.length === 0 || ended.length === 0) return [pair];
  const endedPart = { ...pair, bets: ended };
  if (comparePair(pair, settings) === null || isDeclaredOtherwise(endedPart, settings)) return [pair];
  return [
    endedPart,
    ...open.map((bet): Pair => ({ matchedBy: null, agrees: false, records: [], bets: [bet] })),
  ];
}

function isDeclaredOtherwise(pair: Pair, settings: AssessSettings): boolean {
  const difference = comparePair(pair, settings);
  return difference !== null && difference.kind !== "net-differs";
}

function byKey(a: StoredRecord, b: StoredRecord): number {
  return compareText(a.betId, b.betId) || compareText(a.id, b.id);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
