/** How many requests an hour of play costs: plays a world minute by minute with the default settings, as a worker does. */

import type { Instant } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import { deliverCallbacks } from "../../src/flows/ledger/deliver-callbacks.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import { createMovingClock } from "../support/clock.ts";
import { pullProduct } from "../support/pull-product.ts";
import { type AuditedMismatch, auditMismatches } from "./audit.ts";
import { createOddWorld } from "./oddities/odd-world.ts";
import { readEverOpened } from "./run-seed.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BEGIN = Date.parse("2026-03-02T08:00:00Z");
const CREDENTIALS = { username: "simulation", password: "a seeded world" };
const PRODUCTS = [
  { productId: "ODD", style: "odd" },
  { productId: "TABLE", style: "table" },
] as const;

/** How the world is played, and how the worker is configured. */
export interface CostPace {
  readonly lengthMs: number;
  /** time between two comparisons */
  readonly stepMs: number;
  /** all durations of the world are this share of their defaults */
  readonly share: number;
  readonly roundsPerMinute: number;
  readonly faultEveryMinutes: number;
  /** as in the config file */
  readonly settings: object;
  /** steps between two runs of pulling; 1: planned windows are fetched at once */
  readonly pullEvery: number;
}

/** The default settings, for some hours. */
export const USUAL: CostPace = {
  lengthMs: 4 * HOUR_MS,
  stepMs: MINUTE_MS,
  share: 1,
  roundsPerMinute: 2,
  faultEveryMinutes: 6,
  settings: {},
  pullEvery: 1,
};

/** All durations are a thirtieth, and a comparison comes every two seconds. */
export const HURRIED: CostPace = {
  lengthMs: 12 * MINUTE_MS,
  stepMs: 2_000,
  share: 1 / 30,
  roundsPerMinute: 30,
  faultEveryMinutes: 1,
  settings: {
    pull: { settleDelay: "PT4S", overlap: "PT10S", resweepAfter: ["PT2M", "PT5M"] },
    diff: { every: "PT2S", callbackGrace: "PT30S", providerGrace: "PT2M" },
  },
  pullEvery: 1,
};

/** For each kind of window, how many were fetched, with how many pages. */
interface PullCost {
  readonly kind: string;
  readonly windows: number;
  readonly pages: number;
}

export interface PlayedHours {
  readonly costs: readonly PullCost[];
  readonly bets: number;
  readonly opened: number;
  /** mismatches that were not planted, in any status */
  readonly wrong: readonly AuditedMismatch[];
  /** the largest number of confirm fetches that were planned and not yet made */
  readonly mostPlanned: number;
}

export async function playAt(databaseUrl: string, seed: number, pace: CostPace): Promise<PlayedHours> {
  const { share, stepMs } = pace;
  const end = BEGIN + pace.lengthMs;
  const world = createOddWorld({
    seed,
    periods: [{ from: BEGIN, to: end }],
    products: PRODUCTS.map((product) => ({ ...product, roundsPerMinute: pace.roundsPerMinute })),
    players: 12,
    lateSettlementMs: HOUR_MS * share,
    callbackLagMs: 5 * MINUTE_MS * share,
    reportLagMs: 2 * MINUTE_MS * share,
    lateReportMs: 30 * MINUTE_MS * share,
    faultEveryMinutes: pace.faultEveryMinutes,
  });
  const clock = createMovingClock(BEGIN, seed);
  const since = new Date(BEGIN).toISOString();
  const config = parseConfig({
    products: PRODUCTS.map(({ productId }) => ({ productId, since })),
    ...pace.settings,
    ledger: { since: new Date(BEGIN - 30 * HOUR_MS).toISOString() },
  });
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 100,
  });
  const limits = { requestTimeoutMs: config.pull.requestTimeout, connections: 4, production: false };
  const provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
  const sql = openDatabase(databaseUrl, 4);
  const context = { sql, config, clock, log: silentLog, fetchPage: provider.fetchBetPage };
  const never = new AbortController().signal;
  let mostPlanned = 0;
  try {
    for (let now: Instant = BEGIN + stepMs, step = 0; now <= end; now += stepMs, step += 1) {
      clock.set(now);
      await deliverCallbacks(context, world, BEGIN, now);
      for (const { productId } of config.products) {
        const isPulled = step % pace.pullEvery === 0;
        if (isPulled) await pullProduct(context, productId, never);
        const { wantsFetch } = await compareProduct(context, productId, never);
        mostPlanned = Math.max(mostPlanned, await countPlanned(sql));
        if (wantsFetch && isPulled) await pullProduct(context, productId, never);
      }
    }
    const costs = await sql<PullCost[]>`
      select kind, count(*) as windows, sum(pages) as pages from windows where status = 'done' group by kind order by kind`;
    const [counts] = await sql<{ bets: number; opened: number }[]>`
      select (select count(*) from bet_records) as bets, (select count(*) from mismatches) as opened`;
    const { wrong } = auditMismatches(world.plantedBy(Number.POSITIVE_INFINITY), await readEverOpened(sql));
    return { costs: [...costs], bets: counts?.bets ?? 0, opened: counts?.opened ?? 0, wrong, mostPlanned };
  } finally {
    await sql.end({ timeout: 5 });
    provider.close();
    await sandbox.close();
  }
}

async function countPlanned(sql: Sql): Promise<number> {
  const [row] = await sql<{ planned: number }[]>`
    select count(*) as planned from windows where kind = 'confirm' and status in ('planned', 'gap')`;
  return row?.planned ?? 0;
}
