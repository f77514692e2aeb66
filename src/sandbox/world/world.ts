/** The seeded world: players at play, the provider's records, and the operator's entries. */

import type { BetRecord } from "../../bet.ts";
import { type CallbackEntry, type CallbackName, inLedgerOrder } from "../../callback.ts";
import type { Instant } from "../../clock.ts";
import type { TimeRange } from "../../window.ts";
import { createCache } from "./bounded-cache.ts";
import { type Play, type PlayedMinute, playPlain } from "./play-minute.ts";
import { type PlayedBet, type PlayedRound, storyOf } from "./played-round.ts";
import { recordOf, stateShown } from "./provider-side.ts";
import { amountOf } from "./stakes.ts";
import { type BetEvent, stateAfter } from "./story.ts";
import type { Script } from "./world-plan.ts";
import { MINUTE_MS, type PlantedFault, type ProductPlan, type WorldPlan } from "./world-plan.ts";

const CALLBACK_OF: Readonly<Record<BetEvent["type"], { callback: CallbackName; status: string }>> = {
  placed: { callback: "placeBets", status: "OPEN" },
  confirmed: { callback: "placeBets", status: "OPEN" },
  adjusted: { callback: "adjustBets", status: "OPEN" },
  settled: { callback: "settleBets", status: "SETTLED" },
  rewarded: { callback: "winRewards", status: "SETTLED" },
  cancelled: { callback: "cancelBets", status: "REFUND" },
};

/** The entry of the bet's callback number `index`, from 0. Its `moved` is the true move of the wallet. */
function entryOf(round: PlayedRound, bet: PlayedBet, index: number): CallbackEntry {
  const sent = bet.callbacks[index];
  if (sent === undefined) throw new RangeError(`${bet.ids.txnId} has no callback ${index}`);
  const { event, at: receivedAt } = sent;
  const story = storyOf(bet.callbacks);
  const before = stateAfter(story, index);
  const after = stateAfter(story, index + 1);
  const { callback, status } = CALLBACK_OF[event.type];
  const pays = event.type === "settled" || event.type === "rewarded";
  return {
    entryId: `e-${bet.ids.txnId}-${index + 1}`,
    callback,
    requestId: `q-${bet.ids.txnId}-${index + 1}`,
    productId: round.productId,
    username: round.player.username,
    currency: round.player.currency,
    txnId: bet.ids.txnId,
    roundId: round.roundId,
    status: event.type === "placed" && event.waiting ? "WAITING" : status,
    betAmount: event.type === "rewarded" ? null : amountOf(after.stake),
    payoutAmount: pays ? amountOf(event.payout) : null,
    transactionType: null,
    singleState: null,
    endRound: null,
    skipBalanceUpdate: false,
    moved: amountOf(after.moved - before.moved),
    balanceBefore: null,
    balanceAfter: null,
    occurredAt: event.at,
    receivedAt,
  };
}

export type { PlantedFault, ProductPlan, WorldPlan };

/** A pure function of its plan and the time: a restarted process continues the same world. */
export interface World {
  readonly seed: number;
  readonly products: readonly ProductPlan<string>[];
  /**
   * The newest version at `now` of each record in the provider's report with an accountingDate in the range, ordered
   * by (accountingDate, id).
   */
  recordsIn(productId: string, range: TimeRange, now: Instant): BetRecord[];
  /** The ledger entries of all products with a receivedAt in the range, in ledger order. */
  entriesReceived(range: TimeRange): CallbackEntry[];
  /** The planted faults that are complete at `now`, ordered by completeAt. */
  plantedBy(now: Instant): PlantedFault[];
  /** The time after which nothing new appears about the rounds of the present periods. */
  quietAt(): Instant;
}

/** The most players' rounds and empty minutes in memory. All others are computed again when needed. */
const MOST_ROUNDS_KEPT = 20_000;

export function createWorld(plan: WorldPlan): World {
  return createWorldOf(plan, playPlain(plan));
}

