/** A round of one player with the stories of both sides, from which records and callback entries are made. */

import type { Instant } from "../../clock.ts";
import { createRandom } from "./random.ts";
import type { Currency } from "./stakes.ts";
import type { BetEvent, Story } from "./story.ts";
import type { SandboxGame } from "./styles.ts";

export interface SandboxPlayer {
  readonly username: string;
  readonly currency: Currency;
}

/** All bets of one player in one round. A round of a table has one `PlayedRound` for each player. */
export interface PlayedRound {
  readonly productId: string;
  readonly roundId: string;
  readonly player: SandboxPlayer;
  readonly game: SandboxGame;
  /** of the whole round */
  readonly startedAt: Instant;
  readonly bets: readonly PlayedBet[];
}

export interface PlayedBet {
  readonly ids: BetIds;
  /** the story of the operator's callbacks, with their times of receipt; empty: all callbacks are lost */
  readonly callbacks: readonly DatedEvent[];
  /** the story of the provider's report, with the times at which it appears; empty: the record never appears */
  readonly report: readonly DatedEvent[];
  /** the seed of this bet's lags */
  readonly luck: number;
}

export interface BetIds {
  readonly txnId: string;
  readonly recordId: string;
  readonly recordBetId: string;
}

/** An event, and the time at which one side learns it. */
export interface DatedEvent {
  readonly event: BetEvent;
  readonly at: Instant;
}

/** The longest time until a side learns an event. */
export interface Lags {
  readonly callbackLagMs: number;
  readonly reportLagMs: number;
}

/** A bet with these stories. Each side has lags of its own. */
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
 * Most events take at most a tenth of the longest lag, some take more. The events of one bet arrive in order: an
 * operator refuses the settlement of an unknown bet, and the provider sends the settlement again.
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

/** The time after which neither side learns anything new about the round. */
export function completeAt(round: PlayedRound): Instant {
  return Math.max(...round.bets.flatMap((bet) => [...bet.callbacks, ...bet.report].map(({ at }) => at)));
}
