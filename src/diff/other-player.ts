/**
 * Finds bets under two names: the provider lists the bet under another player than the callbacks, or some of them,
 * named.
 */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import { ZERO } from "../money.ts";
import { type AssessedPair, type PendingDifference, pendingOf } from "./assess.ts";
import { type AssessSettings, comparePair, isBeforeLedger } from "./compare.ts";
import { type MatchRule, namesBet, type Pair } from "./match.ts";
import { toContent } from "./mismatch-content.ts";
import { amountAtRisk, effectOfPair } from "./money-moved.ts";
import { entryTimesOf, movedBy } from "./sums.ts";

/** The assessed pairs of one neighbourhood, with the entries that its bets were folded from. */
export interface AssessedPlayer {
  readonly username: string;
  readonly pairs: readonly AssessedPair[];
  readonly neighbourhood: { readonly entries: readonly CallbackEntry[] };
}

/** Folds the entries of one player into bets. */
type Fold = (entries: readonly CallbackEntry[]) => readonly LedgerBet[];

/** A bet, and the record that the provider lists under another name. */
export interface MisnamedBet {
  readonly pending: PendingDifference;
  /** the pair of the player whose ledger has the bet, or the part of it that has no record */
  readonly ledger: AssessedPair;
  /** the pair of the other player, who has the record, and the rest of the bet if the ledger has both names */
  readonly provider: AssessedPair;
}

/**
 * Finds bets under two names. If a bet is split by case, its part without a record has its record there, so it
 * explains no record of a third player.
 */
export function findUnderTwoNames(
  assessed: readonly AssessedPlayer[],
  settings: AssessSettings,
  fold: Fold,
): MisnamedBet[] {
  const split = findSplitByCase(assessed, settings, fold);
  const parts = new Set(split.map(({ ledger }) => ledger));
  const misnamed = findMisnamed(assessed, settings, fold);
  const claimed = new Set(misnamed.filter(({ ledger }) => parts.has(ledger)).map(({ provider }) => provider));
  return [...split, ...misnamed.filter(({ provider }) => !claimed.has(provider))];
}

/**
 * Finds bets without a record whose id is on exactly one unmatched record of another player. If bets of several
 * players have its id, they are parts of one bet, provided that under one name they agree with the record:
 * `placeBets` of bob, `settleBets` of carl, and a record of anna. Otherwise the record belongs to none of them.
 */
function findMisnamed(
  assessed: readonly AssessedPlayer[],
  settings: AssessSettings,
  fold: Fold,
): MisnamedBet[] {
  const unmatched = assessed.flatMap(({ username, pairs }) =>
    pairs.flatMap((alone) => {
      // If several records only share a betId, a bet of another player explains one of them at most.
      const [record, ...others] = alone.pair.records;
      const isAlone = alone.pair.bets.length === 0 && record !== undefined && others.length === 0;
      return isAlone ? [{ username, alone, record }] : [];
    }),
  );
  const byId = new Map<string, typeof unmatched>();
  for (const one of unmatched) {
    for (const ref of new Set([one.record.betId, one.record.id]))
      byId.set(ref, [...(byId.get(ref) ?? []), one]);
  }
  const claims = partsOf(assessed, ({ pair }) => pair.records.length === 0).flatMap((part) => {
    const found = (byId.get(part.bet.txnId) ?? []).filter(
      (one) => one.username !== part.username && namesBet(one.record, part.bet.txnId, settings),
    );
    const [only] = found;
    if (only === undefined || found.length > 1) return [];
    // A record without an amount says nothing about a tip, and nothing before the ledger is compared.
    const isNothing = part.bet.tip && only.record.stake.eq(ZERO);
    return isNothing || isBeforeLedger(pairOf(only.record, [part.bet]), settings.ledgerStart)
      ? []
      : [{ part, ...only }];
  });
  return [...Map.groupBy(claims, ({ record }) => record)].flatMap(([record, sharing]) => {
    const parts = sharing.map(({ part }) => part);
    const pendingDifferences =
      parts.length === 1
        ? parts.map((part) => misnamed(part, record, settings))
        : splitOverNames(parts, record, settings, fold);
    return sharing.flatMap(({ part, alone }, index) => {
      const pending = pendingDifferences[index];
      return pending === undefined ? [] : [{ ledger: part.assessed, provider: alone, pending }];
    });
  });
}

function misnamed({ bet }: PartOfBet, record: StoredRecord, settings: AssessSettings): PendingDifference {
  const reason = `the player is ${record.username} at the provider, ${bet.username} in the ledger`;
  const pending = pendingOf(pairOf(record, [bet]), { kind: "username-differs", reason }, settings);
  return { ...pending, asksAgain: true };
}

function pairOf(record: StoredRecord, bets: readonly LedgerBet[]): Pair {
  const matchedBy: MatchRule = record.betId === bets[0]?.txnId ? "betId" : "id";
  return { matchedBy, agrees: false, records: [record], bets };
}

