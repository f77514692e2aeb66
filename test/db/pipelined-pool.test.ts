import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { Deadline } from "../../src/db/deadline.ts";
import { connectPipelined, setLocally } from "../../src/db/pipelined-connection.ts";
import { openPipelinedPool } from "../../src/db/pipelined-pool.ts";
import { putAll, type SqlStatement, writeStatement } from "../../src/db/statement.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const { sql, url } = useDatabase();
const ASK: SqlStatement = { text: "select count(*) as notes from notes", values: [] };
const UNIQUE_VIOLATION = "23505";

beforeEach(async () => {
  await sql`drop table if exists notes`;
  await sql`create table notes (id text primary key, tags text[], is_new boolean)`;
});

const openOwn = (retried: readonly string[] = [], address = url, longestRunMs?: number) => {
  const pool = openDatabase(address, 1);
  const pipelined = openPipelinedPool(pool, retried, longestRunMs);
  onTestFinished(async () => {
    await pipelined.close();
    await pool.end();
  });
  return pipelined;
};
const insert = (...ids: string[]) =>
  writeStatement(
    (put) =>
      `insert into notes values ${ids.map((id) => `(${putAll(put, [id, [id, null], true])})`).join(", ")}`,
  );
const within = (lengthMs: number) => {
  const deadline = new Deadline(lengthMs);
  onTestFinished(() => deadline.stop());
  return deadline;
};
const write = (pipelined: ReturnType<typeof openOwn>, ...statements: SqlStatement[]) =>
  pipelined.transact(
    [ASK],
    ([rows]) => ({ result: rows?.[0]?.["notes"], write: statements }),
    within(60_000),
  );
/** On a busy machine the database may not answer within the time-out of a test. */
const hasWritten = (pipelined: ReturnType<typeof openOwn>) =>
  write(pipelined).then(
    () => true,
    () => false,
  );
const notes = async () => (await sql<{ id: string }[]>`select id from notes order by id`).map(({ id }) => id);

describe("a transaction on a pipelined connection", () => {
  test("reads what it asked for, and has committed what it wrote when it is over", async () => {
    const pipelined = openOwn();
    expect(await write(pipelined, insert("a"), insert("b", "c"))).toBe("0");
    expect(await write(pipelined)).toBe("3");
    expect(await notes()).toEqual(["a", "b", "c"]);
  });

  test("writes any text unchanged, in arrays too", async () => {
    const odd = `{"a",\\ 'NULL'}\n$1 ü`;
    await write(openOwn(), insert(odd));
    expect(await sql`select id, tags[1] as first, tags[2] is null as "hasNull", is_new from notes`).toEqual([
      { id: odd, first: odd, hasNull: true, is_new: true },
    ]);
  });

  test("that fails leaves nothing behind, and the connection keeps working", async () => {
    const pipelined = openOwn();
    const failed = write(pipelined, insert("a"), insert("b", "b"), insert("c"));
    await expect(failed).rejects.toMatchObject({ code: UNIQUE_VIOLATION });
    expect(await notes()).toEqual([]);
    expect(await write(pipelined, insert("a"))).toBe("0");
    expect(await notes()).toEqual(["a"]);
  });

  test("whose decision fails leaves nothing behind, and holds no lock", async () => {
    const pipelined = openOwn();
    const failed = pipelined.transact(
      [{ text: "lock table notes", values: [] }],
      () => {
        throw new Error("no decision");
      },
      within(60_000),
    );
    await expect(failed).rejects.toThrow("no decision");
    await write(pipelined, insert("a"));
    expect(await notes()).toEqual(["a"]);
  });

  test("is retried after an error that allows it, and then sees what others committed", async () => {
    const pipelined = openOwn([UNIQUE_VIOLATION]);
    await sql`insert into notes values ('taken')`;
    const ids = ["taken", "free"];
    const asked = await pipelined.transact(
      [ASK],
      ([rows]) => ({
        result: rows?.[0]?.["notes"],
        write: [insert(ids.shift() ?? "")],
      }),
      within(60_000),
    );
    expect(asked).toBe("1");
    expect(await notes()).toEqual(["free", "taken"]);
  });

  test("with very many values runs like any other", async () => {
    const ids = Array.from({ length: 400 }, (_, index) => `note-${1000 + index}`);
    const pipelined = openOwn();
    await write(pipelined, insert(...ids));
    await emptyTables(sql, ["notes"]);
    await write(pipelined, insert(...ids));
    expect(await notes()).toEqual(ids);
  });
});

