/** Starts the page server as a process of its own, and a client for it. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseConfig } from "../../src/config-file.ts";
import type { Sql } from "../../src/db/client.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import { createTestClock } from "../../test/support/clock.ts";
import { BEGIN, HOUR_MS, type Volume } from "./pages.ts";

export interface PageProvider {
  readonly url: string;
  stop(): void;
}

export async function startPageProvider(volume: Volume): Promise<PageProvider> {
  const server: ChildProcess = fork(join(import.meta.dirname, "page-server.ts"), [JSON.stringify(volume)]);
  const [address] = (await once(server, "message")) as [{ port: number }];
  return { url: `http://127.0.0.1:${address.port}`, stop: () => server.kill() };
}

/** A worker's context for the volume. Time stands still, and the whole volume is in the past. */
export function openPull(
  sql: Sql,
  volume: Volume,
  providerUrl: string,
): { context: PullContext; close: () => void } {
  const clock = createTestClock(BEGIN + (volume.hours + 3) * HOUR_MS);
  const config = parseConfig({
    products: volume.products.map((productId) => ({ productId, since: new Date(BEGIN).toISOString() })),
    pull: { settleDelay: "PT3H", resweepAfter: [] },
  });
  const limits = { requestTimeoutMs: 30_000, connections: 8, production: false };
  const provider = openProvider({ baseUrl: providerUrl, username: "u", password: "p" }, limits, clock);
  const context = { sql, config, clock, log: silentLog, fetchPage: provider.fetchBetPage };
  return { context, close: () => provider.close() };
}
