/**
 * Finds bets under two names: the provider lists the bet under another player than the callbacks named, or than some of
 * them named.
 */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import { type AssessedPair, type Verdict, verdictOf } from "./assess.ts";
import { type AssessSettings, comparePair } from "./compare.ts";
import { toFinding } from "./finding.ts";
import { type MatchRule, namesBet, type Pair } from "./match.ts";
import { amountAtRisk, effectOfPair } from "./money-moved.ts";
import { entryTimesOf } from "./sums.ts";

/** The assessed pairs of one neighbourhood. */
export interface AssessedPlayer {
  readonly username: string;
  readonly pairs: readonly AssessedPair[];
}

/** A bet, and the record that the provider lists under another name. */
export interface MisnamedBet {
  readonly verdict: Verdict;
  /** the pair of the player whose ledger has the bet, or the part of it that has no record */
  readonly ledger: AssessedPair;
  /** the pair of the other player, who has the record, and the rest of the bet if the ledger has both names */
  readonly provider: AssessedPair;
}

/**
 * Finds bets without a record whose id is on exactly one unmatched record of another player. A record that several
 * bets could claim belongs to none of them.
 */
export function findMisnamed(assessed: readonly AssessedPlayer[], settings: AssessSettings): MisnamedBet[] {
  const unmatched = assessed.flatMap(({ username, pairs }) =>
    pairs
      .filter(({ pair }) => pair.bets.length === 0)
      .flatMap((alone) => alone.pair.records.map((record) => ({ username, alone, record }))),
  );
  const byId = new Map<string, typeof unmatched>();
  for (const one of unmatched) {
    for (const ref of new Set([one.record.betId, one.record.id]))
      byId.set(ref, [...(byId.get(ref) ?? []), one]);
  }
  const claims = assessed.flatMap(({ username, pairs }) =>
    pairs
      .filter(({ pair }) => pair.records.length === 0)
      .map((ledger) => {
        const [bet] = ledger.pair.bets;
        const found = (byId.get(bet?.txnId ?? "") ?? []).filter(
          (one) =>
            one.username !== username && bet !== undefined && namesBet(one.record, bet.txnId, settings),
        );
        return { ledger, found };
      }),
  );
  const claimed = Map.groupBy(
    claims.filter(({ found }) => found.length === 1),
    ({ found }) => found[0]?.record,
  );
  return [...claimed.values()].flatMap((sharing) => {
    const [claim] = sharing;
    const found = claim?.found[0];
    if (claim === undefined || found === undefined || sharing.length > 1) return [];
    return [
      {
        ledger: claim.ledger,
        provider: found.alone,
        verdict: misnamed(claim.ledger, found.record, settings),
      },
    ];
  });
}

function misnamed({ pair: { bets } }: AssessedPair, record: StoredRecord, settings: AssessSettings): Verdict {
  const [bet] = bets;
  const matchedBy: MatchRule = record.betId === bet?.txnId ? "betId" : "id";
  const verdict = verdictOf(
    { matchedBy, agrees: false, records: [record], bets },
    {
      kind: "username-differs",
      reason: `the player is ${record.username} at the provider, ${bet?.username} in the ledger`,
    },
    settings,
  );
  return { ...verdict, asksAgain: true };
}

/** The pairs of one neighbourhood with the entries that they were folded from. */
interface HeldPlayer extends AssessedPlayer {
  readonly neighbourhood: { readonly entries: readonly CallbackEntry[] };
}

/** A pair of one bet, with its entries. */
interface PartOfBet {
  readonly username: string;
  readonly assessed: AssessedPair;
  readonly bet: LedgerBet;
  readonly entries: readonly CallbackEntry[];
}

/**
 * Finds bets whose entries are of two names that differ in case only: `placeBets` of Anna, `settleBets` of anna. Each
 * part has a difference, and all entries under the record's name agree with the record. If they do not agree, there is
 * a second fault, and both differences stay.
 * @param fold folds the entries of one player into bets
 */
export function findSplitByCase(
  assessed: readonly HeldPlayer[],
  settings: AssessSettings,
  fold: (entries: readonly CallbackEntry[]) => readonly LedgerBet[],
): MisnamedBet[] {
  const parts = assessed.flatMap(({ username, pairs, neighbourhood: { entries } }) =>
    pairs.flatMap((one): PartOfBet[] => {
      const [bet, ...others] = one.pair.bets;
      if (one.verdict === null || bet === undefined || others.length > 0) return [];
      return [{ username, assessed: one, bet, entries: entries.filter(({ txnId }) => txnId === bet.txnId) }];
    }),
  );
  const { listed = [], unlisted = [] } = Object.groupBy(parts, ({ assessed: { pair } }) =>
    pair.records.length > 0 ? "listed" : "unlisted",
  );
  if (listed.length === 0) return [];
  const byTxnId = Map.groupBy(unlisted, ({ bet }) => bet.txnId);
  return listed.flatMap((own) => {
    const found = (byTxnId.get(own.bet.txnId) ?? []).flatMap((other) => {
      const verdict = differInCase(own, other) ? splitByCase(own, other, settings, fold) : null;
      return verdict === null ? [] : [{ ledger: other.assessed, provider: own.assessed, verdict }];
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
  fold: (entries: readonly CallbackEntry[]) => readonly LedgerBet[],
): Verdict | null {
  const { pair } = own.assessed;
  if (!pair.records.every((record) => namesBet(record, own.bet.txnId, settings))) return null;
  const bets = fold(
    [...own.entries, ...other.entries].map((entry) => ({ ...entry, username: own.username })),
  );
  const whole: Pair = { ...pair, bets };
  if (bets.length !== 1 || comparePair(whole, settings) !== null) return null;
  const parts: Pair = { ...pair, bets: [other.bet, own.bet] };
  const reason = `the player of ${callbacksOf(other)} is ${other.username} in the ledger, but ${own.username} at the provider and in ${callbacksOf(own)}; under one name both sides agree`;
  return {
    ...verdictOf(parts, { kind: "username-differs", reason }, settings),
    finding: {
      ...toFinding({ ...pair, bets: [other.bet] }, { kind: "username-differs", reason }, settings),
      // The money of both names together: each alone would seem to be at risk.
      amountAtRisk: amountAtRisk(whole),
      effect: effectOfPair(whole),
    },
    entryTimes: entryTimesOf(parts.bets),
    asksAgain: true,
  };
}

function callbacksOf({ entries }: PartOfBet): string {
  return [...new Set(entries.map(({ callback }) => callback))].join(" and ");
}
