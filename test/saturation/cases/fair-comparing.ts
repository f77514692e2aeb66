import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../../src/db/client.ts";
import { atMost, type SaturationCase } from "../case.ts";
import { productNames } from "../pulling.ts";
import { whileWorking } from "../standing-still.ts";
import { writeBets } from "../support/agreeing-bets.ts";

const PRODUCTS = productNames(7);
const [BUSY = "", ...OTHERS] = PRODUCTS;
const BACKLOG = 200_000;
/** More bets differ than usual, so that the screening drops few. */
const DIFFERS_EVERY = 10;
const EVERY_MS = 5_000;
const ROUNDS = 8;
const LONGEST_MS = 120_000;

export const saturation: SaturationCase = {
  name: "fair-comparing",
  what: `one product has ${BACKLOG} bets to compare, and ${OTHERS.length} others have one now and then`,
  run: (report) =>
    whileWorking(
      {
        config: {
          products: PRODUCTS.map((productId) => ({ productId })),
          diff: { every: `PT${EVERY_MS / 1000}S` },
        },
        workers: 1,
        inRedis: false,
      },
      async ({ sql }) => {
        // The loading of the program at its start is no comparison.
        await delayOf(sql, 1);
        const alone = await measure(sql, 2);
        await writeBets(sql, {
          productId: BUSY,
          from: 1,
          to: BACKLOG,
          roundId: null,
          differsEvery: DIFFERS_EVERY,
        });
        const beside = await measure(sql, 2 + ROUNDS);
        const waiting = await countWaiting(sql);
        report(
          atMost(
            `another's delay beside it against its delay alone (medians of ${seconds(beside.median)} and ${seconds(alone.median)})`,
            Math.round((beside.median / alone.median) * 100) / 100,
            2,
          ),
          atMost("another's longest delay beside it, in ms", beside.longest, 4 * EVERY_MS),
          {
            what: "marks of the busy product that were still due then",
            value: waiting,
            bar: "> 0",
            holds: waiting > 0,
          },
        );
      },
    ),
};

/** In each round every other product gets a bet that differs: the time until it is found. */
async function measure(sql: Sql, from: number) {
  const delays: number[] = [];
  for (let round = from; round < from + ROUNDS; round += 1) {
    delays.push(...(await delayOf(sql, round)));
    // Ticks come at equal distances: without this pause each bet would come right after a tick.
    await pause(((round * 1_700) % EVERY_MS) + 1);
  }
  delays.sort((a, b) => a - b);
  return {
    median: delays[Math.floor(delays.length / 2)] ?? Number.NaN,
    longest: delays.at(-1) ?? Number.NaN,
  };
}

async function delayOf(sql: Sql, number: number): Promise<number[]> {
  for (const productId of OTHERS) {
    await writeBets(sql, { productId, from: number, to: number, roundId: null, differsEvery: number });
  }
  const writtenAt = performance.now();
  const delays = new Map<string, number>();
  while (delays.size < OTHERS.length) {
    const afterMs = Math.round(performance.now() - writtenAt);
    if (afterMs > LONGEST_MS) throw new Error(`after ${LONGEST_MS} ms a bet was not compared`);
    const rows = await sql<{ productId: string }[]>`
      select product_id as "productId" from mismatches
      where product_id = any(${OTHERS}::text[]) and subject = ${`bet:bet-${number}`}`;
    for (const { productId } of rows) if (!delays.has(productId)) delays.set(productId, afterMs);
    await pause(50);
  }
  return [...delays.values()];
}

async function countWaiting(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from diff_marks where product_id = ${BUSY} and due_at <= now()`;
  return row?.count ?? Number.NaN;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
