/** A world of the sandbox, pulled and compared by the real flows, on a clock that the caller owns. Gives pages their data. */

import type { Instant } from "../../src/clock.ts";
import { type Config, parseConfig } from "../../src/config-file.ts";
import type { Sql } from "../../src/db/client.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { deliverCallbacks } from "../../src/flows/ledger/deliver-callbacks.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider, type ProviderClient } from "../../src/provider/client.ts";
import type { AnyFault } from "../../src/sandbox/faults/fault-list.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld, type WorldPlan } from "../../src/sandbox/world/world.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { pullProduct } from "../support/pull-product.ts";

const CREDENTIALS = { username: "agent", password: "of the played world" };
const PAGE_SIZE = 200;

export interface PlayedWorld {
  readonly context: PullContext;
  readonly provider: ProviderClient;
  readonly sandbox: Sandbox;
  readonly clock: TestClock;
  /** Lets time pass in steps. At each step callbacks are written, and every product is pulled and compared. */
  playUntil(until: Instant, stepMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface PlayedPlan {
  readonly world: WorldPlan;
  /** the beginning of the first period, and the clock's first time */
  readonly begin: Instant;
  readonly faults?: readonly AnyFault[];
  /** of a config file, its products included */
  readonly config: object;
}

export async function openPlayedWorld(sql: Sql, plan: PlayedPlan): Promise<PlayedWorld> {
  const { begin, faults = [] } = plan;
  const clock = createTestClock(begin);
  const world = createWorld(plan.world);
  const place = { host: "127.0.0.1", port: 0, pageSize: PAGE_SIZE };
  const sandbox = await startSandbox({ ...CREDENTIALS, ...place, world, clock, faults });
  const config: Config = parseConfig(plan.config);
  const limits = { requestTimeoutMs: config.pull.requestTimeout, connections: 8, production: false };
  const provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
  const context: PullContext = {
    sql,
    config,
    clock,
    log: silentLog,
    fetchPage: (request, signal) => provider.fetchBetPage(request, signal),
  };
  const { signal } = new AbortController();

  async function step(): Promise<void> {
    await deliverCallbacks(context, world, begin, clock.now());
    for (const { productId } of config.products) {
      await pullProduct(context, productId, signal);
      // A comparison may ask for confirm fetches before it reports a mismatch.
      if ((await compareProduct(context, productId, signal)).wantsFetch) {
        await pullProduct(context, productId, signal);
        await compareProduct(context, productId, signal);
      }
    }
  }

  return {
    context,
    provider,
    sandbox,
    clock,
    playUntil: async (until, stepMs) => {
      for (let at = clock.now() + stepMs; at < until; at += stepMs) {
        // A flow that waits for a failing provider moves the clock too.
        clock.set(Math.max(at, clock.now()));
        await step();
      }
      clock.set(Math.max(until, clock.now()));
      await step();
      // Failures have moved the clock, so that live pulling is late by that time.
      for (const { productId } of config.products) await pullProduct(context, productId, signal);
    },
    close: async () => {
      provider.close();
      await sandbox.close();
    },
  };
}
