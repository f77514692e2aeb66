/** A game that uses one round id for ever, with 60,000 agreeing bets and one that differs. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { withDatabase } from "../../../bench/support/database.ts";
import type { Sql } from "../../../src/db/client.ts";
import { atMost, type Report, type SaturationCase } from "../case.ts";
import { writeBets } from "../support/agreeing-bets.ts";
import { startRealWorker } from "../support/real-worker.ts";

const BETS = 60_000;
const LONGEST_MS = 150_000;
const MOST_MEGABYTES = 600;

/** The one that differs is among the others. */
const DIFFERS = 40_000;

export const saturation: SaturationCase = {
  name: "round-for-ever",
  what: `a round with ${BETS} agreeing bets, and one that differs, is compared`,
  run: async (report) =>
    await withDatabase(async (sql, url) => {
      const provider = createServer((_, response) => {
        response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"reqId":"r","code":0,"message":"Success","data":{"txns":[]}}');
      }).listen(0, "127.0.0.1");
      await write(sql, 1, BETS, DIFFERS);
      const { port } = provider.address() as AddressInfo;
      const config = { products: [{ productId: "P1" }], diff: { every: "PT1S" } };
      const worker = await startRealWorker(url, config, {
        PROVIDER_BASE_URL: `http://127.0.0.1:${port}`,
        PROVIDER_USERNAME: "u",
        PROVIDER_PASSWORD: "p",
      });
      try {
        await measure(sql, () => worker.peakMegabytes(), report);
      } finally {
        await worker.stop();
        provider.close();
      }
    }),
};

async function measure(sql: Sql, peakMegabytes: () => number, report: Report): Promise<void> {
  const foundAfter = await seconds(async () => {
    const open = await sql`select subject from mismatches where status = 'open'`;
    return open.length === 1 && open[0]?.["subject"] === `bet:bet-${DIFFERS}`;
  });
  report(atMost("seconds until the planted difference is found", foundAfter, LONGEST_MS / 1000));
  await write(sql, BETS + 1, BETS + 1, BETS + 1);
  const nextAfter = await seconds(
    async () => (await sql`select from mismatches where subject = ${`bet:bet-${BETS + 1}`}`).length === 1,
  );
  report(atMost("seconds until the next bet that differs is found", nextAfter, 15));
  report(atMost("megabytes of the worker", Math.round(peakMegabytes()), MOST_MEGABYTES));
}

async function seconds(isDone: () => Promise<boolean>): Promise<number> {
  const startedAt = performance.now();
  while (!(await isDone())) {
    if (performance.now() - startedAt > LONGEST_MS) return Number.POSITIVE_INFINITY;
    await pause(250);
  }
  return Math.round((performance.now() - startedAt) / 100) / 10;
}

async function write(sql: Sql, from: number, to: number, differsEvery: number): Promise<void> {
  await writeBets(sql, { productId: "P1", from, to, roundId: "for-ever", differsEvery });
}
