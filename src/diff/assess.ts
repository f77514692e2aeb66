/** Turns the records and bets of a player into pairs with their pending differences: matches, compares, and notes what each depends on. */

import { type BetStatus, type LedgerBet, type LedgerStatus, realRound, type StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { MismatchContent } from "../mismatch.ts";
import { formatMoney } from "../money.ts";
import { type AssessSettings, comparePair, type Difference } from "./compare.ts";
import { endFeatureSpins, settleOmittedLosses, settleOmittedLossesOfRound } from "./counted-bets.ts";
import { countNominalStakes, withoutEarlierSteps } from "./counted-records.ts";
import { idRulesOf, matchBets, namesBet, type Pair } from "./match.ts";
import { toContent } from "./mismatch-content.ts";
import { joinPaidElsewhere } from "./paid-elsewhere.ts";
import { type EntryTimes, entryTimesOf, isRunning, type Sums, sumBets, sumRecords } from "./sums.ts";

/** The records that the provider no longer returns, by certainty. */
export interface Absences {
  /** certainly absent: they count as if the provider had never listed them */
  readonly absent: readonly StoredRecord[];
  /** in doubt: their old content opens no mismatch, and ends none */
  readonly doubtful: readonly StoredRecord[];
}

/** A difference of a pair that is not a mismatch yet, with everything that its required conditions depend on. */
export interface PendingDifference {
  readonly content: MismatchContent;
  readonly pair: Pair;
  /**
   * the times of the entries that the provider must know: those of the pair's bets, or of its whole round; null:
   * none
   */
  readonly entryTimes: EntryTimes | null;
  /** another bet of the round must end first */
  readonly waitsForRound: boolean;
  /** another record may still arrive, however fresh our copy is */
  readonly asksAgain: boolean;
  /**
   * the difference exists from this time on, and the provider may list the bet until then; null: it exists already
   */
  readonly existsFrom: Instant | null;
}

/** A pair and the result of its comparison. Pairs that agree are included. */
export interface AssessedPair {
  readonly pair: Pair;
  readonly provider: Sums<BetStatus> | null;
  readonly ledger: Sums<LedgerStatus> | null;
  /** null: the pair agrees, or there is nothing to compare yet; the statement takes such a pair as one that agrees */
  readonly pending: PendingDifference | null;
}

/**
 * Matches and compares the records and bets of one neighbourhood. The order of the input does not matter. Each bet,
 * and each record that no later step of its bet replaces, is in exactly one pair.
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
  const rounds = summarizeRounds(
    listed,
    pairs.flatMap((pair) => pair.bets),
  );
  const compared = pairs.map((pair) => ({ pair, difference: comparePair(pair, settings) }));
  return joinPaidElsewhere(compared, settings).map((one) => {
    const { pair } = one;
    const difference = withNominalStakes(pair, one.difference);
    return {
      pair,
      provider: pair.records.length === 0 ? null : sumRecords(pair.records),
      ledger: pair.bets.length === 0 ? null : sumBets(pair.bets),
      pending: difference && judge(pair, difference, rounds, vanished, settings),
    };
  });
}

/** Whether a pair has a record, or its copy with a stake of 0. A record that a later step replaces is in no pair. */
function hasRecord({ pair }: Pick<AssessedPair, "pair">, record: StoredRecord): boolean {
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
function withNominalStakes({ records }: Pair, difference: Difference | null): Difference | null {
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
): PendingDifference {
  const [bet] = pair.bets;
  const pending = pendingOf(pair, difference, settings);
  if (bet === undefined) return pending;
  if (difference.kind === "stuck-open") {
    return { ...pending, existsFrom: bet.firstEntryAt + settings.stuckOpenAfterMs };
  }
  if (difference.kind !== "missing-at-provider") return pending;
  const once = vanished.find((record) => wasOf(record, bet, settings));
  const named = once === undefined ? pending : asVanished(pair, once, settings);
  return bet.status === "open" ? named : ofRound(named, bet, rounds);
}

/**
 * A pending difference, without regard to the rest of its round. A pair matched by round may always get another
 * record.
 */
export function pendingOf(pair: Pair, difference: Difference, settings: AssessSettings): PendingDifference {
  return {
    pair,
    content: toContent(pair, difference, settings),
    entryTimes: entryTimesOf(pair.bets),
    waitsForRound: false,
    asksAgain: pair.matchedBy === "round" && !pair.agrees,
    existsFrom: null,
  };
}

function wasOf(record: StoredRecord, bet: LedgerBet, settings: AssessSettings): boolean {
  if (namesBet(record, bet.txnId, settings)) return true;
  return (
    settings.matchBy.includes("round") && bet.roundId !== null && realRound(record.roundId) === bet.roundId
  );
}

function asVanished(pair: Pair, record: StoredRecord, settings: AssessSettings): PendingDifference {
  const { stake, payout, currency, betStatus } = record;
  const once = `${betStatus} with a stake of ${formatMoney(stake, currency)} and a payout of ${formatMoney(payout, currency)}`;
  const difference = {
    kind: "vanished-at-provider",
    reason: `the provider had the bet as ${once}, and no longer returns it; the ledger still has it`,
  } as const;
  return pendingOf(pair, difference, settings);
}

/** The times of all entries of each round, and the rounds in which a bet or a record still runs. */
interface Rounds {
  readonly entryTimesOf: ReadonlyMap<string | null, EntryTimes | null>;
  readonly running: ReadonlySet<string | null>;
}

function summarizeRounds(records: readonly StoredRecord[], bets: readonly LedgerBet[]): Rounds {
  const open = bets.filter((bet) => bet.status === "open").map((bet) => bet.roundId);
  const betsOf = Map.groupBy(bets, ({ roundId }) => roundId);
  const listedAsRunning = records.filter(isRunning).map((record) => realRound(record.roundId));
  return {
    entryTimesOf: new Map([...betsOf].map(([roundId, inRound]) => [roundId, entryTimesOf(inRound)])),
    running: new Set([...open, ...listedAsRunning]),
  };
}

/**
 * The provider may list a round as one record when its last bet ends. Until then no record is missing. The
 * provider's grace begins at that end.
 */
function ofRound(pending: PendingDifference, { roundId }: LedgerBet, rounds: Rounds): PendingDifference {
  if (roundId === null) return pending;
  const entryTimes = rounds.entryTimesOf.get(roundId) ?? pending.entryTimes;
  return { ...pending, entryTimes, waitsForRound: rounds.running.has(roundId) };
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

export interface AssessedInDoubt {
  /** as if the provider still listed the records in doubt */
  readonly pairs: readonly AssessedPair[];
  /** differences of these pairs that depend on a record in doubt: they open no mismatch, and end none */
  readonly undecided: ReadonlySet<PendingDifference>;
  /**
   * differences that exist only if those records are absent: until that is decided, they keep their mismatches open
   */
  readonly otherwise: readonly PendingDifference[];
}

/**
 * Compares twice, with and without the records in doubt. Only a difference that exists both times is certain
 * (decision 93, docs/mismatches.md#when-a-mismatch-opens).
 */
export function assessInDoubt(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: AssessSettings,
  { absent, doubtful }: Absences,
): AssessedInDoubt {
  const pairs = assessPairs(records, bets, settings, absent);
  if (doubtful.length === 0) return { pairs, undecided: new Set(), otherwise: [] };
  const listed = pendingOfPairs(pairs);
  const unlisted = pendingOfPairs(assessPairs(records, bets, settings, [...absent, ...doubtful]));
  const unlistedWords = new Set(unlisted.map(wordsOf));
  const identities = new Set(listed.map(identityOf));
  const isUndecided = (pending: PendingDifference) =>
    containsAny(pending, doubtful) || !unlistedWords.has(wordsOf(pending));
  return {
    pairs,
    undecided: new Set(listed.filter(isUndecided)),
    otherwise: unlisted.filter((pending) => !identities.has(identityOf(pending))),
  };
}

/** Whether a pair has one of these records. */
export function containsAny(one: Pick<AssessedPair, "pair">, records: readonly StoredRecord[]): boolean {
  return records.some((record) => hasRecord(one, record));
}

function pendingOfPairs(pairs: readonly AssessedPair[]): PendingDifference[] {
  return pairs.flatMap(({ pending }) => pending ?? []);
}

function identityOf({ content: { kind, subject } }: PendingDifference): string {
  return `${kind} ${subject}`;
}

/** Identifies a difference with its values: a reason names the values of both sides. */
function wordsOf(pending: PendingDifference): string {
  return `${identityOf(pending)} ${pending.content.reason}`;
}
