/** Backfills a volume in a process of its own, and prints the peak of its memory in MB. */

import { resourceUsage } from "node:process";
import { openDatabase } from "../../src/db/client.ts";
import { planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { openBackfillRunner } from "../../src/flows/pull/run-backfills.ts";
import { ensurePullState } from "../../src/sync/pull-state-store.ts";
import { initialRange } from "../../src/sync/range-control.ts";
import { openPull } from "./page-provider.ts";
import { BEGIN, countRecords, HOUR_MS, type Volume } from "./pages.ts";

const [databaseUrl = "", providerUrl = "", volumeText = "{}"] = process.argv.slice(2);
const volume = JSON.parse(volumeText) as Volume;

const sql = openDatabase(databaseUrl);
const { context, close } = openPull(sql, volume, providerUrl);
const { windowMin, windowMax, requestTimeout } = context.config.pull;
const limits = { windowMinMs: windowMin, windowMaxMs: windowMax, requestTimeoutMs: requestTimeout };
for (const productId of volume.products) {
  await ensurePullState(sql, productId, BEGIN, initialRange(limits));
  const asked = { productId, from: BEGIN, to: BEGIN + volume.hours * HOUR_MS };
  await requestBackfill(context, await planBackfill(context, asked));
}
await openBackfillRunner(context)(new AbortController().signal);

const [row] = await sql<{ count: number }[]>`select count(*) as count from bet_records`;
if (row?.count !== countRecords(volume)) throw new Error(`${row?.count} records were stored`);
await sql.end();
close();
console.log(resourceUsage().maxRSS / 1024);
