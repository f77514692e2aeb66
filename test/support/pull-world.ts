import { afterEach, beforeEach } from "vitest";
import { formatInstant, type Instant } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider, type ProviderClient } from "../../src/provider/client.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { emptyTables, useDatabase } from "./database.ts";
import { NOON } from "./examples.ts";
import { CREDENTIALS, useHttpProvider } from "./http-provider.ts";

/** A database, a provider over HTTP and a clock that stands at noon, for workers that pull P1. All time settles at once. */
export function usePullWorld() {
  const { sql } = useDatabase();
  const provider = useHttpProvider();
  let clock: TestClock;
  let client: ProviderClient;
  beforeEach(async () => {
    await emptyTables(sql);
    clock = createTestClock(NOON);
    const limits = { requestTimeoutMs: 60_000, connections: 8, production: false };
    client = openProvider({ baseUrl: provider.url(), ...CREDENTIALS }, limits, clock);
  });
  afterEach(() => client.close());

  const worker = (since: Instant, pull: Record<string, unknown> = {}): PullContext => {
    const config = parseConfig({
      products: [{ productId: "P1", since: formatInstant(since) }],
      pull: { settleDelay: "PT0S", overlap: "PT0S", resweepAfter: [], every: "PT1H", ...pull },
    });
    return { sql, config, clock, log: silentLog, fetchPage: client.fetchBetPage };
  };
  return { sql, provider, worker, clock: () => clock };
}
