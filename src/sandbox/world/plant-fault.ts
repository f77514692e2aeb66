/** Faults on purpose: one side gets another story of a bet, so that it is known which mismatch must be found. */

import type { Instant } from "../../clock.ts";
import type { MismatchKind } from "../../mismatch.ts";
import { formatAmount } from "../../money.ts";
import { completeAt, type PlayedBet, type PlayedRound, reportBet, storyOf } from "./played-round.ts";
import { createRandom, hashText, type Random } from "./random.ts";
import { amountOf, CENT, type Ticks } from "./stakes.ts";
import { type BetEvent, type Story, stateAfter } from "./story.ts";
import type { WorldPlan } from "./world-plan.ts";

/** A fault with what must be found. */
export interface PlantedFault {
  readonly kind: MismatchKind;
  readonly productId: string;
  readonly username: string;
  /** the record's; null: there is no record */
  readonly betId: string | null;
  /** the ledger's; null: no callback arrived */
  readonly transactionId: string | null;
  /** null: it is about no round */
  readonly roundId: string | null;
  /** decimal text */
  readonly amountAtRisk: string;
  /** from here on both sides say all they will ever say of the round */
  readonly completeAt: Instant;
}

interface Stories {
  readonly callbacks: Story;
  readonly report: Story;
}

interface PlainFault {
  readonly kind: MismatchKind;
  readonly ending: "won" | "cancelled";
  /** divides the events of a bet, of which the last ends it, into the story that each side gets */
  split(story: Story, random: Random): Stories;
}

/** Every way a side can be wrong, in the order in which they are planted. */
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

/** A minute's rounds, one of them perhaps spoilt. */
interface PlantedRounds {
  readonly rounds: readonly PlayedRound[];
  /** null: none is */
  readonly planted: { readonly startedAt: Instant; readonly fault: PlantedFault } | null;
}

/** The minute's rounds with the fault that is due in it, if one is. */
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

/** Which of the faults is due in the minute: they take turns. null: none is. */
export function faultDue<PlainFault>(
  plan: WorldPlan<string>,
  productId: string,
  minute: number,
  faults: readonly PlainFault[],
): PlainFault | null {
  if (plan.faultEveryMinutes <= 0) return null;
  // Where the turns begin depends on seed and product.
  const offset = minute + (hashText(`${plan.seed}|${productId}|faults`) % 10_000);
  if (offset % plan.faultEveryMinutes !== 0) return null;
  return faults[(offset / plan.faultEveryMinutes) % faults.length] ?? null;
}

function spoilBet(bet: PlayedBet, fault: PlainFault, plan: WorldPlan<string>, random: Random): PlayedBet {
  const story = plainStory(storyOf(bet.report), fault.ending, random);
  return reportBet(bet.ids, fault.split(story, random), plan, bet.luck);
}

/**
 * The bet without what could hide a fault or give it another name: it has a stake, no adjustment and no
 * reward, and a won bet is paid more than its stake, so that no sums of its round agree by accident.
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

/** The wallet paid the stake back, yet the provider counts a win. */
function cancelOnLedger(story: Story): Stories {
  return { callbacks: cancelInstead(story), report: story };
}

/** The provider took the bet back after the wallet had paid the win. */
function cancelAtProvider(story: Story): Stories {
  return { callbacks: story, report: cancelInstead(story) };
}

/** The wallet paid another amount than the provider says. */
function payOtherwise(story: Story, random: Random): Stories {
  const { stake } = stateAfter(story);
  const change = random.oneIn(2) ? drawDifference(random, stake) : -drawDifference(random, stake);
  const callbacks = story.map((event) =>
    event.type === "settled" ? { ...event, payout: event.payout + change } : event,
  );
  return { callbacks, report: story };
}

/** The provider counts another stake than the wallet took. */
function stakeOtherwise(story: Story, random: Random): Stories {
  const change = drawDifference(random, stateAfter(story).stake);
  const report = story.map((event) =>
    event.type === "placed" ? { ...event, stake: event.stake + change } : event,
  );
  return { callbacks: story, report };
}

/** Above 0 and at most the stake: from the last digit to all of it. */
function drawDifference(random: Random, stake: Ticks): Ticks {
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

/** What the wallet moved against what the record asks for; no planted fault leaves this at 0. */
function ticksAtRisk(bet: PlayedBet): Ticks {
  const { moved } = stateAfter(storyOf(bet.callbacks));
  const record = stateAfter(storyOf(bet.report));
  const expected = record.status === "settled" ? record.payout - record.stake : 0;
  return Math.abs(moved - expected);
}
