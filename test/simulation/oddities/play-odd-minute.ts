/** The rounds that begin in one minute of an odd product. */

import type { Instant } from "../../../src/clock.ts";
import { drawCount, faultDue, type PlayedMinute, roundIdOf } from "../../../src/sandbox/world/play-minute.ts";
import type { SandboxPlayer } from "../../../src/sandbox/world/played-round.ts";
import { createRandom, hashText, type Random } from "../../../src/sandbox/world/random.ts";
import type { SandboxGame } from "../../../src/sandbox/world/styles.ts";
import type { Script } from "../../../src/sandbox/world/world-plan.ts";
import { MINUTE_MS, type ProductPlan } from "../../../src/sandbox/world/world-plan.ts";
import type { OddProductPlan, OddStyle, OddWorldPlan } from "./odd-plan.ts";
import { HAPPENINGS, type RoundStyle } from "./odd-styles.ts";
import { RoundScript } from "./round-script.ts";
import { LONGEST_SESSION_MS, playSession, SESSION_SPOILS, spoilSession } from "./session.ts";

const GAMES: readonly [SandboxGame, ...SandboxGame[]] = [
  { code: "odd-1", name: "Odds & Ends" },
  { code: "UNKNOWN", name: "UNKNOWN" },
  { code: "ปลา", name: "ยิงปลา <Deluxe>" },
];

/** No other product has this currency, so that its tolerance hides no difference of other products. */
const CENTS_CURRENCY = "EUR";

/** The time between the starts of a player's sessions. The pause between two sessions ends the first one. */
const SESSION_EVERY_MINUTES = 180;
const FIRST_SESSION = 1_000;
/** One session in this number has a fault, if the plan has faults. */
const SESSIONS_OF_FAULT = 3;

/** The longest time from the start of a round to its last event, without the lags. */
export function longestOddMs(style: OddStyle, lateSettlementMs: number): number {
  return style === "session" ? LONGEST_SESSION_MS : Math.max(LONGEST_SESSION_MS, lateSettlementMs);
}

/** Chance depends only on seed, product and minute, and for sessions on the player. */
export function playOddMinute(
  plan: OddWorldPlan,
  players: readonly SandboxPlayer[],
  product: OddProductPlan,
  minute: number,
): PlayedMinute {
  const scripts =
    product.style === "session"
      ? playSessions(plan, players, product, minute)
      : product.style === "mixed"
        ? [
            ...playSessions(plan, players, product, minute),
            ...playRounds(plan, players, { ...product, style: product.style }, minute),
          ]
        : playRounds(plan, players, { ...product, style: product.style }, minute);
  const planted = scripts.flatMap(({ startedAt, fault }) => (fault === null ? [] : [{ startedAt, fault }]));
  return { rounds: [], scripts, planted };
}

function playRounds(
  plan: OddWorldPlan,
  players: readonly SandboxPlayer[],
  product: ProductPlan<RoundStyle>,
  minute: number,
): Script[] {
  const { oddities, faults } = HAPPENINGS[product.style];
  const random = createRandom(hashText(`${plan.seed}|${product.productId}|${minute}`));
  const write = (number: number) => {
    const roundId = roundIdOf(plan, product, minute, number);
    const startedAt = minute * MINUTE_MS + random.below(MINUTE_MS);
    return openScript(plan, players, product, { roundId, startedAt, player: random.below(players.length) });
  };
  const count = drawCount(random, product.roundsPerMinute);
  const scripts = Array.from({ length: count }, (_, index) => {
    const round = write(index + 1);
    random.pick(oddities)(round);
    return round.right();
  });
  const fault = faultDue(plan, product.productId, minute, faults);
  return fault === null ? scripts : [...scripts, fault(write(0))];
}

function playSessions(
  plan: OddWorldPlan,
  players: readonly SandboxPlayer[],
  product: OddProductPlan,
  minute: number,
): Script[] {
  return players.flatMap((_, player) => {
    const offset = hashText(`${plan.seed}|${product.productId}|${player}`) % SESSION_EVERY_MINUTES;
    if ((minute + offset) % SESSION_EVERY_MINUTES !== 0) return [];
    // The numbers of rounds are smaller.
    const roundId = roundIdOf(plan, product, minute, player + FIRST_SESSION);
    const round = openScript(plan, players, product, { roundId, startedAt: minute * MINUTE_MS, player });
    return [chooseSession(plan, round)];
  });
}

function chooseSession(plan: OddWorldPlan, round: RoundScript): Script {
  const isWrong = plan.faultEveryMinutes > 0 && round.random.oneIn(SESSIONS_OF_FAULT);
  return isWrong ? spoilSession(round, round.random.pick(SESSION_SPOILS)) : playSession(round);
}

function openScript(
  plan: OddWorldPlan,
  players: readonly SandboxPlayer[],
  { productId, style }: OddProductPlan,
  { roundId, startedAt, player }: { roundId: string; startedAt: Instant; player: number },
): RoundScript {
  const random: Random = createRandom(hashText(`${plan.seed}|${roundId}`));
  const playerOf = (index: number): SandboxPlayer => {
    const player = players[index % players.length] as SandboxPlayer;
    return style === "two-decimals" ? { ...player, currency: CENTS_CURRENCY } : player;
  };
  return new RoundScript({
    plan,
    productId,
    roundId,
    startedAt,
    random,
    game: random.pick(GAMES),
    player: playerOf(player),
    stranger: playerOf(player + 1),
  });
}
