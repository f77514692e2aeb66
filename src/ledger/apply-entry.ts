/**
 * What an entry does to the bets that it acts on. The fold and the built-in wallet share these rules (decision 87).
 * Pure: takes the current states of the bets; returns their new states, the money that the entry asks for, and why the
 * entry is impossible.
 *
 * Three SQL statements state parts of these rules again, because they work on millions of rows. Change them together:
 * - `diff/agreement-store.ts`: a bet whose entries and record certainly agree, for the screening, large rounds and the
 *   sums of a statement
 * - `flows/retention/plain-rows-store.ts` (`SAYS`): the end of a bet, from its own entries, for deletion
 * - `flows/retention/plain-bets-store.ts`: the end of a round or of bets with shared ids, entry by entry, for deletion
 *
 * Random worlds hold them together: `test/callbacks/judge.test.ts` (wallet and fold), `test/ledger/lives.test.ts` (fold
 * and a model of the money), `test/flows/compare/screen-product.test.ts` (agreement and the exact comparison) and
 * `test/flows/retention/plain-agrees.test.ts` (deletion and `decideGroup`, which reads the fold).
 */

import { type Amount, sumAmounts, ZERO } from "../money.ts";
import {
  type BetEntry,
  beginsBet,
  isSingleState,
  type RuleSettings,
  roundActedOn,
  saidBy,
} from "./bet-entry.ts";
import type { BetState } from "./bet-state.ts";
import { type Change, changeBet, type Share } from "./change-bet.ts";

/** The bets of one player at one product. */
export interface KnownBets {
  get(txnId: string): BetState | undefined;
  /** in the order in which the bets began, without tips */
  inRound(roundId: string, currency: string): readonly BetState[];
  /**
   * if no bet has this id: the bet that got the payout of a BY_ROUND settle that named the id (decision 72);
   * undefined: there is none
   */
  carrierOf(txnId: string): BetState | undefined;
}

export interface AppliedEntry {
  /** null: the entry is possible */
  readonly impossible: Impossible | null;
  /**
   * one change for each bet that the entry acts on; money that cannot be split goes to the first. If the entry is
   * impossible: its effect if the operator applied it anyway. Empty if there is no bet to act on.
   */
  readonly changes: readonly Change[];
}

/** Applies an entry. The caller must have stored the entry's round in its bet (`nameRound`). */
export function applyEntry(known: KnownBets, entry: BetEntry, settings: RuleSettings): AppliedEntry {
  const own = known.get(entry.txnId);
  const round = roundActedOn(entry);
  if (round === null) return applyToOne(known, own, entry, settings);
  const outcome = applyToRound(known, own, entry, settings, known.inRound(round, entry.currency));
  const isForeign = own !== undefined && own.currency !== entry.currency;
  return isForeign ? { ...outcome, impossible: "other-currency" } : outcome;
}

function applyToOne(
  known: KnownBets,
  own: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
): AppliedEntry {
  const bet = own ?? (beginsBet(entry, settings) ? undefined : known.carrierOf(entry.txnId));
  return {
    impossible: whyImpossible(bet, entry, settings),
    changes: [changeBet(bet, entry, settings, null)],
  };
}

function applyToRound(
  known: KnownBets,
  own: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
  inRound: readonly BetState[],
): AppliedEntry {
  const targets = inRound.filter((bet) => isActedOn(bet, own, entry, settings));
  if (entry.callback === "settleBets" && !targets.some((bet) => bet.status === "open")) {
    const outcome = applyToOne(known, own, entry, settings);
    if (own !== undefined) return outcome;
    const impossible = isSingleState(entry, settings)
      ? whyCarriedBefore(inRound, entry)
      : whyRoundNotSettled(inRound, entry);
    return impossible === null ? outcome : { ...outcome, impossible };
  }
  const first = targets.find((bet) => bet === own) ?? targets[0];
  if (first !== undefined) {
    const impossible = isRepeatedPart(first, entry) ? "repeated" : null;
    const others = targets.filter((bet) => bet !== first);
    const [change, ...more] = changeAll([first, ...others], entry, settings) as [Change, ...Change[]];
    const isCarried = own === undefined && entry.callback === "settleBets" && isSingleState(entry, settings);
    return { impossible, changes: [isCarried ? carry(change, entry) : change, ...more] };
  }
  const impossible = whyNothingToActOn(inRound, entry);
  const isUnknown = own === undefined && inRound.length === 0;
  return { impossible, changes: isUnknown ? applyToOne(known, own, entry, settings).changes : [] };
}

