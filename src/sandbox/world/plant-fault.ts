/** Plants faults: one side gets another story of a bet, and the expected mismatch is known. */

import type { Instant } from "../../clock.ts";
import type { MismatchKind } from "../../mismatch.ts";
import { formatAmount } from "../../money.ts";
import { completeAt, type PlayedBet, type PlayedRound, reportBet, storyOf } from "./played-round.ts";
import { createRandom, hashText, type Random } from "./random.ts";
import { amountOf, CENT, type Ticks } from "./stakes.ts";
import { type BetEvent, type Story, stateAfter } from "./story.ts";
import { MINUTE_MS, type PlantedFault, type WorldPlan } from "./world-plan.ts";

interface Stories {
  readonly callbacks: Story;
  readonly report: Story;
}

interface PlainFault {
  readonly kind: MismatchKind;
  readonly ending: "won" | "cancelled";
  /** makes the story of each side from the events of a bet; the last event ends the bet */
  split(story: Story, random: Random, plan: WorldPlan<string>): Stories;
}

/** All kinds of wrong sides, in the order of planting. */
const FAULTS: readonly PlainFault[] = [
  { kind: "missing-in-ledger", ending: "won", split: loseCallbacks },
  { kind: "missing-settlement", ending: "won", split: loseLastCallback },
  { kind: "payout-differs", ending: "won", split: payOtherwise },
  { kind: "missing-at-provider", ending: "won", split: loseRecord },
  { kind: "status-differs", ending: "won", split: cancelOnLedger },
  { kind: "stake-differs", ending: "won", split: stakeOtherwise },
  { kind: "missing-settlement", ending: "cancelled", split: loseLastCallback },
  { kind: "status-differs", ending: "won", split: cancelAtProvider },
];

/** The rounds of a minute, with a fault in one of them or in none. */
interface PlantedRounds {
  readonly rounds: readonly PlayedRound[];
  /** null: no round has a fault */
  readonly planted: { readonly startedAt: Instant; readonly fault: PlantedFault } | null;
}

/** @returns the rounds of the minute, with its fault if one is due */
export function plantFault(
  plan: WorldPlan<string>,
  productId: string,
  minute: number,
  rounds: readonly PlayedRound[],
): PlantedRounds {
  const fault = faultDue(plan, productId, minute, FAULTS);
  const random = createRandom(hashText(`${plan.seed}|${productId}|${minute}|fault`));
  const clean = rounds[random.below(rounds.length)];
  if (fault === null || clean === undefined) return { rounds, planted: null };

  const chosen = random.below(clean.bets.length);
  const bets = clean.bets.map((bet, index) => (index === chosen ? spoilBet(bet, fault, plan, random) : bet));
  const spoilt = { ...clean, bets };
  return {
    rounds: rounds.map((round) => (round === clean ? spoilt : round)),
    planted: { startedAt: spoilt.startedAt, fault: describeFault(fault, spoilt, bets[chosen] as PlayedBet) },
  };
}

/** Faults take turns. @returns the fault that is due in the minute; null: none is due */
export function faultDue<PlainFault>(
  plan: WorldPlan<string>,
  productId: string,
  minute: number,
  faults: readonly PlainFault[],
): PlainFault | null {
  if (plan.faultEveryMinutes <= 0) return null;
  // Each seed and product begins with another turn.
  if (plan.forDemo === true) return faultOfTurn(plan, productId, minute, faults);
  const offset = minute + (hashText(`${plan.seed}|${productId}|faults`) % 10_000);
  if (offset % plan.faultEveryMinutes !== 0) return null;
  return faults[(offset / plan.faultEveryMinutes) % faults.length] ?? null;
}

/** Whether the minute of the product has a plain fault. */
export function isFaultDue(plan: WorldPlan<string>, productId: string, minute: number): boolean {
  return faultDue(plan, productId, minute, FAULTS) !== null;
}

