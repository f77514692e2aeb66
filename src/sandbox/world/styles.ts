/** The styles of play: the players of a round, its length, and the story of a bet. */

import type { Instant } from "../../clock.ts";
import type { Random } from "./random.ts";
import type { Ticks } from "./stakes.ts";
import type { Story } from "./story.ts";
import type { PlainStyle } from "./world-plan.ts";

export interface SandboxGame {
  readonly code: string;
  readonly name: string;
}

/** The time from the first possible placement to the settlement. */
interface RoundTime {
  readonly startedAt: Instant;
  readonly endsAt: Instant;
}

/** Each call gives another amount. */
interface MoneyDraws {
  stake(): Ticks;
  payout(stake: Ticks): Ticks;
}

export interface Style {
  readonly games: readonly [SandboxGame, ...SandboxGame[]];
  /** the field of the record that contains the txn id of the callbacks */
  readonly txnIdIs: "betId" | "id";
  seatsOfRound(random: Random): number;
  betsOfSeat(random: Random): number;
  /** the length of a round, at most `lateMs` */
  roundLastsMs(random: Random, lateMs: number): number;
  playBet(random: Random, time: RoundTime, draw: MoneyDraws): Story;
  /** the longest time from the start of a round to its last event */
  longestMs(lateMs: number): number;
}

const LONGEST_TABLE_MS = 40_000;
const LONGEST_SPIN_MS = 2_000;
const LONGEST_JACKPOT_MS = 3_000;

const table: Style = {
  games: [
    { code: "bac-1", name: "Baccarat 1" },
    { code: "dt-1", name: "Dragon & Tiger" },
    { code: "sicbo-1", name: "ไฮโล" },
  ],
  txnIdIs: "betId",
  seatsOfRound: (random) => random.between(1, 4),
  betsOfSeat: (random) => random.between(1, 3),
  roundLastsMs: (random, lateMs) => Math.min(random.between(20_000, LONGEST_TABLE_MS), lateMs),
  playBet(random, { startedAt, endsAt }, draw) {
    const stake = draw.stake();
    const bettingMs = Math.floor((endsAt - startedAt) / 4);
    return [
      { type: "placed", at: startedAt + random.below(bettingMs + 1), stake, waiting: false },
      { type: "settled", at: endsAt, payout: draw.payout(stake) },
    ];
  },
  longestMs: () => LONGEST_TABLE_MS,
};

const slot: Style = {
  games: [
    { code: "fruit-7", name: "Fruit Sevens" },
    { code: "pharaoh", name: "Pharaoh's Gold" },
  ],
  txnIdIs: "betId",
  seatsOfRound: () => 1,
  betsOfSeat: () => 1,
  roundLastsMs: (random, lateMs) => Math.min(random.between(200, LONGEST_SPIN_MS), lateMs),
  playBet(random, { startedAt, endsAt }, draw) {
    const chips = draw.stake();
    const isFreeSpin = random.oneIn(12);
    const story: Story = [
      { type: "placed", at: startedAt, stake: isFreeSpin ? 0 : chips, waiting: false },
      { type: "settled", at: endsAt, payout: isFreeSpin ? chips : draw.payout(chips) },
    ];
    if (!random.oneIn(25)) return story;
    const jackpot = draw.stake();
    return [
      ...story,
      { type: "rewarded", at: endsAt + random.between(1, LONGEST_JACKPOT_MS), payout: jackpot },
    ];
  },
  longestMs: () => LONGEST_SPIN_MS + LONGEST_JACKPOT_MS,
};

const sport: Style = {
  games: [
    { code: "football", name: "Football" },
    { code: "muay-thai", name: "Muay Thai" },
  ],
  txnIdIs: "id",
  seatsOfRound: () => 1,
  betsOfSeat: () => 1,
  roundLastsMs: (random, lateMs) => random.between(Math.ceil(lateMs / 10), lateMs),
  playBet(random, { startedAt, endsAt }, draw) {
    const lastsMs = endsAt - startedAt;
    const placed = draw.stake();
    const adjusted = random.oneIn(8) ? draw.stake() : placed;
    const story: Story = [
      { type: "placed", at: startedAt, stake: placed, waiting: true },
      { type: "confirmed", at: startedAt + Math.min(random.between(500, 5_000), Math.floor(lastsMs / 4)) },
      { type: "adjusted", at: startedAt + Math.floor(lastsMs / 2), stake: adjusted },
      random.oneIn(10)
        ? { type: "cancelled", at: endsAt }
        : { type: "settled", at: endsAt, payout: draw.payout(adjusted) },
    ];
    return adjusted === placed ? story.filter((event) => event.type !== "adjusted") : story;
  },
  longestMs: (lateMs) => lateMs,
};

export const STYLES: Readonly<Record<PlainStyle, Style>> = { table, slot, sport };