/**
 * Whether a BY_ROUND entry acts on a bet of its round. A settle acts on the open bets, and on the named bet even if
 * that bet is settled.
 */
function isActedOn(
  bet: BetState,
  own: BetState | undefined,
  { callback }: BetEntry,
  { omitsLostBets = false }: RuleSettings,
): boolean {
  if (callback === "rollback") return bet.status !== "open" && !bet.rewardOnly;
  if (callback === "voidSettled") return bet.status === "settled" || (omitsLostBets && bet.status === "open");
  if (bet.status === "open") return true;
  return callback === "settleBets" && bet === own && bet.status === "settled";
}

/** Whether an equal partial settle (endRound false) has already paid this running bet. */
function isRepeatedPart({ said }: BetState, entry: BetEntry): boolean {
  return entry.callback === "settleBets" && entry.endRound === false && said.includes(saidBy(entry));
}

function changeAll(targets: readonly BetState[], entry: BetEntry, settings: RuleSettings): Change[] {
  const settled = targets.filter((bet) => bet.status === "settled");
  const share: Share = {
    isFirst: true,
    isAlone: targets.length === 1,
    paid: sumAmounts(settled.map((bet) => bet.settlement.plus(bet.reward))),
  };
  const changes = targets.map((bet, index) =>
    changeBet(bet, entry, settings, index === 0 ? share : { ...share, isFirst: false }),
  );
  if (entry.callback !== "rollback" || entry.skipBalanceUpdate || targets.length === 1) return changes;
  const [first, ...others] = changes;
  if (first === undefined) return changes;
  // A rollback names one amount for all its bets. The first bet gets the rest after the shares of the others.
  const asked = askedOfRollback(targets, entry).minus(sumAmounts(others.map((change) => change.asked)));
  return [{ ...first, asked }, ...others];
}

function askedOfRollback(targets: readonly BetState[], entry: BetEntry): Amount {
  const has = (status: string) => targets.some((bet) => bet.status === status);
  const ofSettled = has("settled") ? (entry.payoutAmount ?? ZERO) : ZERO;
  const ofVoid = has("void") ? (entry.betAmount ?? ZERO) : ZERO;
  return ofSettled.plus(ofVoid).neg();
}

/** Why a settle of a round without an open bet is impossible if its id names no bet. */
function whyRoundNotSettled(inRound: readonly BetState[], entry: BetEntry): Impossible {
  const ended = inRound.filter((bet) => !bet.rewardOnly);
  if (ended.length === 0) return "not-placed";
  if (ended.every((bet) => bet.status === "void")) return "round-void";
  const said = saidBy(entry);
  return ended.some((bet) => bet.said.includes(said)) ? "repeated" : "round-settled";
}

/**
 * Notes in the first bet that it got the payout of a single-state settle of its round. Otherwise the same settle under
 * a new request id would begin a new bet and take its stake.
 */
function carry({ bet, ...change }: Change, entry: BetEntry): Change {
  return { ...change, bet: { ...bet, said: [...bet.said, `${carriedBy(entry)}${change.said}`] } };
}

function carriedBy({ txnId }: BetEntry): string {
  return `as ${JSON.stringify(txnId)} `;
}

function whyCarriedBefore(inRound: readonly BetState[], entry: BetEntry): Impossible | null {
  const carried = carriedBy(entry);
  const said = inRound.flatMap((bet) => bet.said).filter((one) => one.startsWith(carried));
  if (said.length === 0) return null;
  return said.includes(`${carried}${saidBy(entry)}`) ? "repeated" : "settled";
}

