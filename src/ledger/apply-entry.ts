/**
 * What an entry does to the bets that it acts on. The fold and the built-in wallet share these rules (decision 87).
 * Pure: takes the present states of the bets; returns their new states, the money that the entry asks for, and why it
 * is impossible.
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
import { type Impossible, whyImpossible } from "./impossible.ts";

/** The bets of one player at one product. */
export interface KnownBets {
  get(txnId: string): BetState | undefined;
  /** in the order of their beginnings, without tips */
  inRound(roundId: string, currency: string): readonly BetState[];
  /**
   * the bet that got the payout of a BY_ROUND settle which named this id, where no bet has the id; undefined: none
   * (decision 72)
   */
  carrierOf(txnId: string): BetState | undefined;
}

export interface AppliedEntry {
  /** null: the entry is possible */
  readonly impossible: Impossible | null;
  /**
   * one change for each bet that the entry acts on; the first bet carries what cannot be shared. For an impossible
   * entry: what the entry did if the operator applied it nevertheless. Empty where there is no bet to act on.
   */
  readonly changes: readonly Change[];
}

/** Applies an entry. The caller has stored the entry's round in its bet already (`nameRound`). */
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
      : whyNotSettled(inRound, entry);
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
 * Whether a BY_ROUND entry acts on a bet of its round. A settle acts on the open bets, and on the named bet even
 * where that is settled already.
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

/** Whether the same settle, which others follow, paid this running bet before. */
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
  // A rollback names one amount for all its bets. The first bet gets what the shares of the others leave.
  const asked = askedOfRollback(targets, entry).minus(sumAmounts(others.map((change) => change.asked)));
  return [{ ...first, asked }, ...others];
}

function askedOfRollback(targets: readonly BetState[], entry: BetEntry): Amount {
  const has = (status: string) => targets.some((bet) => bet.status === status);
  const ofSettled = has("settled") ? (entry.payoutAmount ?? ZERO) : ZERO;
  const ofVoid = has("void") ? (entry.betAmount ?? ZERO) : ZERO;
  return ofSettled.plus(ofVoid).neg();
}

/** Why a settle of a round without an open bet is impossible, where its id names no bet. */
function whyNotSettled(inRound: readonly BetState[], entry: BetEntry): Impossible {
  const ended = inRound.filter((bet) => !bet.rewardOnly);
  if (ended.length === 0) return "not-placed";
  if (ended.every((bet) => bet.status === "void")) return "round-void";
  const said = saidBy(entry);
  return ended.some((bet) => bet.said.includes(said)) ? "repeated" : "round-settled";
}

/**
 * Notes in the first bet that it carried the payout of a single-state settle of its round, so that a repeat begins no
 * new bet (decision 90).
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

/** Why a cancelBets, voidSettled or rollback of a round is impossible, where the round has no bet to act on. */
function whyNothingToActOn(inRound: readonly BetState[], { callback }: BetEntry): Impossible {
  const bets = callback === "rollback" ? inRound.filter((bet) => !bet.rewardOnly) : inRound;
  if (bets.length === 0) return "unknown-round";
  if (callback === "rollback") return "running";
  const other = callback === "cancelBets" ? "settled" : "open";
  if (!bets.some((bet) => bet.status === other)) return "round-void";
  return callback === "cancelBets" ? "round-settled" : "not-settled";
}
