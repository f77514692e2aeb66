/** Bets that an operator leaves open because it writes no entry for a settlement that pays 0 (`lostBets: "omitted"`). */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { ZERO } from "../money.ts";
import { idRulesOf, type MatchSettings, type Pair } from "./match.ts";
import { type Sums, sumBets, sumRecords } from "./sums.ts";
import { allowanceOf, differByAtMost } from "./tolerance.ts";

/** How the operator writes a settlement that pays 0: as an entry, or not at all. */
export type LostBets = "written" | "omitted";

/**
 * The bets, with those counted as settled whose record says that they ended and paid nothing. Of a bet that waits for its
 * placement something else is missing; a record that is void, or runs, excuses nothing.
 */
export function settleOmittedLosses(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  settings: MatchSettings,
): readonly LedgerBet[] {
  if (settings.lostBets === "written" || bets.every((bet) => bet.status !== "open")) return bets;
  const byRule = idRulesOf(settings.matchBy).map((rule) => Map.groupBy(records, (record) => record[rule]));
  return bets.map((bet) => {
    const named = byRule.map((byId) => byId.get(bet.txnId)).find((found) => found !== undefined);
    if (bet.status !== "open" || bet.waiting || named === undefined) return bet;
    return isLost(sumRecords(named), sumBets([bet]), settings) ? { ...bet, status: "settled" } : bet;
  });
}

/** Where only the sums of a round can be compared, its open bets have ended if nothing but their settlements is missing. */
export function settleOmittedLossesOfRound(pair: Pair, settings: MatchSettings): Pair {
  if (settings.lostBets === "written" || pair.matchedBy !== "round" || pair.agrees) return pair;
  const [provider, ledger] = [sumRecords(pair.records), sumBets(pair.bets)];
  if (ledger.status !== "open" || pair.bets.some((bet) => bet.waiting)) return pair;
  const allowance = allowanceOf(
    settings.tolerance,
    ledger.currency,
    Math.max(provider.stakes, ledger.stakes),
  );
  const hasEnded =
    isLost(provider, ledger, settings) && differByAtMost(provider.stake, ledger.stake, allowance);
  if (!hasEnded) return pair;
  const bets = pair.bets.map(
    (bet): LedgerBet => (bet.status === "open" ? { ...bet, status: "settled" } : bet),
  );
  return { ...pair, bets };
}

/** What was paid is nothing, or all of it is in the ledger already: a reward, or what other bets of the round were paid. */
function isLost(provider: Sums<unknown>, ledger: Sums<unknown>, { tolerance }: MatchSettings): boolean {
  if (provider.status !== "SETTLED") return false;
  const amounts = Math.max(provider.payouts, ledger.payouts);
  const allowance = allowanceOf(tolerance, provider.currency, amounts);
  return (
    differByAtMost(provider.payout, ZERO, allowance) ||
    differByAtMost(provider.payout, ledger.payout, allowance)
  );
}