/** @returns a pending difference for each part; none if the parts do not agree with the record under one name */
function splitOverNames(
  parts: readonly PartOfBet[],
  record: StoredRecord,
  settings: AssessSettings,
  fold: Fold,
): PendingDifference[] {
  const pair = pairOf(
    record,
    parts.map(({ bet }) => bet),
  );
  const whole = wholeOf(pair, record.username, parts, settings, fold);
  if (whole === null) return [];
  return parts.map((part, index) => {
    const others = parts
      .filter((one) => one !== part)
      .map((one) => `${one.username} in ${callbacksOf(one)}`)
      .join(" and ");
    const reason = `the player of ${callbacksOf(part)} is ${part.username} in the ledger, but ${record.username} at the provider, and ${others}; under one name both sides agree`;
    const pending = pendingOfPart(part, pair, whole, reason, settings);
    // What rounding leaves of the whole bet counts once.
    return index === 0
      ? pending
      : { ...pending, content: { ...pending.content, amountAtRisk: ZERO, effect: ZERO } };
  });
}

/** A pair of one bet, with its entries. */
interface PartOfBet {
  readonly username: string;
  readonly assessed: AssessedPair;
  readonly bet: LedgerBet;
  readonly entries: readonly CallbackEntry[];
}

/** The bets of chosen pairs that hold one bet. */
function partsOf(assessed: readonly AssessedPlayer[], isChosen: (one: AssessedPair) => boolean): PartOfBet[] {
  return assessed.flatMap(({ username, pairs, neighbourhood: { entries } }) => {
    const chosen = pairs.filter((one) => one.pair.bets.length === 1 && isChosen(one));
    const byTxnId = Map.groupBy(chosen.length === 0 ? [] : entries, ({ txnId }) => txnId);
    return chosen.flatMap((one) =>
      one.pair.bets.map((bet) => ({ username, assessed: one, bet, entries: byTxnId.get(bet.txnId) ?? [] })),
    );
  });
}

/**
 * Finds bets whose entries have two names that differ in case only: `placeBets` of Anna, `settleBets` of anna. Each
 * part has a difference, and all entries under the record's name agree with the record. If they do not agree, there
 * is a second fault, and both differences stay. Ignoring case when rows are loaded would merge two players of a
 * ledger that has both names.
 */
function findSplitByCase(
  assessed: readonly AssessedPlayer[],
  settings: AssessSettings,
  fold: Fold,
): MisnamedBet[] {
  const parts = partsOf(assessed, ({ pending }) => pending !== null);
  const { listed = [], unlisted = [] } = Object.groupBy(parts, ({ assessed: { pair } }) =>
    pair.records.length > 0 ? "listed" : "unlisted",
  );
  if (listed.length === 0) return [];
  const byTxnId = Map.groupBy(unlisted, ({ bet }) => bet.txnId);
  return listed.flatMap((own) => {
    const found = (byTxnId.get(own.bet.txnId) ?? []).flatMap((other) => {
      const pending = differInCase(own, other) ? splitByCase(own, other, settings, fold) : null;
      return pending === null ? [] : [{ ledger: other.assessed, provider: own.assessed, pending }];
    });
    return found.length === 1 ? found : [];
  });
}

function differInCase(one: PartOfBet, other: PartOfBet): boolean {
  return one.username !== other.username && one.username.toLowerCase() === other.username.toLowerCase();
}

/** @returns null if the bet does not agree with its record under one name either */
function splitByCase(
  own: PartOfBet,
  other: PartOfBet,
  settings: AssessSettings,
  fold: Fold,
): PendingDifference | null {
  const { pair } = own.assessed;
  if (!pair.records.every((record) => namesBet(record, own.bet.txnId, settings))) return null;
  const whole = wholeOf(pair, own.username, [own, other], settings, fold);
  if (whole === null) return null;
  const reason = `the player of ${callbacksOf(other)} is ${other.username} in the ledger, but ${own.username} at the provider and in ${callbacksOf(own)}; under one name both sides agree`;
  return pendingOfPart(other, { ...pair, bets: [other.bet, own.bet] }, whole, reason, settings);
}

/** @returns the pair with the parts as one bet of one player; null if that does not agree either */
function wholeOf(
  pair: Pair,
  username: string,
  parts: readonly PartOfBet[],
  settings: AssessSettings,
  fold: Fold,
): Pair | null {
  const bets = fold(parts.flatMap(({ entries }) => entries).map((entry) => ({ ...entry, username })));
  // The round of the own bet may have agreed. That says nothing about the bet of all names.
  const whole: Pair = { ...pair, agrees: false, bets };
  // A cancel without `moved` gives back what the bet of its own player debited: nothing, if another name has the
  // placement.
  const movedAlike = movedBy(bets).eq(movedBy(parts.map(({ bet }) => bet)));
  return bets.length === 1 && movedAlike && comparePair(whole, settings) === null ? whole : null;
}

/** @param parts the pair with the parts as bets of their players */
function pendingOfPart(
  { bet }: PartOfBet,
  parts: Pair,
  whole: Pair,
  reason: string,
  settings: AssessSettings,
): PendingDifference {
  const difference = { kind: "username-differs", reason } as const;
  const effect = effectOfPair(whole);
  return {
    ...pendingOf(parts, difference, settings),
    content: {
      ...toContent({ ...parts, bets: [bet] }, difference, settings),
      // The money of all names together. Alone, each part would seem to be at risk.
      amountAtRisk: amountAtRisk(whole, effect),
      effect,
    },
    entryTimes: entryTimesOf(parts.bets),
    asksAgain: true,
  };
}

function callbacksOf({ entries }: PartOfBet): string {
  return [...new Set(entries.map(({ callback }) => callback))].join(" and ");
}
