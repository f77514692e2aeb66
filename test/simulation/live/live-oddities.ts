/** Rounds whose records disappear, move or lag, and that are correct in the end: no mismatch may name them. */

import type { Instant } from "../../../src/clock.ts";
import type { Amount } from "../../../src/money.ts";
import { ZERO } from "../../../src/money.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { NOTHING } from "../oddities/books.ts";
import type { RoundScript } from "../oddities/round-script.ts";
import type { FaultSubject } from "../oddities/round-terms.ts";

export type PlayRound = (round: RoundScript) => Script;

const ABOUT_NO_ROUND: FaultSubject = { bets: [], records: [], ledger: NOTHING, names: "nothing" };

/** In a round of this length its two moves are far enough apart. */
const LONG_ROUND_MS = 60_000;

interface LiveBet {
  readonly stake: Amount;
  readonly payout: Amount;
}

/** The provider drops a record at about the time of the callback that ends its bet: before, with, or after the callback. */
function dropsAbout(round: RoundScript, at: Instant): Instant {
  const { lateReportMs = 0 } = round.context.plan;
  return at + round.random.between(-Math.floor(lateReportMs / 12), Math.floor(lateReportMs / 3));
}

/** Placed, listed as open, cancelled, and no longer listed. */
function dropAfterCancel(round: RoundScript): Script {
  const stake = round.money();
  const at = round.at(round.random.between(15, 60) / 100);
  round.place("a", round.at(0), stake).show("a", round.at(0), { status: "OPEN", stake });
  return round.cancel("a", at, stake).hide("a", dropsAbout(round, at)).right();
}

function settle(round: RoundScript, share: number): LiveBet {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  round.place("a", round.at(0), stake).settle("a", round.at(share), payout);
  round.show("a", round.at(share), { status: "SETTLED", stake, payout });
  return { stake, payout };
}

function voidBet(round: RoundScript, at: Instant, { stake, payout }: LiveBet): void {
  round.say("voidSettled", "a", at, { bet: stake, payout, moved: stake.minus(payout) });
}

function dropAfterVoid(round: RoundScript): Script {
  const bet = settle(round, 0.1);
  const at = round.at(round.random.between(20, 70) / 100);
  voidBet(round, at, bet);
  return round.hide("a", dropsAbout(round, at)).right();
}

/** The result is taken back, and then the bet is cancelled. */
function dropAfterRollback(round: RoundScript): Script {
  const { stake, payout } = settle(round, 0.1);
  const at = round.at(0.55);
  round.rollback("a", round.at(0.4), payout);
  if (round.random.oneIn(2)) round.show("a", round.at(0.4), { status: "UNSETTLED", stake });
  return round.cancel("a", at, stake).hide("a", dropsAbout(round, at)).right();
}

/** Listed as void for a while, possibly with another date, and then no longer. */
function dropVoid(round: RoundScript): Script {
  const bet = settle(round, 0.1);
  const accountedAt = round.random.oneIn(2) ? { accountedAt: round.at(0.1) } : {};
  voidBet(round, round.at(0.4), bet);
  round.show("a", round.at(0.4), { status: "VOID", stake: bet.stake, ...accountedAt });
  return round.hide("a", round.at(0.8)).right();
}

/** A corrected result has the date of its correction. */
function moveWithCorrection(round: RoundScript): Script {
  const { stake, payout } = settle(round, 0.1);
  const at = round.at(round.random.between(30, 90) / 100);
  const changed = payout.plus(stake);
  round.rollback("a", at - 400, payout).settle("a", at, changed);
  return round.show("a", at, { status: "SETTLED", stake, payout: changed }).right();
}

/**
 * Its money does not change and no callback comes, but the record has another date, once or twice; with enough time between,
 * so that no two fetches in a row miss it. It is listed promptly: if it moved by more than providerGrace before any fetch could
 * see it, the bet would rightly be missing at the provider until a resweep.
 */
function moveAlone(round: RoundScript): Script {
  const { stake, payout } = settle(round.promptly(), 0.1);
  const isLong = round.context.plan.lateSettlementMs >= LONG_ROUND_MS;
  const once = round.random.between(20, 95) / 100;
  for (const share of isLong && round.random.oneIn(3) ? [0.35, 0.95] : [once]) {
    round.show("a", round.at(share), { status: "SETTLED", stake, payout });
  }
  return round.right();
}

/** A running bet is listed at its placement, and an ended one at its end. */
function moveFromPlacement(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const end = round.at(round.random.between(30, 100) / 100);
  round.place("a", round.at(0), stake).show("a", round.at(0), { status: "OPEN", stake });
  return round.settle("a", end, payout).show("a", end, { status: "SETTLED", stake, payout }).right();
}

