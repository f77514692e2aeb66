import { expect, test } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { readUpkeep } from "../../src/db/storage-store.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";

const { sql, url } = useDatabase();

test("a young database has used nearly none of its transaction ids", async () => {
  const { transactionIds, multixactIds, prepared, slot, seesAll } = await readUpkeep(sql);
  expect(transactionIds).toBeGreaterThan(0);
  expect(transactionIds).toBeLessThan(0.25);
  expect(multixactIds).toBeLessThan(0.25);
  expect({ prepared, slot, seesAll }).toEqual({ prepared: null, slot: null, seesAll: true });
});

test("the oldest open transaction of the database is named", async () => {
  const other = openDatabase(url, 1);
  const open = await other.reserve();
  try {
    const [{ pid } = { pid: 0 }] = await open<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await open`begin`;
    await open`select 1`;
    const { transaction } = await readUpkeep(sql);
    expect(transaction).toMatchObject({ pid, application: "wallet-recon", state: "idle in transaction" });
    expect(transaction?.ageSeconds).toBeGreaterThanOrEqual(0);
    await open`rollback`;
    expect((await readUpkeep(sql)).transaction?.pid).not.toBe(pid);
  } finally {
    open.release();
    await other.end();
  }
});

test("a table is overdue by its own settings, whatever those of the server are", async () => {
  await sql`create table swept (id int) with (autovacuum_enabled = off, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0)`;
  await sql`create table patient (id int) with (autovacuum_enabled = off, autovacuum_vacuum_threshold = 1000000)`;
  for (const table of ["swept", "patient"]) {
    await sql.unsafe(`insert into ${table} select generate_series(1, 20000)`);
    await sql.unsafe(`delete from ${table}`);
  }
  // PostgreSQL counts dead rows a moment later.
  const overdue = await eventually("the dead rows are counted", async () => {
    const found = (await readUpkeep(sql)).overdue;
    return found.some(({ table }) => table === "swept") ? found : null;
  });
  expect(overdue.find(({ table }) => table === "swept")).toEqual({
    table: "swept",
    dead: 20_000,
    overdue: 20,
  });
  expect(overdue.find(({ table }) => table === "patient")).toBeUndefined();
});
