/** A worker in a process of its own, which runs the backfills that are asked for until it is killed. */

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
  /** windows side by side in this process */
  readonly lanes: number;
  /** requests at once, of all processes together */
  readonly budget: number;
}

const order = JSON.parse(process.argv[2] ?? "{}") as WorkerOrder;
const { databaseUrl, redisUrl, lanes } = order;
// A shipped worker has as many lanes as the budget has places. Here the workers are to be the limit, or the budget.
const config = parseConfig({ products: [{ productId: "P1" }], pull: { every: "PT1H", concurrency: lanes } });
const sql = openDatabase(databaseUrl);
const { requestTimeout } = config.pull;
const budget = openBudget(sql, { concurrency: order.budget, minIntervalMs: 0 }, requestTimeout, systemClock);
const provider = openProvider(
  { baseUrl: order.providerUrl, username: order.name, password: "p" },
  { requestTimeoutMs: requestTimeout, connections: lanes, production: false },
  systemClock,
);
const fetchPage = withinBudget(provider.fetchBetPage, budget);
const context = { sql, config, clock: systemClock, log: createLog("warn"), fetchPage };
await startWorker(context, { redisUrl, databaseUrl });
process.on("disconnect", () => process.exit());
