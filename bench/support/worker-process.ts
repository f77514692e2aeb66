/** A worker in a process of its own, which runs the requested backfills until it is killed. */

import { startWorker } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase } from "../../src/db/client.ts";
import { createLog } from "../../src/log.ts";
import { openBudget, withinBudget } from "../../src/provider/budget.ts";
import { openProvider } from "../../src/provider/client.ts";

export interface WorkerOrder {
  readonly name: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly providerUrl: string;
  /** the windows at once in this process */
  readonly fetchers: number;
  /** the requests at once of all processes */
  readonly budget: number;
}

const order = JSON.parse(process.argv[2] ?? "{}") as WorkerOrder;
const { databaseUrl, redisUrl, fetchers } = order;
// A real worker has as many fetchers as the budget has slots. Here either the workers or the budget must be the
// limit.
const config = parseConfig({
  products: [{ productId: "P1" }],
  pull: { every: "PT1H", concurrency: fetchers },
});
const sql = openDatabase(databaseUrl);
const { requestTimeout } = config.pull;
const budget = openBudget(sql, { concurrency: order.budget, minIntervalMs: 0 }, requestTimeout, systemClock);
const provider = openProvider(
  { baseUrl: order.providerUrl, username: order.name, password: "p" },
  { requestTimeoutMs: requestTimeout, connections: fetchers, production: false },
  systemClock,
);
const fetchPage = withinBudget(provider.fetchBetPage, budget);
const context = { sql, config, clock: systemClock, log: createLog("warn"), fetchPage };
await startWorker(context, { redisUrl, databaseUrl });
process.on("disconnect", () => process.exit());