/** A world whose products are played in other ways than the sandbox's own. */
export function createWorldOf<Style extends string>(plan: WorldPlan<Style>, play: Play<Style>): World {
  const minutes = createCache<PlayedMinute>(MOST_ROUNDS_KEPT, weigh);
  const playedMinute = (product: ProductPlan<Style>, minute: number) =>
    minutes.get(`${minute}|${product.productId}`, () => play.playMinute(product, minute));

  /** The play with events in the range, or up to `lagMs` before it. */
  function* playTouching(
    product: ProductPlan<Style>,
    range: TimeRange,
    lagMs: number,
  ): Generator<{ rounds: PlayedRound[]; scripts: Script[] }> {
    const from = range.from - play.longestMs(product) - lagMs;
    const isPlayed = ({ startedAt }: { startedAt: Instant }) => isWithin(plan.periods, startedAt);
    for (const minute of minutesPlayed(plan.periods, { from, to: range.to })) {
      const { rounds, scripts } = playedMinute(product, minute);
      yield { rounds: rounds.filter(isPlayed), scripts: scripts.filter(isPlayed) };
    }
  }

  return {
    seed: plan.seed,
    products: plan.products,
    recordsIn(productId, range, now) {
      const product = plan.products.find((candidate) => candidate.productId === productId);
      if (product === undefined) return [];
      const found: { at: Instant; record: BetRecord }[] = [];
      for (const { rounds, scripts } of playTouching(product, range, 0)) {
        for (const round of rounds) {
          for (const bet of round.bets) {
            const state = stateShown(bet, now);
            if (state === null || !contains(range, state.accountedAt)) continue;
            found.push({ at: state.accountedAt, record: recordOf(round, bet, state) });
          }
        }
        for (const shown of scripts.flatMap(({ records }) => records)) {
          const version = shown.findLast(({ at }) => at <= now);
          if (version === undefined || version.record === null) continue;
          if (contains(range, version.accountedAt))
            found.push({ at: version.accountedAt, record: version.record });
        }
      }
      return found
        .sort((a, b) => a.at - b.at || (a.record.id < b.record.id ? -1 : 1))
        .map(({ record }) => record);
    },
    entriesReceived(range) {
      const entries: CallbackEntry[] = [];
      for (const product of plan.products) {
        for (const { rounds, scripts } of playTouching(product, range, plan.callbackLagMs)) {
          for (const round of rounds) {
            for (const bet of round.bets) {
              for (const [index, { at }] of bet.callbacks.entries()) {
                if (contains(range, at)) entries.push(entryOf(round, bet, index));
              }
            }
          }
          for (const script of scripts) {
            entries.push(...script.entries.filter(({ receivedAt }) => contains(range, receivedAt)));
          }
        }
      }
      return entries.sort(inLedgerOrder);
    },
    plantedBy(now) {
      const faults: PlantedFault[] = [];
      for (const product of plan.products) {
        for (const minute of minutesPlayed(plan.periods, { from: 0, to: now })) {
          for (const { startedAt, fault } of playedMinute(product, minute).planted) {
            if (fault.completeAt <= now && isWithin(plan.periods, startedAt)) faults.push(fault);
          }
        }
      }
      return faults.sort((a, b) => a.completeAt - b.completeAt);
    },
    quietAt() {
      const lastStart = plan.periods.at(-1)?.to ?? 0;
      const lagMs = Math.max(plan.callbackLagMs, plan.reportLagMs, plan.lateReportMs ?? 0);
      return lastStart + Math.max(0, ...plan.products.map((product) => play.longestMs(product))) + lagMs;
    },
  };
}

/** The minutes of the range with play, each once. */
function* minutesPlayed(periods: readonly TimeRange[], range: TimeRange): Generator<number> {
  let next = Math.floor(range.from / MINUTE_MS);
  for (const period of periods) {
    next = Math.max(next, Math.floor(period.from / MINUTE_MS));
    const end = Math.min(period.to, range.to) / MINUTE_MS;
    for (; next < end; next++) yield next;
  }
}

function isWithin(periods: readonly TimeRange[], at: Instant): boolean {
  return periods.some((period) => contains(period, at));
}

function weigh({ rounds, scripts }: PlayedMinute): number {
  return rounds.length + scripts.length + 1;
}

function contains(range: TimeRange, at: Instant): boolean {
  return range.from <= at && at < range.to;
}
