/** A worker in a process of its own, ended only by `stop`. Arguments: database URL, and a Redis URL or nothing. */

import { startWorker } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase } from "../../src/db/client.ts";
import { readStatus } from "../../src/flows/read/read-status.ts";
import { silentLog } from "../../src/log.ts";
import { eventually } from "../support/eventually.ts";

const [databaseUrl = "", redisUrl = ""] = process.argv.slice(2);
const sql = openDatabase(databaseUrl);
const config = parseConfig({ products: [{ productId: "P1" }], pull: { settleDelay: "PT0S" } });
const context = { sql, config, clock: systemClock, log: silentLog };
const fetchPage = async () => ({ records: [], rejected: [], nextId: null, requestedAt: 0, tookMs: 1 });

const worker = await startWorker({ ...context, fetchPage }, { redisUrl: redisUrl || null, databaseUrl });
await eventually("a product is pulled", async () => (await readStatus(context)).products[0]?.head);
await worker.stop();
await sql.end();
process.stdout.write("stopped");