describe("a prepared statement that PostgreSQL refuses for ever", () => {
  const tables = { text: "select id from notes", values: [] };
  const spoil: readonly (readonly [string, SqlStatement])[] = [
    ["the type of a column has changed", { text: "alter table notes alter id type varchar(40)", values: [] }],
    ["it is gone", { text: "deallocate all", values: [] }],
  ];
  test.each(spoil)("is prepared again, alone and in transactions: %s", async (_, how) => {
    const pipelined = openOwn();
    const read = () => pipelined.run(tables);
    await write(pipelined, insert("a"));
    expect([await read(), await read()]).toEqual([[{ id: "a" }], [{ id: "a" }]]);
    await pipelined.run(how);
    expect(await read()).toEqual([{ id: "a" }]);
    await pipelined.run(how);
    const inTransaction = pipelined.transact(
      [tables],
      ([rows]) => ({ result: rows, write: [insert("b")] }),
      within(60_000),
      1,
    );
    expect(await inTransaction).toEqual([{ id: "a" }]);
    expect(await notes()).toEqual(["a", "b"]);
  });

  test("is prepared again under a name that is free", async () => {
    const pipelined = openOwn();
    await pipelined.run(tables);
    // The third statement of the connection; the next one would be kept_4.
    await pipelined.run({ text: "prepare kept_4 as select 1", values: [] });
    expect(await pipelined.run({ text: "select count(*) as notes from notes", values: [] })).toEqual([
      { notes: "0" },
    ]);
  });
});

test("the settings of a pipelined connection end with each packet and each transaction", async () => {
  const connection = await connectPipelined(sql, 10_000);
  onTestFinished(() => connection.close());
  const names = ["enable_seqscan", "statement_timeout", "plan_cache_mode"];
  const show = names.map((name) => ({ text: `select current_setting('${name}', true) as now`, values: [] }));
  const shown = async (...before: SqlStatement[]) =>
    (await connection.run([...before, ...show])).slice(before.length).map(([row]) => row?.["now"]);
  const own = await shown();
  expect(await shown(setLocally(10_000, 500))).toEqual(["off", "9s", "force_generic_plan"]);
  expect(await shown()).toEqual(own);
  const begin = { text: "begin", values: [] };
  await connection.run([begin, setLocally(10_000, 500)]);
  expect(await shown()).toEqual(["off", "9s", "force_generic_plan"]);
  await connection.run([{ text: "commit", values: [] }]);
  expect(await shown()).toEqual(own);
});

describe("a pipelined connection that is lost", () => {
  test("while it is idle is replaced", async () => {
    const pipelined = openOwn();
    await write(pipelined);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query = 'commit'`;
    await eventually("the transaction finds a connection", () =>
      write(pipelined, insert("a")).then(
        () => true,
        () => false,
      ),
    );
    expect(await notes()).toEqual(["a"]);
  });

  test("in the middle of a transaction fails that transaction alone", async () => {
    const pipelined = openOwn();
    const kill: SqlStatement = { text: "select pg_terminate_backend(pg_backend_pid())", values: [] };
    await expect(write(pipelined, insert("a"), kill)).rejects.toThrow();
    expect(await notes()).toEqual([]);
    await write(pipelined, insert("b"));
    expect(await notes()).toEqual(["b"]);
  });

  test("because the server no longer answers fails in time, and is replaced", async () => {
    const proxy = await startTcpProxy(url);
    onTestFinished(() => proxy.close());
    const pipelined = openOwn([], proxy.url, 2_000);
    await eventually("a connection is open", () => hasWritten(pipelined));
    proxy.hang();
    await expect(write(pipelined, insert("a"))).rejects.toThrow("the database has not answered for 2 s");
    await proxy.restore();
    await eventually("it is replaced", () => hasWritten(pipelined));
    expect(await notes()).toEqual([]);
  });

  test("is opened again once the server is back", async () => {
    const proxy = await startTcpProxy(url);
    onTestFinished(() => proxy.close());
    const pipelined = openOwn([], proxy.url);
    await write(pipelined);
    await proxy.refuse();
    await expect(write(pipelined, insert("a"))).rejects.toThrow();
    await proxy.restore();
    await write(pipelined, insert("b"));
    expect(await notes()).toEqual(["b"]);
  });
});
