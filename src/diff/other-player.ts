/** Finds bets under two names: the provider lists the bet under another player than the callbacks named. */

import type { StoredRecord } from "../bet.ts";
import { type AssessedPair, type Verdict, verdictOf } from "./assess.ts";
import type { AssessSettings } from "./compare.ts";
import { type MatchRule, namesBet } from "./match.ts";

/** The assessed pairs of one neighbourhood. */
export interface AssessedPlayer {
  readonly username: string;
  readonly pairs: readonly AssessedPair[];
}

/** A bet, and the record that the provider lists under another name. */
export interface MisnamedBet {
  readonly verdict: Verdict;
  /** the pair of the player whose ledger has the bet */
  readonly ledger: AssessedPair;
  /** the pair of the other player who has the record */
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