/** The products that are played take turns, and so do the faults. No fault begins the world. */
function faultOfTurn<PlainFault>(
  { periods, products, faultEveryMinutes }: WorldPlan<string>,
  productId: string,
  minute: number,
  faults: readonly PlainFault[],
): PlainFault | null {
  const played = products.filter(({ roundsPerMinute }) => roundsPerMinute > 0);
  const turn = (minute - Math.floor((periods[0]?.from ?? 0) / MINUTE_MS)) / faultEveryMinutes;
  if (!Number.isInteger(turn) || turn <= 0 || played[turn % played.length]?.productId !== productId)
    return null;
  return faults[turn % faults.length] ?? null;
}

function spoilBet(bet: PlayedBet, fault: PlainFault, plan: WorldPlan<string>, random: Random): PlayedBet {
  const story = plainStory(storyOf(bet.report), fault.ending, random);
  return reportBet(bet.ids, fault.split(story, random, plan), plan, bet.luck);
}

/**
 * A bet whose fault nothing can hide or rename. The bet has a stake, no adjustment and no reward. A won bet pays more
 * than its stake, so that the sums of its round cannot agree by accident.
 */
function plainStory(story: Story, ending: PlainFault["ending"], random: Random): Story {
  const { accountedAt: at, stake } = stateAfter(story);
  const staked = Math.max(stake, CENT);
  const beginning = story
    .filter((event) => event.type === "placed" || event.type === "confirmed")
    .map((event): BetEvent => (event.type === "placed" ? { ...event, stake: staked } : event));
  if (ending === "cancelled") return [...beginning, { type: "cancelled", at }];
  return [...beginning, { type: "settled", at, payout: staked * random.between(2, 5) }];
}

function loseCallbacks(story: Story): Stories {
  return { callbacks: [], report: story };
}

function loseLastCallback(story: Story): Stories {
  return { callbacks: story.slice(0, -1), report: story };
}

function loseRecord(story: Story): Stories {
  return { callbacks: story, report: [] };
}

/** The wallet paid the stake back, but the provider counts a win. */
function cancelOnLedger(story: Story): Stories {
  return { callbacks: cancelInstead(story), report: story };
}

/** The provider took the bet back after the wallet had paid the win. */
function cancelAtProvider(story: Story): Stories {
  return { callbacks: story, report: cancelInstead(story) };
}

/** The wallet paid another amount than the provider reports. */
function payOtherwise(story: Story, random: Random, plan: WorldPlan<string>): Stories {
  const { stake } = stateAfter(story);
  const change = random.oneIn(2) ? drawDifference(random, stake, plan) : -drawDifference(random, stake, plan);
  const callbacks = story.map((event) =>
    event.type === "settled" ? { ...event, payout: event.payout + change } : event,
  );
  return { callbacks, report: story };
}

/** The provider counts another stake than the wallet took. */
function stakeOtherwise(story: Story, random: Random, plan: WorldPlan<string>): Stories {
  const change = drawDifference(random, stateAfter(story).stake, plan);
  const report = story.map((event) =>
    event.type === "placed" ? { ...event, stake: event.stake + change } : event,
  );
  return { callbacks: story, report };
}

/** Above 0 and at most the stake: the last digit, a cent, or all. The demo shows no tiny amounts. */
function drawDifference(random: Random, stake: Ticks, { forDemo }: WorldPlan<string>): Ticks {
  if (forDemo === true) return stake;
  return random.pick([1, Math.min(CENT, stake), stake]);
}

function cancelInstead(story: Story): Story {
  return story.map((event) => (event.type === "settled" ? { type: "cancelled", at: event.at } : event));
}

function describeFault(fault: PlainFault, round: PlayedRound, bet: PlayedBet): PlantedFault {
  return {
    kind: fault.kind,
    productId: round.productId,
    username: round.player.username,
    betId: bet.report.length === 0 ? null : bet.ids.recordBetId,
    transactionId: bet.callbacks.length === 0 ? null : bet.ids.txnId,
    roundId: round.roundId,
    amountAtRisk: formatAmount(amountOf(ticksAtRisk(bet))),
    completeAt: completeAt(round),
  };
}

/** The difference between the wallet's move and the record. No planted fault makes it 0. */
function ticksAtRisk(bet: PlayedBet): Ticks {
  const { moved } = stateAfter(storyOf(bet.callbacks));
  const record = stateAfter(storyOf(bet.report));
  const expected = record.status === "settled" ? record.payout - record.stake : 0;
  return Math.abs(moved - expected);
}
