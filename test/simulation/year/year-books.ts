/** What the books of a year must say, from what the world knows alone. */

import type { BetRecord } from "../../../src/bet.ts";
import type { Instant } from "../../../src/clock.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../../../src/money.ts";
import type { World } from "../../../src/sandbox/world/world.ts";
import type { TimeRange } from "../../../src/window.ts";
import { trueMove } from "../oddities/round-script.ts";
import { type ChangingBet, type Side, stateAt } from "./changing-bet.ts";

/** Sums by name, such as "CHANGING THB provider.net". */
export class Sums {
  readonly #amounts = new Map<string, Amount>();

  add(name: string, amount: Amount): void {
    this.#amounts.set(name, (this.#amounts.get(name) ?? ZERO).plus(amount));
  }

  addText(name: string, text: string | number): void {
    this.add(name, parseAmount(String(text), name));
  }

  addSide(name: string, { bets, stake, payout, net }: Side): void {
    this.addText(`${name}.bets`, bets);
    this.add(`${name}.stake`, stake);
    this.add(`${name}.payout`, payout);
    this.add(`${name}.net`, net);
  }

  /** One line for each sum that differs, of the names that a test accepts. */
  differences(expected: Sums, about: string, accepts: (name: string) => boolean = () => true): string[] {
    const names = [...new Set([...this.#amounts.keys(), ...expected.#amounts.keys()])].sort();
    return names.filter(accepts).flatMap((name) => {
      const [is, must] = [this.#amounts.get(name) ?? ZERO, expected.#amounts.get(name) ?? ZERO];
      if (is.eq(must)) return [];
      return [`${about}: ${name} is ${formatAmount(is)}, and must be ${formatAmount(must)}`];
    });
  }
}

/**
 * The sums of thinned play in a range near whose ends nothing happens. For the ledger, only the money that moved: its net is
 * without tips, and `moved` with them.
 */
export function sumThinned(world: World, { from, to }: TimeRange): Sums {
  const sums = new Sums();
  const quiet = Number.MAX_SAFE_INTEGER;
  const tips = new Set<string>();
  const movedOf = new Map<string, Amount>();
  for (const entry of world.entriesReceived({ from, to })) {
    const { productId, currency, txnId, callback } = entry;
    const bet = `${productId} ${txnId}`;
    movedOf.set(bet, (movedOf.get(bet) ?? ZERO).plus(trueMove(entry)));
    sums.add(`${productId} ${currency} ledger.moved`, trueMove(entry));
    if (callback === "placeTips" || callback === "cancelTips") tips.add(`${productId} ${txnId}`);
    else sums.add(`${productId} ${currency} ledger.net`, trueMove(entry));
  }
  const faulty = new Set(world.plantedBy(quiet).map((fault) => `${fault.productId} ${fault.transactionId}`));
  for (const { productId } of world.products) {
    const records = world.recordsIn(productId, { from, to }, quiet);
    const ofBet = Map.groupBy(records, ({ betId }) => betId);
    for (const record of records) {
      // A later step of the bet has replaced this one.
      if (ofBet.get(record.betId)?.some((one) => isLaterStep(one, record))) continue;
      const isTip = tips.has(`${productId} ${record.betId}`) || tips.has(`${productId} ${record.id}`);
      if (record.betStatus === "VOID" || isTip) continue;
      const { stake, payout } = record;
      const side = { bets: 1, stake, payout, net: netOf(record) };
      sums.addSide(`${productId} ${record.currency} provider`, side);
      const bet = [record.betId, record.id]
        .map((id) => `${productId} ${id}`)
        .find((name) => movedOf.has(name));
      // While a bet runs, the parts that were paid are pending: the record does not have them yet. A fault is a mismatch.
      if (isRunning(record) && bet !== undefined && !faulty.has(bet))
        sums.add(`${productId} ${record.currency} pending`, side.net.minus(movedOf.get(bet) ?? ZERO));
    }
  }
  return sums;
}

/** Steps of one bet share its betId, player and stake; some run, others have ended (docs/mismatches.md#several-records-of-one-bet). */
function isLaterStep(one: BetRecord, before: BetRecord): boolean {
  const isSameBet = one.betId === before.betId && one.username === before.username;
  if (!isSameBet || !one.stake.eq(before.stake) || isRunning(one) === isRunning(before)) return false;
  const laterMs = Date.parse(one.updatedDate) - Date.parse(before.updatedDate);
  return laterMs > 0 || (laterMs === 0 && isRunning(before));
}

function isRunning({ betStatus }: BetRecord): boolean {
  return betStatus === "OPEN" || betStatus === "UNSETTLED";
}

function netOf({ betStatus, stake, payout }: BetRecord): Amount {
  return betStatus === "SETTLED" ? payout.minus(stake) : stake.neg();
}

/** What the changing bets count for at a moment, on the days of some bounds. */
export function sumChanging(
  bets: readonly ChangingBet[],
  now: Instant,
  dayOf: (at: Instant) => string | null,
): Map<string, Sums> {
  const days = new Map<string, Sums>();
  for (const bet of bets) {
    for (const { at, provider, ledger } of stateAt(bet, now)?.counts ?? []) {
      const day = dayOf(at);
      if (day === null) continue;
      const sums = days.get(day) ?? new Sums();
      days.set(day, sums);
      const name = `${bet.productId} ${bet.currency}`;
      sums.addSide(`${name} provider`, provider);
      sums.addSide(`${name} ledger`, ledger);
      // In every story the wallet moves what the ledger says, and there are no tips.
      sums.add(`${name} ledger.moved`, ledger.net);
    }
  }
  return days;
}
