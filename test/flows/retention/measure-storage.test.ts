import { beforeEach, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { readStatusForPeople } from "../../../src/flows/read/read-status.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { measureStorage } from "../../../src/flows/retention/measure-storage.ts";
import { silentLog } from "../../../src/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { NOON } from "../../support/examples.ts";

const DAY_MS = 86_400_000;
const GB = 1_000_000_000;
const { sql } = useDatabase();

beforeEach(() =>
  emptyTables(sql, ["storage_states", "storage_days", "storage_tables", "windows", "closed_days"]),
);

const open = (retain: Record<string, string | null> = {}) => ({
  sql,
  config: parseConfig({ products: [{ productId: "P1" }], pull: { resweepAfter: [] }, retain }),
  clock: createTestClock(NOON),
  log: silentLog,
});

test("nothing is said of the space before a worker has measured it", async () => {
  expect((await readStatusForPeople(open())).work.storage).toBeNull();
});

test("a measurement has every table with its indexes, and the largest first", async () => {
  const context = open();
  await measureStorage(context, 500 * GB);
  const { storage } = (await readStatusForPeople(context)).work;
  const [{ bytes, tables } = { bytes: 0, tables: 0 }] = await sql<{ bytes: number; tables: number }[]>`
    select pg_total_relation_size('bet_records') as bytes,
      (select count(*) from pg_tables where schemaname = 'public') as tables`;
  expect(storage).toMatchObject({
    measuredAt: "2026-11-20T12:00:00.000Z",
    bytesPerDay: null,
    diskBytes: 500 * GB,
    daysLeft: null,
  });
  expect(storage?.tables).toHaveLength(tables);
  expect(storage?.tables.find(({ table }) => table === "bet_records")).toEqual({
    table: "bet_records",
    bytes,
    due: null,
  });
  const sizes = storage?.tables.map((one) => one.bytes) ?? [];
  expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
  expect(storage?.bytes).toBeGreaterThan(sizes.reduce((sum, one) => sum + one, 0) / 2);
});

test("the growth is that of the last two weeks, and older days are forgotten", async () => {
  const context = open();
  for (let day = 0; day < 30; day += 1) {
    await measureStorage(context, null);
    // As if it had grown by a gigabyte each day.
    await sql`update storage_days set bytes = bytes - ${GB}`;
    context.clock.advance(DAY_MS);
  }
  await measureStorage(context, null);
  const { storage } = (await readStatusForPeople(context)).work;
  expect(storage?.bytesPerDay).toBeGreaterThan(0.99 * GB);
  expect(storage?.bytesPerDay).toBeLessThan(1.01 * GB);
  const [{ days } = { days: 0 }] = await sql<{ days: number }[]>`select count(*) as days from storage_days`;
  expect(days).toBeLessThanOrEqual(16);
});

test("rows of closed days that a setting deletes are due until the worker has looked at them", async () => {
  const context = open({ windows: "P1D" });
  await sql`
    insert into windows (product_id, kind, from_at, to_at, status, fetched_at)
    select 'P1', 'live', at, at + interval '1 hour', 'done', at + interval '1 hour'
    from generate_series(${NOON - 10 * DAY_MS}::timestamptz, ${NOON - 3_600_000}::timestamptz, interval '1 hour') as at`;
  const due = async () => {
    await measureStorage(context, null);
    const { storage } = (await readStatusForPeople(context)).work;
    return storage?.tables.find(({ table }) => table === "windows")?.due;
  };
  expect(await due()).toBeNull();
  const to = NOON - 5 * DAY_MS;
  await sql`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
    values ('2026-11-14', 'UTC', ${NOON - 100 * DAY_MS}, ${to}, 1, ${NOON}, 'hash', '{}')`;
  const [{ old } = { old: 0 }] = await sql<
    { old: number }[]
  >`select count(*) as old from windows where to_at < ${to}`;
  expect(old).toBeGreaterThan(100);
  expect(await due()).toBe(old);
  await dropClosed(context, new AbortController().signal);
  expect(await due()).toBe(0);
});
