/** A world that is over: all its mismatches are known, and no time has to pass. */

import { afterAll, beforeAll } from "vitest";
import type { FetchBetPage } from "../../src/bet.ts";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { type Config, parseConfig } from "../../src/config-file.ts";
import type { Sql } from "../../src/db/client.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { openProvider, type ProviderClient } from "../../src/provider/client.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld, type World } from "../../src/sandbox/world/world.ts";

const MINUTE_MS = 60_000;
const CREDENTIALS = { username: "tests", password: "a small world" };

export interface SmallWorld {
  readonly world: World;
  readonly begin: number;
  /** for all products of the world, or the named ones, with intervals short enough for a test */
  config(changes?: { products?: readonly string[]; pullEvery?: string }): Config;
  /** of a worker that pulls this world from the sandbox over HTTP, and compares it */
  context(sql: Sql, log?: Log): PullContext;
}

/** Call at the top of a test file. The sandbox runs as long as the tests of the file. */
export function useSmallWorld(): SmallWorld {
  const begin = systemClock.now() - 55 * MINUTE_MS;
  const products = [
    { productId: "TABLE:1", style: "table", roundsPerMinute: 1 },
    { productId: "SLOT 2", style: "slot", roundsPerMinute: 3 },
    { productId: "SPORT", style: "sport", roundsPerMinute: 1 },
  ] as const;
  const world = createWorld({
    seed: 11,
    periods: [{ from: begin, to: begin + 25 * MINUTE_MS }],
    products,
    players: 20,
    lateSettlementMs: MINUTE_MS,
    callbackLagMs: 1_000,
    reportLagMs: 1_000,
    faultEveryMinutes: 4,
  });
  let sandbox: Sandbox;
  let provider: ProviderClient;
  beforeAll(async () => {
    sandbox = await startSandbox({
      ...CREDENTIALS,
      world,
      clock: systemClock,
      host: "127.0.0.1",
      port: 0,
      pageSize: 50,
    });
    const limits = { requestTimeoutMs: 10_000, connections: 8, production: false };
    provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, systemClock);
  });
  afterAll(async () => {
    provider.close();
    await sandbox.close();
  });
  const config: SmallWorld["config"] = ({
    products: named = products.map(({ productId }) => productId),
    pullEvery = "PT0.2S",
  } = {}) =>
    parseConfig({
      products: named.map((productId) => ({ productId, since: formatInstant(begin) })),
      pull: { every: pullEvery, settleDelay: "PT0S", overlap: "PT5S", requestTimeout: "PT10S" },
      diff: { every: "PT0.2S", callbackGrace: "PT0S", providerGrace: "PT0S" },
    });
  const fetchPage: FetchBetPage = (request, signal) => provider.fetchBetPage(request, signal);
  return {
    world,
    begin,
    config,
    context: (sql, log = silentLog) => ({ sql, config: config(), clock: systemClock, log, fetchPage }),
  };
}
