/** Which entries and records belong to sessions, and which to bets (docs/mismatches.md#sessions). */

import { realRound, type StoredRecord } from "../bet.ts";
import type { CallbackEntry } from "../callback.ts";
import type { Neighbourhood } from "./neighbourhood.ts";

/** Rewards and tips: without a bet that they name, they belong to the player's session. */
export const REWARD_OR_TIP: readonly string[] = ["winRewards", "placeTips", "cancelTips"];
/** Only a bet has one of these. A reward or a tip may also be cancelled or voided. */
export const OF_BETS_ALONE: readonly string[] = ["placeBets", "settleBets", "adjustBets", "rollback"];

/** Whether the entries of one txn id are a reward or a tip of its own, and no bet. Entries of adjustBalance count as neither. */
export function isRewardOrTip(entries: readonly Pick<CallbackEntry, "callback">[]): boolean {
  return (
    entries.some(({ callback }) => REWARD_OR_TIP.includes(callback)) &&
    !entries.some(({ callback }) => OF_BETS_ALONE.includes(callback))
  );
}

/** The bets of a player: their txn ids, and their rounds. */
interface BetNames {
  readonly ids: ReadonlySet<string>;
  readonly rounds: ReadonlySet<string>;
}

function recordNamesBet({ betId, id, roundId }: StoredRecord, { ids, rounds }: BetNames): boolean {
  return ids.has(betId) || ids.has(id) || rounds.has(realRound(roundId) ?? "");
}

/**
 * The part of a neighbourhood that is compared by bets, in a product that has both bets and sessions: the bets, and
 * the records, rewards and tips with one of their ids or rounds. The rest belongs to sessions. The entries decide: a txn id with a placement, settlement, adjustment or rollback is a bet.
 */
export function withoutSessions(
  one: Pick<Neighbourhood, "records" | "entries" | "rest">,
): Pick<Neighbourhood, "records" | "entries"> {
  const byId = Map.groupBy(
    one.entries.filter(({ callback }) => callback !== "adjustBalance"),
    ({ txnId }) => txnId,
  );
  const alone = new Set([...byId].filter(([, own]) => isRewardOrTip(own)).map(([txnId]) => txnId));
  const names: BetNames = {
    ids: new Set([...byId.keys()].filter((txnId) => !alone.has(txnId))),
    rounds: new Set([
      ...one.entries.flatMap(({ callback, roundId }) =>
        OF_BETS_ALONE.includes(callback) ? (realRound(roundId) ?? []) : [],
      ),
      ...one.rest.map(({ roundId }) => roundId),
    ]),
  };
  const isOfSession = (own: readonly CallbackEntry[]) =>
    !own.some(({ roundId }) => names.rounds.has(realRound(roundId) ?? ""));
  return {
    records: one.records.filter((record) => recordNamesBet(record, names)),
    entries: one.entries.filter(
      ({ callback, txnId }) =>
        callback !== "adjustBalance" && !(alone.has(txnId) && isOfSession(byId.get(txnId) ?? [])),
    ),
  };
}
