/** The provider's side of the world: the events of a bet as a bet record (§2.4). */

import type { BetRecord, BetStatus, PayoutStatus } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import { type PlayedBet, type PlayedRound, storyOf } from "./played-round.ts";
import { amountOf } from "./stakes.ts";
import { type StoryState, stateAfter } from "./story.ts";

/** The provider is in Bangkok: its days and its dates have this offset. */
export const PROVIDER_OFFSET = "+07:00";
const HOUR_MS = 3_600_000;
const OFFSET_MS: Readonly<Record<Offset, number>> = {
  "+07:00": 7 * HOUR_MS,
  Z: 0,
  "+00:00": 0,
  "-05:00": -5 * HOUR_MS,
  "+05:30": 5.5 * HOUR_MS,
};

const STATUS_OF = { open: "OPEN", settled: "SETTLED", void: "VOID" } as const satisfies Record<
  string,
  BetStatus
>;

/** The bet in the report at `now`; null: the report does not show the bet yet. */
export function stateShown(bet: PlayedBet, now: Instant): StoryState | null {
  const shown = bet.report.findLastIndex(({ at }) => at <= now) + 1;
  return shown === 0 ? null : stateAfter(storyOf(bet.report), shown);
}

export function recordOf(round: PlayedRound, bet: PlayedBet, state: StoryState): BetRecord {
  return {
    id: bet.ids.recordId,
    betId: bet.ids.recordBetId,
    username: round.player.username,
    currency: round.player.currency,
    accountingDate: providerTime(state.accountedAt),
    updatedDate: providerTime(state.updatedAt),
    stake: amountOf(state.stake),
    payout: amountOf(state.payout),
    productId: round.productId,
    gameCode: round.game.code,
    gameName: round.game.name,
    roundId: round.roundId,
    betStatus: STATUS_OF[state.status],
    payoutStatus: payoutStatusOf(state),
    extra: null,
  };
}

function payoutStatusOf({ status, stake, payout }: StoryState): PayoutStatus {
  if (status !== "settled") return "UNKNOWN";
  if (payout === stake) return "DRAW";
  return payout > stake ? "WIN" : "LOSE";
}

/** The text of a date. The studio of a product may use another offset. */
export type Offset = "+07:00" | "Z" | "+00:00" | "-05:00" | "+05:30";

export function dateText(at: Instant, offset: Offset): string {
  return new Date(at + OFFSET_MS[offset]).toISOString().replace("Z", offset);
}

export function providerTime(at: Instant): string {
  return dateText(at, PROVIDER_OFFSET);
}
