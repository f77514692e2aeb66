/** The rounds that begin in one minute of one product, and the faults that are planted in them. The world is computed by such minutes. */

import type { Instant } from "../../clock.ts";
import type { MismatchKind } from "../../mismatch.ts";
import { formatAmount } from "../../money.ts";
import {
  type BetIds,
  completeAt,
  type PlayedBet,
  type PlayedRound,
  reportBet,
  type SandboxPlayer,
  storyOf,
} from "./played-round.ts";
import { createRandom, hashText, type Random } from "./random.ts";
import {
  amountOf,
  CENT,
  type Currency,
  drawPayout,
  drawStake,
  drawUsualPayout,
  drawUsualStake,
  type Ticks,
} from "./stakes.ts";
import { type BetEvent, type Story, stateAfter } from "./story.ts";
import { STYLES, type Style } from "./styles.ts";
import {
  MINUTE_MS,
  type PlainStyle,
  type PlantedFault,
  type ProductPlan,
  type Script,
  type WorldPlan,
} from "./world-plan.ts";

/** The players of the plain styles. */
export function seatPlayers(seed: number, count: number): SandboxPlayer[] {
  return Array.from({ length: count }, (_, index) =>
    seatPlayer(seed, index, `player-${String(index + 1).padStart(3, "0")}`),
  );
}

/** @param index the place among all players of the seed */
export function seatPlayer(seed: number, index: number, username: string): SandboxPlayer {
  const random = createRandom(hashText(`${seed}|player|${index}`));
  const currency = random.pick<Currency>(["THB", "THB", "THB", "THB", "THB", "THB", "USD", "VND"]);
  return { username, currency };
}

/** The busiest hour of the demo's world: eight in the evening in Bangkok. */
const BUSIEST_HOUR_UTC = 13;

/** The rounds that begin in a minute of one product. */
export interface PlayedMinute {
  readonly rounds: readonly PlayedRound[];
  readonly scripts: readonly Script[];
  readonly planted: readonly { readonly startedAt: Instant; readonly fault: PlantedFault }[];
}

/** How the products of a world are played. */
export interface Play<Style extends string> {
  /** The longest time from the start of a round to its last event, without the lags. */
  longestMs(product: ProductPlan<Style>): number;
  /** Always gives the same result: chance depends only on seed, product, player and minute. */
  playMinute(product: ProductPlan<Style>, minute: number): PlayedMinute;
}

export function playPlain(plan: WorldPlan<string>): Play<PlainStyle> {
  const players = seatPlayers(plan.seed, plan.players);
  return {
    longestMs: ({ style }) => STYLES[style].longestMs(plan.lateSettlementMs),
    playMinute: (product, minute) => playPlainMinute(plan, players, product, minute),
  };
}

function playPlainMinute(
  plan: WorldPlan<string>,
  players: readonly SandboxPlayer[],
  product: ProductPlan,
  minute: number,
): PlayedMinute {
  const random = createRandom(hashText(`${plan.seed}|${product.productId}|${minute}`));
  const rounds: PlayedRound[] = [];
  for (let number = countRounds(plan, random, product, minute); number > 0; number--) {
    const startedAt = minute * MINUTE_MS + random.below(MINUTE_MS);
    rounds.push(
      ...playRound(plan, players, product, random, startedAt, roundIdOf(plan, product, minute, number)),
    );
  }
  const { planted, ...played } = plantFault(plan, product.productId, minute, rounds);
  return { ...played, scripts: [], planted: planted === null ? [] : [planted] };
}

function countRounds(
  plan: WorldPlan<string>,
  random: Random,
  { productId, roundsPerMinute }: ProductPlan,
  minute: number,
): number {
  if (plan.forDemo !== true) return drawCount(random, roundsPerMinute);
  const hour = (minute / 60) % 24;
  const busyness = 1 + 0.7 * Math.cos(((hour - BUSIEST_HOUR_UTC) / 24) * 2 * Math.PI);
  // The demo promises the fault, so a quiet minute must have a round for it.
  const least = isFaultDue(plan, productId, minute) ? 1 : 0;
  return Math.max(least, drawCount(random, roundsPerMinute * busyness));
}

/** One round of the product, once for each of its players. */
function playRound(
  plan: WorldPlan<string>,
  players: readonly SandboxPlayer[],
  product: ProductPlan,
  random: Random,
  startedAt: Instant,
  roundId: string,
): PlayedRound[] {
  const style = STYLES[product.style];
  const [drawOneStake, drawOnePayout] =
    plan.forDemo === true ? [drawUsualStake, drawUsualPayout] : [drawStake, drawPayout];
  const time = { startedAt, endsAt: startedAt + style.roundLastsMs(random, plan.lateSettlementMs) };
  const game = random.pick(style.games);
  const firstPlayer = random.below(players.length);
  const seats = Math.min(style.seatsOfRound(random), players.length);
  return Array.from({ length: seats }, (_, seat) => {
    const player = players[(firstPlayer + seat) % players.length] as SandboxPlayer;
    const bets = Array.from({ length: style.betsOfSeat(random) }, (_, bet) => {
      const story = style.playBet(random, time, {
        stake: () => drawOneStake(random, player.currency),
        payout: (stake) => drawOnePayout(random, stake),
      });
      const ids = idsOf(style, `${roundId}-${seat + 1}${"abc"[bet]}`);
      return reportBet(ids, { callbacks: story, report: story }, plan, random.below(2 ** 32));
    });
    return { productId: product.productId, roundId, player, game, startedAt, bets };
  });
}

function idsOf(style: Style, txnId: string): BetIds {
  return style.txnIdIs === "betId"
    ? { txnId, recordId: `r-${txnId}`, recordBetId: txnId }
    : { txnId, recordId: txnId, recordBetId: `b-${txnId}` };
}

/** Every id contains the seed, so that two worlds in one database share no id. */
export function roundIdOf(
  plan: WorldPlan<string>,
  product: ProductPlan<string>,
  minute: number,
  number: number,
): string {
  return `${product.productId}-${plan.seed.toString(36)}-${minute.toString(36)}-${number.toString(36)}`;
}

export function drawCount(random: Random, average: number): number {
  const whole = Math.floor(average);
  return whole + (random.below(1_000_000) < (average - whole) * 1_000_000 ? 1 : 0);
}

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
function plantFault(
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
function isFaultDue(plan: WorldPlan<string>, productId: string, minute: number): boolean {
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
