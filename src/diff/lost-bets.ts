/**
 * Bets that stay open in the ledger because the operator writes no entry for a settlement that pays 0 (`lostBets:
 * "omitted"`, decision 98).
 */

import type { LedgerBet, StoredRecord } from "../bet.ts";
import { ZERO } from "../money.ts";
import { idRulesOf, type MatchSettings, type Pair } from "./match.ts";
import { type Sums, sumBets, sumRecords } from "./sums.ts";
import { allowanceOf, differByAtMost } from "./tolerance.ts";

/** How the operator writes a settlement that pays 0: as an entry, or not at all. */
export type LostBets = "written" | "omitted";

/**
 * Counts an open bet as settled where its record says that the bet ended and paid nothing. A bet that waits for its
 * placement stays open, because its placement is missing. A void or running record settles nothing.
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

/**
 * The same for a round that is compared by its sums: its open bets count as settled where only their settlements are
 * missing.
 */
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

/**
 * Whether the provider paid nothing, or only what the ledger has already: a reward, or the payouts of other bets of
 * the round.
 */
function isLost(provider: Sums<unknown>, ledger: Sums<unknown>, { tolerance }: MatchSettings): boolean {
  if (provider.status !== "SETTLED") return false;
  const amounts = Math.max(provider.payouts, ledger.payouts);
  const allowance = allowanceOf(tolerance, provider.currency, amounts);
  return (
    differByAtMost(provider.payout, ZERO, allowance) ||
    differByAtMost(provider.payout, ledger.payout, allowance)
  );
}
