import { setTimeout } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkDatabase, openDatabase, type Query } from "../../src/db/client.ts";
import { inSnapshot } from "../../src/db/transactions.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { NOON } from "../support/examples.ts";

const { sql, url } = useDatabase();

describe("a value of the database", () => {
  test.each([
    ["2026-11-20 19:00:00+07", NOON],
    ["2026-11-20 12:00:00.123999+00", NOON + 123],
    ["1969-12-31 23:59:59.5+00", -500],
    ["0001-01-01 00:00:00+00", Date.parse("0001-01-01T00:00:00Z")],
    ["9999-12-31 23:59:59.999+00", Date.parse("9999-12-31T23:59:59.999Z")],
  ])("the moment %s is an Instant", async (text, instant) => {
    expect(await sql`select ${text}::text::timestamptz as moment`).toEqual([{ moment: instant }]);
  });

  test("an Instant is read as it was written, alone and in a list", async () => {
    const [row] = await sql`
      select ${NOON + 1}::timestamptz as one, array_to_json(${[NOON, NOON + 1]}::timestamptz[])::text as several`;
    expect(row?.["one"]).toBe(NOON + 1);
    expect(JSON.parse(row?.["several"]).map(Date.parse)).toEqual([NOON, NOON + 1]);
  });

  test("a decimal keeps every digit, and a count is a number", async () => {
    const [row] =
      await sql`select 9007199254740993.10::numeric as amount, count(*) as count from (values (1), (2)) v`;
    expect(row).toEqual({ amount: "9007199254740993.10", count: 2 });
  });
});

describe("a database that does not answer", () => {
  test.each([
    [
      "nobody listens, and waiting may help",
      () => "postgres://agent:s3cret@127.0.0.1:1/ledger",
      "the database ledger at 127.0.0.1:1",
      true,
    ],
    [
      "the database does not exist, and waiting does not help",
      () => urlOf("nowhere"),
      "the database nowhere at",
      false,
    ],
    [
      "the password is wrong, and waiting does not help",
      () => urlOf("postgres", "wr0ng"),
      "the database postgres at",
      false,
    ],
  ])("is named without its password: %s", async (_, urlOfIt, named, retryable) => {
    const pool = openDatabase(urlOfIt(), 1);
    const failure = await checkDatabase(pool).catch((error: unknown) => error);
    await pool.end();
    expect(failure).toMatchObject({ code: "database-unreachable", retryable });
    expect((failure as Error).message).toContain(named);
    expect((failure as Error).message).not.toContain("s3cret");
  });

  function urlOf(database: string, password: string | null | undefined = sql.options.pass): string {
    const { host, port, user } = sql.options;
    return `postgres://${user}:${password}@${host[0]}:${port[0]}/${database}`;
  }
});

describe("a connection that is lost in the middle of a transaction", () => {
  type Kill = () => Promise<unknown>;
  const between = async (tx: Query, kill: Kill) => {
    await kill();
    await tx`select 1`;
  };
  const under = async (tx: Query, kill: Kill) => {
    await Promise.all([tx`select pg_sleep(60)`, kill()]);
  };
  test.each([
    ["between two statements", between],
    ["during a statement", under],
  ])("fails the transaction, and the pool keeps working: %s", async (_, work) => {
    const pool = openDatabase(url, 1);
    const lost = pool.begin(async (tx) => {
      const [row] = await tx`select pg_backend_pid() as pid`;
      await work(tx, async () => await sql`select pg_terminate_backend(${row?.["pid"]}, 5000)`);
    });
    await expect(lost).rejects.toThrow();
    expect(await eventually("the pool answers", () => pool`select 1 as one`)).toEqual([{ one: 1 }]);
    await pool.end();
  });
});

