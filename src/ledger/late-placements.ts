/**
 * Bets that were placed shortly after a BY_ROUND entry ended their round, as callbacks overtake each other. The entry
 * ends them too, because no other entry would.
 */

import { realRound } from "../bet.ts";
import type { CallbackEntry, CallbackName } from "../callback.ts";
import { beginsBet, type RuleSettings, roundActedOn } from "./bet-entry.ts";
import type { BetState } from "./bet-state.ts";

/** How much later a bet may be placed than the entry that ends its round. */
const LATEST_PLACEMENT_MS = 2_000;

export type EntryTimes = Pick<CallbackEntry, "occurredAt" | "receivedAt">;

const ENDS: ReadonlySet<CallbackName> = new Set(["settleBets", "cancelBets"]);
/** A bet that has only these, and ends of its whole round, has no end of its own. */
const OF_RUNNING: ReadonlySet<CallbackName> = new Set(["placeBets", "adjustBets", "winRewards"]);

/**
 * Finds the entries that take effect before the end of their round, although they came up to two seconds after it.
 * @param inOrder in ledger order
 * @param bets what the fold of the entries gave without this rule; `first`: the entry that began the bet
 * @returns for each such entry the times of the end
 */
export function findLatePlacements(
  inOrder: readonly CallbackEntry[],
  bets: readonly { readonly state: BetState; readonly first: CallbackEntry }[],
  settings: RuleSettings,
): Map<CallbackEntry, EntryTimes> {
  const early = new Map<CallbackEntry, EntryTimes>();
  const ends = inOrder.filter(
    (entry) =>
      ENDS.has(entry.callback) &&
      entry.endRound !== false &&
      roundActedOn(entry) !== null &&
      // It placed what it settled, and waits for no placement.
      !beginsBet(entry, settings),
  );
  if (ends.length === 0) return early;
  const areEnds = new Set(ends);
  const entriesOf = Map.groupBy(inOrder, ({ txnId }) => txnId);
  const place = new Map(inOrder.map((entry, index) => [entry, index]));
  for (const { state, first: begunBy } of bets) {
    const { txnId, roundId, currency, status, placed } = state;
    const own = (entriesOf.get(txnId) ?? []).filter((entry) => !areEnds.has(entry));
    const [first] = own;
    if (!placed || first === undefined || !own.every(({ callback }) => OF_RUNNING.has(callback))) continue;
    const end = ends.findLast(
      (entry) =>
        (status === "open" || entry === begunBy) &&
        realRound(entry.roundId) === roundId &&
        entry.currency === currency &&
        (place.get(entry) ?? 0) < (place.get(first) ?? 0) &&
        first.occurredAt - entry.occurredAt <= LATEST_PLACEMENT_MS,
    );
    if (end === undefined) continue;
    const { occurredAt, receivedAt } = end;
    for (const entry of own) {
      if (entry.occurredAt - occurredAt <= LATEST_PLACEMENT_MS) early.set(entry, { occurredAt, receivedAt });
    }
  }
  return early;
}
