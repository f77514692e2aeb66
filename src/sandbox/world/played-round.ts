/** A round of one player as both sides will hear of it: what records and callback entries are written from. */

import type { Instant } from "../../clock.ts";
import { createRandom } from "./random.ts";
import type { Currency } from "./stakes.ts";
import type { BetEvent, Story } from "./story.ts";
import type { SandboxGame } from "./styles.ts";

export interface SandboxPlayer {
  readonly username: string;
  readonly currency: Currency;
}

/** All bets of one player in one round; a table's round is one of these for each player at it. */
export interface PlayedRound {
  readonly productId: string;
  readonly roundId: string;
  readonly player: SandboxPlayer;
  readonly game: SandboxGame;
  /** of the whole table */
  readonly startedAt: Instant;
  readonly bets: readonly PlayedBet[];
}

export interface PlayedBet {
  readonly ids: BetIds;
  /** what the operator's callbacks say, and when each is received; empty: they are all lost */
  readonly callbacks: readonly DatedEvent[];
  /** what the provider's report says, and from when it shows it; empty: the record never appears */
  readonly report: readonly DatedEvent[];
  /** seeds the lags of this bet */
  readonly luck: number;
}

export interface BetIds {
  readonly txnId: string;
  readonly recordId: string;
  readonly recordBetId: string;
}

/** An event and when one side hears of it. */
export interface DatedEvent {
  readonly event: BetEvent;
  readonly at: Instant;
}

/** The longest time from an event to the side that hears of it. */
export interface Lags {
  readonly callbackLagMs: number;
  readonly reportLagMs: number;
}

/** A bet whose two sides are told these stories, each with lags of its own. */
export function reportBet(
  ids: BetIds,
  stories: { callbacks: Story; report: Story },
  lags: Lags,
  luck: number,
): PlayedBet {
  return {
    ids,
    callbacks: reportStory(stories.callbacks, lags.callbackLagMs, luck),
    report: reportStory(stories.report, lags.reportLagMs, luck + 1),
    luck,
  };
}

/**
 * Most events are heard of in a tenth of the longest lag, some take all of it. One bet's events are heard in
 * their order: an operator refuses the settlement of a bet it does not know, and the provider sends it again.
 */
function reportStory(story: Story, longestLagMs: number, seed: number): DatedEvent[] {
  const random = createRandom(seed);
  let receivedAt = 0;
  return story.map((event) => {
    const most = random.oneIn(10) ? longestLagMs : Math.floor(longestLagMs / 10);
    receivedAt = Math.max(receivedAt, event.at + random.below(most + 1));
    return { event, at: receivedAt };
  });
}

export function storyOf(events: readonly DatedEvent[]): Story {
  return events.map(({ event }) => event);
}

/** From when on neither side will hear anything new of the round. */
export function completeAt(round: PlayedRound): Instant {
  return Math.max(...round.bets.flatMap((bet) => [...bet.callbacks, ...bet.report].map(({ at }) => at)));
}
