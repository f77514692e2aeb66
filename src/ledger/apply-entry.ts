/**
 * What an entry does to the bets that it acts on: the one set of rules that the ledger's fold repeats and the built-in
 * wallet applies. Pure: the bets go in as they stand, their new states and the money that is asked for come out, or
 * the reason why the entry is not possible.
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
  /** in the order in which they began, without tips */
  inRound(roundId: string, currency: string): readonly BetState[];
  /** the bet that the end of a round paid, where the id it named is no bet's; undefined: there was no such end */
  carrierOf(txnId: string): BetState | undefined;
}

export interface AppliedEntry {
  /** null: the entry is possible */
  readonly impossible: Impossible | null;
  /**
   * of each bet that the entry acts on, the one first that carries what cannot be shared. Where the entry is
   * impossible: what it did all the same where somebody applied it; none where there is nothing left to act on.
   */
  readonly changes: readonly Change[];
}

/** The rounds that entries name for their bets are in the bets already (`nameRound`). */
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
    const others = targets.filter((bet) => bet !== first);
    const [change, ...more] = changeAll([first, ...others], entry, settings) as [Change, ...Change[]];
    const isCarried = own === undefined && entry.callback === "settleBets" && isSingleState(entry, settings);
    return { impossible: null, changes: [isCarried ? carry(change, entry) : change, ...more] };
  }
  const impossible = whyNothingToActOn(inRound, entry);
  const isUnknown = own === undefined && inRound.length === 0;
  return { impossible, changes: isUnknown ? applyToOne(known, own, entry, settings).changes : [] };
}

/** Of a round that is settled, the payout belongs to the bet that is named, although it may have ended before. */
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
  // What a rollback of several bets asks for is named for all of them; what is over or short is the first one's.
  const asked = askedOfRollback(targets, entry).minus(sumAmounts(others.map((change) => change.asked)));
  return [{ ...first, asked }, ...others];
}

function askedOfRollback(targets: readonly BetState[], entry: BetEntry): Amount {
  const has = (status: string) => targets.some((bet) => bet.status === status);
  const ofSettled = has("settled") ? (entry.payoutAmount ?? ZERO) : ZERO;
  const ofVoid = has("void") ? (entry.betAmount ?? ZERO) : ZERO;
  return ofSettled.plus(ofVoid).neg();
}

/** Where nothing is open and no bet is named, the round as a whole is asked what was said of it before. */
function whyNotSettled(inRound: readonly BetState[], entry: BetEntry): Impossible {
  const ended = inRound.filter((bet) => !bet.rewardOnly);
  if (ended.length === 0) return "not-placed";
  if (ended.every((bet) => bet.status === "void")) return "round-void";
  const said = saidBy(entry);
  return ended.some((bet) => bet.said.includes(said)) ? "repeated" : "round-settled";
}

/** A single-state settle of a round would begin a bet where nothing is open: its carrier knows that it was paid. */
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

/** Of a cancel, a void or a rollback that finds nothing to act on in its round. */
function whyNothingToActOn(inRound: readonly BetState[], { callback }: BetEntry): Impossible {
  const bets = callback === "rollback" ? inRound.filter((bet) => !bet.rewardOnly) : inRound;
  if (bets.length === 0) return "unknown-round";
  if (callback === "rollback") return "running";
  const other = callback === "cancelBets" ? "settled" : "open";
  if (!bets.some((bet) => bet.status === other)) return "round-void";
  return callback === "cancelBets" ? "round-settled" : "not-settled";
}