describe("a statement that fails after some rows", () => {
  const failing = (pool: Query) => pool`select 1 / (4 - i) as part from generate_series(1, 9) i`;

  test("does not move the rows of the next one on its connection", async () => {
    const pool = openDatabase(url, 1);
    onTestFinished(() => pool.end({ timeout: 1 }));
    await expect(failing(pool)).rejects.toThrow("division by zero");
    const rows = await pool`select x from generate_series(1, 3) x`;
    expect({ ...rows }).toEqual({ 0: { x: 1 }, 1: { x: 2 }, 2: { x: 3 } });
    await expect(failing(pool)).rejects.toThrow("division by zero");
    expect({ ...(await pool.unsafe("select 1 as one")) }).toEqual({ 0: { one: 1 } });
    await expect(failing(pool)).rejects.toThrow("division by zero");
    expect(await pool`select where false`).toHaveLength(0);
  });

  test("does not move the rows of a transaction, or of what follows it", async () => {
    const pool = openDatabase(url, 1);
    onTestFinished(() => pool.end({ timeout: 1 }));
    await expect(failing(pool)).rejects.toThrow("division by zero");
    expect(await pool.begin(async (tx) => [...(await tx`select 1 as one`)])).toEqual([{ one: 1 }]);
    const within = pool.begin(async (tx) => {
      await expect(tx.savepoint((part) => failing(part))).rejects.toThrow("division by zero");
      return [...(await tx`select 1 as one`)];
    });
    expect(await within).toEqual([{ one: 1 }]);
    await expect(pool.begin((tx) => failing(tx))).rejects.toThrow("division by zero");
    expect({ ...(await pool`select 1 as one`) }).toEqual({ 0: { one: 1 } });
  });

  test("because its connection was lost, does not move the first rows of the new connection", async () => {
    const pool = openDatabase(url, 1);
    onTestFinished(() => pool.end({ timeout: 1 }));
    const [own] = await pool`select pg_backend_pid() as pid`;
    const lost = expect(
      pool`select i, case when i > 2000 then pg_sleep(60) end from generate_series(1, 3000) i`,
    ).rejects.toThrow("CONNECTION_CLOSED");
    await setTimeout(500);
    await sql`select pg_terminate_backend(${own?.["pid"]}, 5000)`;
    await lost;
    expect({ ...(await eventually("it answers", () => pool`select 1 as one`)) }).toEqual({ 0: { one: 1 } });
  });
});

describe("a transaction that begins while its pool is busy", () => {
  // postgres.js sends up to a hundred statements along one connection.
  test.each([98, 99, 100, 101])("is one transaction, behind %i other statements", async (count) => {
    await sql`create table if not exists begun (name text)`;
    await sql`truncate begun`;
    const pool = openDatabase(url, 1);
    onTestFinished(() => pool.end({ timeout: 1 }));
    await pool`select 1`;
    const before = Array.from({ length: count }, () => pool`select 1`.execute());
    const transacting = pool.begin(async (tx) => {
      await tx`insert into begun values ('within')`;
    });
    const after = pool`insert into begun values ('behind')`.execute();
    await Promise.all([...before, transacting, after]);
    expect(await sql`select name from begun order by name`).toEqual([{ name: "behind" }, { name: "within" }]);
  });
});

describe("in a snapshot transaction", () => {
  test("no statement sees what was committed after the first one", async () => {
    await sql`create table if not exists counters (name text primary key, value int not null)`;
    await sql`insert into counters values ('seen', 1)`;
    const seen = await inSnapshot(sql, async (tx) => {
      const read = () => tx`select value from counters where name = 'seen'`;
      const before = await read();
      await sql`update counters set value = 2 where name = 'seen'`;
      return [before[0]?.["value"], (await read())[0]?.["value"]];
    });
    expect(seen).toEqual([1, 1]);
  });

  test("the work is retried if another transaction conflicted, so nothing is lost", async () => {
    await sql`create table if not exists counters (name text primary key, value int not null)`;
    await sql`insert into counters values ('sum', 0)`;
    const add = () =>
      inSnapshot(sql, async (tx) => {
        const [row] = await tx`select value from counters where name = 'sum'`;
        await tx`update counters set value = ${row?.["value"] + 1} where name = 'sum'`;
      });
    await Promise.all([add(), add(), add()]);
    expect(await sql`select value from counters where name = 'sum'`).toEqual([{ value: 3 }]);
  });

  test("an error of the work itself ends the work at once", async () => {
    let tries = 0;
    const failing = inSnapshot(sql, async () => {
      tries += 1;
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(tries).toBe(1);
  });
});