/** Not listed for a moment, shorter than settleDelay. */
function blink(round: RoundScript): Script {
  settle(round.promptly(), 0.1);
  const at = round.at(round.random.between(20, 90) / 100);
  const script = round.right();
  return {
    ...script,
    records: script.records.map((versions) => {
      const last = versions.at(-1);
      if (last === undefined || last.record === null) return versions;
      return [...versions, { ...last, at, record: null }, { ...last, at: at + 800 }];
    }),
  };
}

/** Settled within a second of its placement, and listed as open for longer than callbackGrace. */
function settleAtOnce(round: RoundScript): Script {
  const stake = round.money();
  const payout = round.payoutOf(stake);
  const end = round.at(0) + round.random.between(100, 900);
  round.promptly();
  round.place("a", round.at(0), stake).show("a", round.at(0), { status: "OPEN", stake });
  round.settle("a", end, payout).show("a", end, { status: "SETTLED", stake, payout });
  const script = round.right();
  const { lateReportMs = 0 } = round.context.plan;
  return {
    ...script,
    records: script.records.map((versions) =>
      versions.map((version) => (version.at === end ? { ...version, at: end + lateReportMs } : version)),
    ),
  };
}

/** Money into and out of a game, and a bet besides. */
function topUp(round: RoundScript): Script {
  const amount = round.money();
  settle(round, 0.1);
  round.say("adjustBalance", "-", round.at(0.2), { status: "DEBIT", bet: amount, moved: amount.neg() });
  round.say("adjustBalance", "-", round.at(0.4), { status: "CREDIT", payout: amount, moved: amount });
  return round.right();
}

/** A refused bet that is never listed. */
function dropBeforeListed(round: RoundScript): Script {
  const stake = round.money();
  round.place("a", round.at(0), stake).cancel("a", round.at(0) + 700, stake, { status: "REJECT" });
  return round
    .show("a", round.at(0), { status: "OPEN", stake })
    .hide("a", round.at(0) + 3_000)
    .right();
}

export const LIVE_ODDITIES: readonly [PlayRound, ...PlayRound[]] = [
  dropAfterCancel,
  dropAfterVoid,
  dropAfterRollback,
  dropVoid,
  dropBeforeListed,
  moveWithCorrection,
  moveAlone,
  moveFromPlacement,
  blink,
  settleAtOnce,
  topUp,
];

/** Part of the refId of a top-up that the provider denies. */
export const DENIED = "-denied";

/** The operator booked a top-up, and the provider says that it failed. */
function denyTopUp(round: RoundScript): Script {
  const amount = round.money();
  round.say("adjustBalance", "-", round.at(0.2), { status: "DEBIT", bet: amount, moved: amount.neg() });
  const script = round.wrong("top-up-rejected", ABOUT_NO_ROUND, amount);
  const txnId = `${round.context.roundId}${DENIED}`;
  return {
    ...script,
    entries: script.entries.map((entry) => ({ ...entry, txnId })),
    fault: script.fault && { ...script.fault, transactionId: txnId },
  };
}

export const LIVE_FAULTS: readonly PlayRound[] = [denyTopUp];

/** A player's money is in a game for a while. @param spoil a part that one side does not get */
export function playLiveSession(round: RoundScript, spoil: "nothing" | "debit" | "shot"): Script {
  const shots = [0.05, 0.12, 0.2].map((share) => {
    const stake = round.money();
    return { at: round.at(share), stake, payout: round.random.oneIn(2) ? ZERO : stake.times("3") };
  });
  const out = shots.reduce((sum, { stake }) => sum.plus(stake), ZERO);
  const back = shots.reduce((sum, { payout }) => sum.plus(payout), ZERO);
  if (spoil !== "debit") {
    round.say("adjustBalance", "-", round.at(0), { status: "DEBIT", bet: out, moved: out.neg() });
  }
  round.say("adjustBalance", "-", round.at(0.3), { status: "CREDIT", payout: back, moved: back });
  for (const [index, { at, stake, payout }] of shots.entries()) {
    if (spoil === "shot" && index === 0) continue;
    const name = `shot${index + 1}`;
    round.show(name, at, { status: "SETTLED", stake, payout, round: round.txnId(name) });
  }
  if (spoil === "nothing") return round.right();
  const [{ stake, payout } = { stake: ZERO, payout: ZERO }] = shots;
  const atRisk = spoil === "debit" ? out : payout.minus(stake).abs();
  return round.wrong("session-differs", ABOUT_NO_ROUND, atRisk);
}