/**
 * Why a cancelBets, voidSettled or rollback of a round is impossible if the round has no bet to act on. The answers are
 * those of the single entry: voidSettled of a round with one settled and one open bet is `not-settled`, of a round whose
 * bets are all void `round-void`.
 */
function whyNothingToActOn(inRound: readonly BetState[], { callback }: BetEntry): Impossible {
  const bets = callback === "rollback" ? inRound.filter((bet) => !bet.rewardOnly) : inRound;
  if (bets.length === 0) return "unknown-round";
  if (callback === "rollback") return "running";
  const other = callback === "cancelBets" ? "settled" : "open";
  if (!bets.some((bet) => bet.status === other)) return "round-void";
  return callback === "cancelBets" ? "round-settled" : "not-settled";
}

export type Impossible =
  /** no bet with this id, or in this round, is known */
  | "unknown-bet"
  | "unknown-round"
  /** a settle without single-state of a bet that was not placed */
  | "not-placed"
  /** another bet has this id, or the placement of this bet was already applied */
  | "placed-before"
  | "other-currency"
  | "settled"
  | "void"
  /** no bet of the round is open: at least one is settled, or all are void */
  | "round-settled"
  | "round-void"
  | "not-settled"
  /** a rollback of a running bet */
  | "running"
  /** an equal entry of this generation was already applied */
  | "repeated"
  | "same-stake"
  | "tip"
  | "no-tip";

/** @returns null: the entry can be applied to its own bet */
function whyImpossible(
  bet: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
): Impossible | null {
  const { callback } = entry;
  if (bet !== undefined && bet.currency !== entry.currency) {
    return callback === "placeBets" || callback === "placeTips" ? "placed-before" : "other-currency";
  }
  switch (callback) {
    case "placeBets":
      return bet === undefined || confirmsWaiting(bet, entry) ? null : "placed-before";
    case "placeTips":
      return bet === undefined ? null : "placed-before";
    case "settleBets":
      return whyNotSettled(bet, entry, settings);
    case "winRewards":
      return bet?.said.includes(saidBy(entry)) ? "repeated" : null;
    case "adjustBalance":
      return null;
    default:
      return bet === undefined ? "unknown-bet" : whyNotChanged(bet, entry);
  }
}

function confirmsWaiting(bet: BetState, entry: BetEntry): boolean {
  return bet.waiting && bet.status === "open" && entry.status !== "WAITING";
}

/**
 * Why a settle of one bet is impossible. If the last settle was partial (endRound false), another one is possible,
 * unless it is the same settle under a new request id.
 */
function whyNotSettled(
  bet: BetState | undefined,
  entry: BetEntry,
  settings: RuleSettings,
): Impossible | null {
  if (bet === undefined || bet.rewardOnly) return isSingleState(entry, settings) ? null : "not-placed";
  if (bet.status === "void") return "void";
  if (bet.said.includes(saidBy(entry))) return "repeated";
  return bet.status === "open" || !bet.endRound ? null : "settled";
}

/** Why an entry of a known bet is impossible; settles and rewards have their own rules. */
function whyNotChanged(bet: BetState, { callback, betAmount }: BetEntry): Impossible | null {
  const { status, tip } = bet;
  switch (callback) {
    case "adjustBets":
      if (status !== "open") return status;
      return bet.stake.eq(betAmount ?? ZERO) ? "same-stake" : null;
    case "cancelBets":
      return status === "open" ? null : status;
    case "voidSettled":
      if (tip) return "tip";
      return status === "settled" ? null : status === "void" ? "void" : "not-settled";
    case "rollback":
      if (tip) return "tip";
      return status === "open" ? "running" : null;
    case "cancelTips":
      if (!tip) return "no-tip";
      return status === "void" ? "void" : null;
    default:
      return null;
  }
}
