/** The world of a year: thinned play of the simulation, and bets that change after their day. */

import { DateTime } from "luxon";
import { type CallbackEntry, inLedgerOrder } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import { createRandom, hashText } from "../../../src/sandbox/world/random.ts";
import type { World } from "../../../src/sandbox/world/world.ts";
import type { TimeRange } from "../../../src/window.ts";
import { createOddWorld } from "../oddities/odd-world.ts";
import { type Beginning, DAY_MS, MINUTE_MS, tellBet } from "./bet-stories.ts";
import type { ChangingBet } from "./changing-bet.ts";
import { tellSession } from "./session-stories.ts";
import { CHANGING, type YearPlan } from "./year-plan.ts";

const BETS_A_DAY = 4;
const SESSIONS_A_DAY = 1;
/** More players than days between two sessions of one, so that no two of his sessions touch. */
const SESSION_PLAYERS = 3;
const CURRENCIES = ["THB", "USD"] as const;

export interface YearWorld extends World {
  /** without the bets that change */
  readonly thinned: World;
  readonly changing: readonly ChangingBet[];
}

export function createYearWorld(plan: YearPlan): YearWorld {
  const thinned = createOddWorld(plan.world);
  const changing = tellYear(plan);
  const entries = changing.flatMap((one) => one.entries).sort((a, b) => a.receivedAt - b.receivedAt);
  const records = Map.groupBy(
    changing.flatMap((one) => one.records.map((versions) => ({ productId: one.productId, versions }))),
    ({ productId }) => productId,
  );
  return {
    seed: plan.seed,
    products: [
      ...thinned.products,
      ...Object.values(CHANGING).map((productId) => ({ productId, style: "changing", roundsPerMinute: 0 })),
    ],
    thinned,
    changing,
    recordsIn(productId, range, now) {
      const own = records.get(productId);
      if (own === undefined) return thinned.recordsIn(productId, range, now);
      return own
        .flatMap(({ versions }) => versions.findLast(({ at }) => at <= now) ?? [])
        .filter(({ accountedAt }) => range.from <= accountedAt && accountedAt < range.to)
        .sort(
          (a, b) => a.accountedAt - b.accountedAt || ((a.record?.id ?? "") < (b.record?.id ?? "") ? -1 : 1),
        )
        .flatMap(({ record }) => record ?? []);
    },
    entriesReceived({ from, to }) {
      const own = entries.slice(placeOf(entries, from), placeOf(entries, to));
      return [...thinned.entriesReceived({ from, to }), ...own].sort(inLedgerOrder);
    },
    plantedBy: (now) => thinned.plantedBy(now),
    quietAt: () => thinned.quietAt(),
  };
}

/** The txn ids of the thinned bets that the ledger only placed, and of whose round and id the provider has no record. */
export function findEndless({ thinned }: YearWorld, range: TimeRange): Set<string> {
  const entries = thinned.entriesReceived(range);
  const ended = new Set(
    entries
      .filter(({ callback }) => callback !== "placeBets")
      .flatMap(({ txnId, roundId }) => [txnId, roundId]),
  );
  for (const { productId } of thinned.products) {
    for (const { betId, id, roundId } of thinned.recordsIn(productId, range, range.to)) {
      for (const name of [betId, id, roundId]) ended.add(name);
    }
  }
  return new Set(
    entries
      .filter(({ txnId, roundId }) => !ended.has(txnId) && !ended.has(roundId))
      .map(({ txnId }) => txnId),
  );
}

/** The place of the first entry that was received at a moment or later. */
function placeOf(entries: readonly CallbackEntry[], at: Instant): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.receivedAt ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function tellYear(plan: YearPlan): ChangingBet[] {
  const told: ChangingBet[] = [];
  for (let day = plan.played.first; day <= plan.played.last; day += 1) {
    for (let number = 0; number < BETS_A_DAY + SESSIONS_A_DAY; number += 1) {
      const random = createRandom(hashText(`${plan.seed}|changing|${day}|${number}`));
      const isSession = number >= BETS_A_DAY;
      const player = isSession ? day % SESSION_PLAYERS : random.below(6);
      const beginning: Beginning = {
        productId: isSession ? CHANGING.sessions : CHANGING.bets,
        username: `${isSession ? "diver" : "changer"}-${player + 1}`,
        currency: CURRENCIES[player % CURRENCIES.length] ?? "THB",
        txnId: `c-${day}-${number}`,
        startedAt: startOf(plan, day, random.oneIn(4), random.below(24 * 60)),
        random,
        quiet: (at) => plan.quiet(at),
        lateDays: random.between(plan.length.late.least, plan.length.late.most),
        longDays: random.between(plan.length.long.least, plan.length.long.most),
      };
      told.push(isSession ? tellSession(beginning) : tellBet(beginning));
    }
  }
  return told;
}

/** Any minute of the day, or one near the midnight of the zone. */
function startOf(plan: YearPlan, day: number, isNearMidnight: boolean, minute: number): Instant {
  const noon = plan.begin + day * DAY_MS + DAY_MS / 2;
  if (!isNearMidnight) return noon - DAY_MS / 2 + minute * MINUTE_MS;
  const midnight = DateTime.fromMillis(noon, { zone: plan.zoneAt(noon) })
    .startOf("day")
    .toMillis();
  return midnight - 20 * MINUTE_MS + (minute % 30) * MINUTE_MS;
}
