/** The events of a bet, step by step. Both sides get this story; with a fault, one side gets another. */

import type { LedgerStatus } from "../../bet.ts";
import type { Instant } from "../../clock.ts";
import type { Ticks } from "./stakes.ts";

export type BetEvent =
  /** waiting: the provider has not accepted the sport bet yet (§4.A2) */
  | { readonly type: "placed"; readonly at: Instant; readonly stake: Ticks; readonly waiting: boolean }
  /** a waiting bet is taken; its stake has been debited already */
  | { readonly type: "confirmed"; readonly at: Instant }
  /** the stake is replaced (§4.A6) */
  | { readonly type: "adjusted"; readonly at: Instant; readonly stake: Ticks }
  | { readonly type: "settled"; readonly at: Instant; readonly payout: Ticks }
  /** a jackpot on top of the settlement (§4.A3) */
  | { readonly type: "rewarded"; readonly at: Instant; readonly payout: Ticks }
  | { readonly type: "cancelled"; readonly at: Instant };

/** The events of one bet in order of time. The first one is a placement. */
export type Story = readonly BetEvent[];

export interface StoryState {
  readonly status: LedgerStatus;
  readonly stake: Ticks;
  /** the sum of settlement and reward */
  readonly payout: Ticks;
  /** the signed change of the player's balance by this bet */
  readonly moved: Ticks;
  /** the time of the bet's end, or of its placement while the bet runs */
  readonly accountedAt: Instant;
  readonly updatedAt: Instant;
}

const NOTHING_HAPPENED: StoryState = {
  status: "open",
  stake: 0,
  payout: 0,
  moved: 0,
  accountedAt: 0,
  updatedAt: 0,
};

/** The bet after the first `count` events of its story. */
export function stateAfter(story: Story, count: number = story.length): StoryState {
  let state = NOTHING_HAPPENED;
  for (const event of count < story.length ? story.slice(0, count) : story) state = advance(state, event);
  return state;
}

function advance(before: StoryState, event: BetEvent): StoryState {
  const { at } = event;
  const state = { ...before, updatedAt: at };
  switch (event.type) {
    case "placed":
      return { ...state, stake: event.stake, moved: -event.stake, accountedAt: at };
    case "confirmed":
      return state;
    case "adjusted":
      return { ...state, stake: event.stake, moved: before.moved + before.stake - event.stake };
    case "settled":
      return {
        ...state,
        status: "settled",
        payout: event.payout,
        moved: before.moved + event.payout,
        accountedAt: at,
      };
    case "rewarded":
      return { ...state, payout: before.payout + event.payout, moved: before.moved + event.payout };
    case "cancelled":
      return { ...state, status: "void", payout: 0, moved: before.moved + before.stake, accountedAt: at };
  }
}
