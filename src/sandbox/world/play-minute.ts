/** The rounds that begin in one minute of one product. The world is computed by such minutes. */

import type { Instant } from "../../clock.ts";
import { isFaultDue, plantFault } from "./plant-fault.ts";
import { type BetIds, type PlayedRound, reportBet, type SandboxPlayer } from "./played-round.ts";
import { createRandom, hashText, type Random } from "./random.ts";
import { type Currency, drawPayout, drawStake, drawUsualPayout, drawUsualStake } from "./stakes.ts";
import { STYLES, type Style } from "./styles.ts";
import type { Script } from "./world-plan.ts";
import {
  MINUTE_MS,
  type PlainStyle,
  type PlantedFault,
  type ProductPlan,
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
