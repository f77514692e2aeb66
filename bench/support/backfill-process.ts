/** Backfills a volume in a process of its own, and prints the peak of its memory in MB. */

import { resourceUsage } from "node:process";
import { openDatabase } from "../../src/db/client.ts";
import { fetchNextWindow } from "../../src/flows/fetch-next-window.ts";
import { initialRange } from "../../src/sync/range-control.ts";
import { ensurePullState, planWindows } from "../../src/sync/store.ts";
import { openPull } from "./page-provider.ts";
import { BEGIN, HOUR_MS, type Volume } from "./pages.ts";

const [databaseUrl = "", providerUrl = "", volumeText = "{}"] = process.argv.slice(2);
const volume = JSON.parse(volumeText) as Volume;
const RUNNERS = 8;

const sql = openDatabase(databaseUrl, RUNNERS);
const { context, close } = openPull(sql, volume, providerUrl);
const { pull } = context.config;
const limits = {
  windowMinMs: pull.windowMin,
  windowMaxMs: pull.windowMax,
  requestTimeoutMs: pull.requestTimeout,
};
for (const productId of volume.products) {
  await ensurePullState(sql, productId, BEGIN, initialRange(limits));
  const hours = Array.from({ length: volume.hours }, (_, hour) => ({
    from: BEGIN + hour * HOUR_MS,
    to: BEGIN + (hour + 1) * HOUR_MS,
  }));
  await planWindows(sql, productId, "backfill", hours);
}

const signal = new AbortController().signal;
async function fetchAll(productId: string): Promise<void> {
  while ((await fetchNextWindow(context, productId, ["backfill"], context.clock.now(), signal)) !== null);
}
await Promise.all(
  volume.products.flatMap((productId) => Array.from({ length: RUNNERS }, () => fetchAll(productId))),
);
await sql.end();
close();
console.log(resourceUsage().maxRSS / 1024);
