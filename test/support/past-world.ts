/** A world of three hours and its provider over HTTP, on a clock that the test owns. Backfills fetch it again. */

import { onTestFinished } from "vitest";
import type { BetPageRequest } from "../../src/bet.ts";
import { parseConfig } from "../../src/config-file.ts";
import type { Sql } from "../../src/db/client.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import type { Fault } from "../../src/sandbox/faults/fault.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import { createWorld } from "../../src/sandbox/world/world.ts";
import { LONGEST_WINDOW_MS, type TimeRange } from "../../src/window.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "./examples.ts";

/** All play happens in this range, including the last settlements. It is as long as four of the longest windows. */
export const PLAYED: TimeRange = { from: NOON - 6 * HOUR_MS, to: NOON - 6 * HOUR_MS + 4 * LONGEST_WINDOW_MS };
export const PRODUCT = "SPORT";
export const PAGE_SIZE = 25;

const CREDENTIALS = { username: "agent", password: "of the past" };

const world = createWorld({
  seed: 5,
  periods: [{ from: PLAYED.from, to: PLAYED.from + 3 * HOUR_MS }],
  products: [
    { productId: PRODUCT, style: "sport", roundsPerMinute: 2 },
    { productId: "TABLE", style: "table", roundsPerMinute: 1 },
  ],
  players: 10,
  lateSettlementMs: 40 * MINUTE_MS,
  callbackLagMs: 1_000,
  reportLagMs: 1_000,
  faultEveryMinutes: 0,
});

/** What the provider lists of the product at a moment. */
export const listedRecords = (range: TimeRange = PLAYED, at = NOON) => world.recordsIn(PRODUCT, range, at);

export interface PastWorld {
  readonly context: PullContext;
  readonly clock: TestClock;
  /** all requests for a page so far, in order */
  readonly asked: readonly BetPageRequest[];
}

/** Opens the world at noon, until the end of the test. */
export async function openPastWorld(
  sql: Sql,
  changes: { readonly faults?: readonly Fault[]; readonly pull?: object; readonly since?: string } = {},
): Promise<PastWorld> {
  const clock = createTestClock(NOON);
  const { faults = [], pull = {}, since } = changes;
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: PAGE_SIZE,
    faults,
  });
  const config = parseConfig({
    products: [
      { productId: PRODUCT, ...(since === undefined ? {} : { since }) },
      { productId: "TABLE" },
      { productId: "WALLET", walletMode: "transfer" },
    ],
    pull,
  });
  const limits = { requestTimeoutMs: config.pull.requestTimeout, connections: 8, production: false };
  const provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
  onTestFinished(async () => {
    provider.close();
    await sandbox.close();
  });
  const asked: BetPageRequest[] = [];
  const fetchPage: PullContext["fetchPage"] = (request, signal) => {
    asked.push(request);
    return provider.fetchBetPage(request, signal);
  };
  return { context: { sql, config, clock, log: silentLog, fetchPage }, clock, asked };
}
