/** The two sides of a comparison, with defaults: a test names only the fields that matter. */

import type { LedgerBet, StoredRecord } from "../../src/bet.ts";
import type { AssessSettings } from "../../src/diff/compare.ts";
import { ZERO } from "../../src/money.ts";
import { amount, exampleRecord, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

type AmountsAsText<Side, Field extends keyof Side> = Partial<Omit<Side, Field> & Record<Field, string>>;
export type RecordFields = AmountsAsText<StoredRecord, "stake" | "payout">;
export type BetFields = AmountsAsText<LedgerBet, "stake" | "payout" | "moved">;

/** A settled, lost bet of 10 THB, updated at 11:59 and requested at noon. */
export function record(fields: RecordFields = {}): StoredRecord {
  const { stake = "10", payout = "0", ...others } = fields;
  return exampleRecord({ ...others, stake: amount(stake), payout: amount(payout) });
}

/** The same bet in the ledger: placed at 11:55, settled at 11:56, with the money moved that its state requires. */
export function bet(fields: BetFields = {}): LedgerBet {
  const { stake = "10", payout = "0", moved, ...others } = fields;
  const status = fields.status ?? "settled";
  const asked =
    status === "void" ? "0" : status === "open" ? `-${stake}` : amount(payout).minus(stake).toFixed();
  return {
    productId: "P1",
    username: "anna",
    currency: "THB",
    txnId: "bet-1",
    roundId: "round-1",
    status,
    asked: amount(asked),
    waiting: false,
    placed: true,
    rewardOnly: false,
    tip: false,
    settledByRound: false,
    others: [],
    paidInParts: null,
    payouts: 1,
    reward: ZERO,
    movements: status === "open" ? 1 : 2,
    largestStake: amount(stake),
    firstEntryAt: NOON - 5 * MINUTE_MS,
    lastEntryAt: NOON - 4 * MINUTE_MS,
    lastReceivedAt: NOON - 4 * MINUTE_MS,
    ...others,
    stake: amount(stake),
    payout: amount(payout),
    moved: amount(moved ?? asked),
  };
}

/** A ledger that began two days ago: every bet of today began later. */
export const SETTINGS: AssessSettings = {
  productId: "P1",
  ledgerStart: NOON - 48 * HOUR_MS,
  matchBy: ["betId", "id", "round"],
  openBetsListed: false,
  stuckOpenAfterMs: 24 * HOUR_MS,
  lostBets: "written",
  nominalStakes: false,
  tolerance: new Map(),
};
