import { beforeEach, expect, test } from "vitest";
import type { Query } from "../../src/db/client.ts";
import {
  insertBackfill,
  leaseBackfillWindow,
  lockBackfill,
  startQueuedBackfills,
  withdrawLeases,
  writeBackfillStatus,
} from "../../src/sync/backfill-store.ts";
import { renewLease } from "../../src/sync/leased-window-store.ts";
import { cutIntoPieces } from "../../src/window.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";

const { sql } = useDatabase();
const range = { from: NOON - 10 * HOUR_MS, to: NOON };
const backfill = { id: 1, productId: "P1" };

beforeEach(async () => {
  await emptyTables(sql, ["windows", "backfills"]);
  const asked = { ...range, productId: "P1", requestedAt: NOON };
  await sql.begin((tx) => insertBackfill(tx, asked, cutIntoPieces(range, HOUR_MS)));
  await startQueuedBackfills(sql, NOON);
});

const lease = (query: Query = sql) => leaseBackfillWindow(query, backfill, NOON, 5);

async function pause(tx: Query): Promise<void> {
  await lockBackfill(tx, backfill.id);
  await writeBackfillStatus(tx, backfill.id, "paused", null);
  await withdrawLeases(tx, backfill.id);
}

test("a window is leased once, however many processes ask at the same time", async () => {
  const asked = await Promise.all(Array.from({ length: 30 }, () => lease()));
  const given = asked.filter((window) => window !== null);
  for (let window = await lease(); window !== null; window = await lease()) given.push(window);
  expect(given.map(({ from }) => from).sort()).toEqual(cutIntoPieces(range, HOUR_MS).map(({ from }) => from));
});

test("a pause waits for a lease that is being written, and takes the lease back", async () => {
  const leased = Promise.withResolvers<void>();
  const leasing = sql.begin(async (tx) => {
    const window = await lease(tx);
    leased.resolve();
    await untilSomebodyWaits(sql);
    return window;
  });
  await leased.promise;
  await sql.begin(pause);
  const window = await leasing;
  if (window === null) throw new Error("nothing was leased");
  await expect(renewLease(sql, window)).rejects.toMatchObject({ code: "lease-lost" });
});

test("a lease waits for a pause that is being written, and is refused", async () => {
  const paused = Promise.withResolvers<void>();
  const pausing = sql.begin(async (tx) => {
    await pause(tx);
    paused.resolve();
    await untilSomebodyWaits(sql);
  });
  await paused.promise;
  expect(await lease()).toBeNull();
  await pausing;
});
