/** Open ledger bets that count as ended: losses without an entry, and free spins that are settled together. */

import { type LedgerBet, realRound, type StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import { sumAmounts, ZERO } from "../money.ts";
import { type IdRule, idRulesOf, type MatchSettings, type Pair } from "./match.ts";
import { allowanceOf, differByAtMost, isRunning, type Sums, sumBets, sumRecords } from "./sums.ts";

/**
 * Counts an open bet as settled if its record says that the bet ended and paid nothing (`lostBets: "omitted"`,
 * decision 98). A bet that waits for its placement stays open, because its placement is missing. A void or running
 * record settles nothing.
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
 * The same for a round that is compared by its sums: its open bets count as settled if only their settlements are
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

/**
 * Ends spins of a feature that are placed with a stake of 0, each under its own id, and settled together under the
 * last one. They moved no money but rewards, and were placed before another bet of their round was settled. This
 * happens in the comparison, not in the fold, because only the provider's records show whether the others still run.
 * Once the round has ended on both sides, the spins count as settled with it, and the round is compared by its sums,
 * as after a BY_ROUND settle.
 * If each bet has a record of its own and only these spins differ, their own settlements are missing, and they stay
 * open. A spin without a record counts as void, which agrees with absent, if the provider does not have its round
 * and a paid bet of the round is open or its last spin was cancelled. A paid bet never ends this way: its lost
 * settlement must stay a mismatch.
 * @param rules the ids by which a record names its bet
 */
export function endFeatureSpins(
  records: readonly StoredRecord[],
  bets: readonly LedgerBet[],
  rules: readonly IdRule[],
): readonly LedgerBet[] {
  if (!bets.some(isUnpaidSpin)) return bets;
  const listed = Map.groupBy(records, ({ roundId }) => realRound(roundId));
  const ended = new Map<LedgerBet, LedgerBet>();
  for (const [roundId, held] of Map.groupBy(bets, (bet) => bet.roundId)) {
    if (roundId === null || !held.some(isUnpaidSpin)) continue;
    for (const bet of endOfRound(listed.get(roundId) ?? [], held, rules)) ended.set(bet.before, bet.after);
  }
  return ended.size === 0 ? bets : bets.map((bet) => ended.get(bet) ?? bet);
}

function endOfRound(
  records: readonly StoredRecord[],
  held: readonly LedgerBet[],
  rules: readonly IdRule[],
): { readonly before: LedgerBet; readonly after: LedgerBet }[] {
  if (records.some(isRunning)) return [];
  const settled = held.filter(({ status, placed, tip }) => status === "settled" && placed && !tip);
  const cancelled = held.filter((bet) => bet.status === "void" && bet.placed && isFree(bet));
  const isListed = records.length > 0;
  const spins = held.filter(
    (spin) =>
      isUnpaidSpin(spin) &&
      [...settled, ...cancelled].some(
        ({ firstEntryAt, lastEntryAt }) =>
          // Spins placed in one moment may be settled one by one, which the records of the round would show.
          lastEntryAt >= placedAt(spin) && (isListed || firstEntryAt > spin.firstEntryAt),
      ),
  );
  const named = (bet: LedgerBet) =>
    records.filter((record) => rules.some((rule) => record[rule] === bet.txnId));
  const hasEnded = isListed && held.every((bet) => bet.status !== "open" || spins.includes(bet));
  if (!hasEnded || settled.length === 0) return spins.flatMap((spin) => endAlone(spin, named(spin)));
  const areSettledAlone =
    !haveEqualSums(records, held) &&
    spins.every((spin) => named(spin).length > 0) &&
    settled.every((bet) => named(bet).length > 0 && sumOf(named(bet), "payout").eq(bet.payout));
  if (areSettledAlone) return [];
  return spins.map((spin) => ({ before: spin, after: { ...spin, status: "settled", settledByRound: true } }));
}

/** A spin that no settlement of the round ends, with its records. Only a record that says the same ends it. */
function endAlone(spin: LedgerBet, records: readonly StoredRecord[]): ReturnType<typeof endOfRound> {
  const listed = records.filter(({ betStatus }) => betStatus !== "VOID");
  if (listed.length > 0 && !(sumOf(listed, "stake").eq(ZERO) && sumOf(listed, "payout").eq(spin.payout)))
    return [];
  const status = listed.length > 0 || !spin.payout.eq(ZERO) ? "settled" : "void";
  return [{ before: spin, after: { ...spin, status } }];
}

/** A reward pays a spin and does not end it. */
function isUnpaidSpin({ status, placed, waiting, others, payout, moved, asked, ...bet }: LedgerBet): boolean {
  if (status !== "open" || !placed || waiting || bet.paidInParts !== null || others.length > 0) return false;
  return isFree(bet) && [moved, asked].every((amount) => amount.eq(payout));
}

/** A reward may arrive after the end of the round. */
function placedAt({ payout, firstEntryAt, lastEntryAt }: LedgerBet): Instant {
  return payout.eq(ZERO) ? lastEntryAt : firstEntryAt;
}

function isFree({ largestStake, tip }: Pick<LedgerBet, "largestStake" | "tip">): boolean {
  return largestStake.eq(ZERO) && !tip;
}

function haveEqualSums(records: readonly StoredRecord[], held: readonly LedgerBet[]): boolean {
  const listed = records.filter(({ betStatus }) => betStatus !== "VOID");
  const counted = held.filter(({ status, tip }) => status !== "void" && !tip);
  return (["stake", "payout"] as const).every((amount) => sumOf(listed, amount).eq(sumOf(counted, amount)));
}

function sumOf(sides: readonly (StoredRecord | LedgerBet)[], amount: "stake" | "payout") {
  return sumAmounts(sides.map((side) => side[amount]));
}
