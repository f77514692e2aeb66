/**
 * Other roles can do to the ledger only what docs/ledger.md grants them. In this database every role may create
 * in the schema, as in those of PostgreSQL 14.
 */

import { once } from "node:events";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startCallbackServer } from "../../src/callbacks/server.ts";
import { creditWallet } from "../../src/callbacks/wallet-store.ts";
import { systemClock } from "../../src/clock.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { keepRowCounts } from "../../src/db/row-counts.ts";
import { compareEntryDays } from "../../src/flows/ledger/compare-entry-days.ts";
import { followLedger } from "../../src/flows/ledger/follow-ledger.ts";
import { createLog, silentLog } from "../../src/log.ts";
import { CONFIG, exampleEnvelope, post } from "../callbacks/operator.ts";
import { callRecon } from "../cli/call-recon.ts";
import { startRecon } from "../cli/run-recon.ts";
import { blockWith } from "../docs/pages.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, NOON } from "../support/examples.ts";

const { sql, url } = useDatabase();
const name = new URL(url).pathname.slice(1);
const [SHOP, CALLBACKS, STRANGER] = [`${name}_shop`, `${name}_shop_callbacks`, `${name}_stranger`];
const GRANTS = blockWith("docs/ledger.md", "sql", "grant insert on callback_entries")
  .replaceAll(/\bshop_callbacks\b/g, CALLBACKS)
  .replaceAll(/\bshop\b/g, SHOP);

function urlOf(role: string): string {
  const own = new URL(url);
  [own.username, own.password] = [role, "secret"];
  return own.href;
}
const connect = (role: string) => postgres(urlOf(role), { max: 1, onnotice: () => {} });
const shop = connect(SHOP);
const stranger = connect(STRANGER);

beforeAll(async () => {
  for (const role of [SHOP, CALLBACKS, STRANGER])
    await sql.unsafe(`create role ${role} login password 'secret'`);
  await sql.unsafe(`grant create on schema public to public; ${GRANTS}`);
});
afterAll(async () => {
  await Promise.all([shop.end(), stranger.end()]);
  for (const role of [SHOP, CALLBACKS, STRANGER])
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`);
});
beforeEach(() => emptyTables(sql));
afterEach(async () => {
  const left = await sql<{ drop: string }[]>`
    select format('drop function %s cascade', p.oid::regprocedure) as drop
    from pg_proc p join pg_roles r on r.oid = proowner where prokind = 'f' and r.rolname in (${SHOP}, ${STRANGER})`;
  for (const { drop } of left) await sql.unsafe(drop);
  await shop`reset all`;
});

const COLUMNS = `entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status, bet_amount,
  skip_balance_update, moved, occurred_at, received_at`;
/** A placement of 10 THB by anna. */
const row = (id: string, { callback = "placeBets", moved = "-10" } = {}) =>
  [
    id,
    callback,
    `q-${id}`,
    "P1",
    "anna",
    "THB",
    `bet-${id}`,
    `round-${id}`,
    "OPEN",
    "10",
    "f",
    moved,
    "now",
    "now",
  ] as const;
const insert = (...rows: ReturnType<typeof row>[]) =>
  `insert into callback_entries (${COLUMNS}) values ${rows.map((one) => `('${one.join("', '")}')`).join(", ")}`;

/** The stored entries, their bets that are due for comparison, and the account of today. */
async function readLedger() {
  const [found] = await sql<{ entries: string[]; marked: string[]; accounted: number }[]>`
    select array(select entry_id from callback_entries order by 1) as entries,
      array(select bet from diff_marks, unnest(bet_refs) as bet where bet in (select txn_id from callback_entries) order by 1) as marked,
      (select coalesce(sum(added), 0)::int from entry_notes) as accounted`;
  return found;
}
const taken = (...ids: string[]) => ({
  entries: ids,
  marked: ids.map((id) => `bet-${id}`),
  accounted: ids.length,
});
const NOTHING = taken();
const rejected = async () =>
  (await sql<{ reason: string }[]>`select reason from rejected_entries`).map(({ reason }) => reason);

describe("the role of a program that writes entries", () => {
  test("inserts", async () => {
    await shop.unsafe(insert(row("a"), row("b")));
    expect(await readLedger()).toEqual(taken("a", "b"));
  });

  test("copies", async () => {
    const copy = await shop.unsafe(`copy callback_entries (${COLUMNS}) from stdin`).writable();
    copy.end(`${row("a").join("\t")}\n${row("b").join("\t")}\n`);
    await once(copy, "finish");
    expect(await readLedger()).toEqual(taken("a", "b"));
  });

  test("inserts in a transaction with writes of its own, and a rollback undoes both", async () => {
    await shop.begin(async (tx) => {
      await tx.unsafe("create temporary table moved_money (amount numeric) on commit drop");
      await tx.unsafe(insert(row("a")));
      await tx.unsafe("insert into moved_money values (-10)");
      await tx.unsafe(insert(row("b")));
    });
    const undone = shop.begin(async (tx) => {
      await tx.unsafe(insert(row("c")));
      throw new Error("the money did not move");
    });
    await expect(undone).rejects.toThrow("the money did not move");
    expect(await readLedger()).toEqual(taken("a", "b"));
  });

  test("skips known entries if it also has the right to read their ids", async () => {
    const skipping = `${insert(row("a"), row("b"))} on conflict (entry_id) do nothing`;
    await shop.unsafe(insert(row("a")));
    await expect(shop.unsafe(skipping)).rejects.toThrow("permission denied");
    await sql.unsafe(`grant select (entry_id) on callback_entries to ${SHOP}`);
    await shop.unsafe(skipping);
    await sql.unsafe(`revoke select (entry_id) on callback_entries from ${SHOP}`);
    expect(await readLedger()).toEqual(taken("a", "b"));
  });

  test.each([
    "select * from callback_entries",
    "update callback_entries set moved = 0",
    "delete from callback_entries",
    "truncate callback_entries",
    "insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at) values ('P1', '{}', '{}', '{}', now())",
    "insert into entry_notes (day, added, digest) values ('2026-11-20', 1, 1)",
    "update ledger_settings set rows_change = 'replace'",
    "update wallets set balance = 777777",
    "create trigger t after insert on callback_entries for each row execute function suppress_redundant_updates_trigger()",
    "alter table callback_entries disable trigger all",
    "set session_replication_role = replica",
  ])("may not: %s", async (statement) => {
    await shop.unsafe(insert(row("a")));
    await expect(shop.unsafe(statement)).rejects.toThrow(/^(permission denied|must be owner)/);
    expect(await readLedger()).toEqual(taken("a"));
  });
});

/** Functions that a statement could call in place of PostgreSQL's own, each the best match for its arguments. */
const TAKING_OVER = [
  ["format(text, text)", "text"],
  ["format(text, text, text)", "text"],
  ["format(text, text, jsonb, jsonb)", "text"],
  ["to_jsonb(callback_entries)", "jsonb"],
  ["jsonb_populate_record(callback_entries, jsonb)", "callback_entries"],
  ["recon_content(record)", "jsonb"],
  ["recon_content(anyelement)", "jsonb"],
  ["recon_describe_fault(varchar, jsonb)", "text"],
  ["recon_reject_entry(callback_entries, varchar, text)", "boolean"],
  ["recon_reject_entry(callback_entries, name, text)", "boolean"],
  ["recon_mark_entry(callback_entries, bigint)", "void"],
  ["hashtextextended(varchar, bigint)", "bigint"],
  ["hashtextextended(text, integer)", "bigint"],
  ["hash_numeric_extended(numeric, integer)", "bigint"],
  ["has_table_privilege(regclass, text)", "boolean"],
  ["pg_try_advisory_xact_lock(numeric)", "boolean"],
  ["min(text)", "text"],
] as const;

describe("another role cannot misuse the functions of the ledger", () => {
  const takeOver = async (role: postgres.Sql, body: string) => {
    for (const [signature, result] of TAKING_OVER)
      await role.unsafe(
        `create function public.${signature} returns ${result} language plpgsql as $$ begin ${body}; ${result === "void" ? "" : "return null;"} end $$`,
      );
    for (const operator of ["<>", "="]) {
      await role.unsafe(`
        create or replace function public.never(text, name) returns boolean language plpgsql as $$ begin ${body}; return false; end $$;
        create operator public.${operator} (leftarg = text, rightarg = name, function = public.never)`);
    }
  };

  test("a writer with functions of its own does not become superuser by a row that cannot be used", async () => {
    await takeOver(shop, `alter role ${SHOP} superuser`);
    await shop.unsafe(insert(row("bad", { moved: "NaN" }), row("a")));
    expect(await sql`select rolsuper as super from pg_roles where rolname = ${SHOP}`).toEqual([
      { super: false },
    ]);
    expect(await rejected()).toEqual([expect.stringMatching(/^moved is NaN, which is no decimal/)]);
    expect(await readLedger()).toEqual(taken("a"));
  });

  test("a role without rights does not change a wallet through a writer's row", async () => {
    await creditWallet(sql, { username: "anna", currency: "THB", amount: amount("10"), ref: "r" }, NOON);
    await takeOver(stranger, "update public.wallets set balance = 777777");
    await shop.unsafe(insert(row("bad", { moved: "NaN" })));
    expect(await sql`select balance from wallets`).toEqual([{ balance: "10" }]);
    expect(await rejected()).toHaveLength(1);
  });

  test("a role without rights changes no wallet through the statements of the callbacks server and the worker", async () => {
    await creditWallet(sql, { username: "anna", currency: "THB", amount: amount("100"), ref: "r" }, NOON);
    await takeOver(stranger, "update public.wallets set balance = 777777");
    const server = await serveCallbacks(sql);
    const placed = { id: "bet-a", status: "OPEN", roundId: "r", betAmount: 10 };
    const body = { ...exampleEnvelope("anna"), id: "q1", timestampMillis: Date.now(), txns: [placed] };
    expect((await post(server.url, "placeBets", body)).json.statusCode).toBe(0);
    const context = { sql, config: CONFIG, clock: systemClock, log: silentLog };
    await keepRowCounts(sql, "callback_entries", systemClock.now(), { largeBytes: 0, recountMs: 1 });
    await compareEntryDays(context, new AbortController().signal);
    await followLedger(context, new AbortController().signal);
    expect(await sql`select balance from wallets`).toEqual([{ balance: "90" }]);
    expect(await sql`select entries, gone_at as gone from entry_days`).toEqual([{ entries: 1, gone: null }]);
  });

  test.each([
    ["function public.hash_numeric_extended(numeric,integer)", "returns bigint", "return 1"],
    ["function public.to_jsonb(public.callback_entries)", "returns jsonb", "return null"],
    ["function public.recon_mark_entries(integer)", "returns boolean", "return true"],
    ["procedure public.set_config(text,text)", "", "commit"],
    ["operator public.<> (numeric,integer)", "", ""],
  ])(
    "every program of ours refuses to begin while there is a %s of a stranger, and names it",
    async (thing, returns, body) => {
      await creditWallet(sql, { username: "anna", currency: "THB", amount: amount("10"), ref: "r" }, NOON);
      await stranger.unsafe(
        thing.startsWith("operator")
          ? `create function public.never(numeric, integer) returns boolean language plpgsql as
            $$ begin update public.wallets set balance = 777777; return true; end $$;
          create operator public.<> (leftarg = numeric, rightarg = integer, function = public.never)`
          : `create ${thing} ${returns} language plpgsql as $$ begin update public.wallets set balance = 777777; ${body}; end $$`,
      );
      onTestFinished(async () => void (await sql.unsafe(`drop owned by ${STRANGER}`)));
      const settings = { DATABASE_URL: url, CALLBACK_PORT: "0", OPS_PORT: "0" };
      const name = thing.replace(" (", "(");
      const refusal = `another role has made functions or operators that statements of wallet-recon would call with the rights of its user: ${name} of ${STRANGER}. As a superuser run "drop ${name} cascade; grant create on schema public to `;
      for (const command of [["migrate"], ["status"], ["ledger", "import", "-", "--format", "entries"]]) {
        const { code, stderr } = await callRecon(command, settings);
        expect(code, command.join()).toBe(1);
        expect(stderr.replace(/^recon: /, ""), command.join()).toContain(refusal);
      }
      const { code, stdout } = await callRecon(["doctor", "--json"], settings);
      expect(code).toBe(1);
      expect(JSON.parse(stdout).checks).toEqual([
        {
          check: "rights",
          ok: false,
          found: expect.stringContaining(refusal),
          mend: expect.any(String),
          where: null,
        },
      ]);
      await expect(migrateDatabase(url)).rejects.toMatchObject({ code: "schema-unsafe" });
      expect(await sql`select balance from wallets`).toEqual([{ balance: "10" }]);
    },
  );

  test.each(["worker", "callbacks"])("%s refuses to start, and changes no wallet", async (program) => {
    await creditWallet(sql, { username: "anna", currency: "THB", amount: amount("10"), ref: "r" }, NOON);
    await takeOver(stranger, "update public.wallets set balance = 777777");
    const settings = { DATABASE_URL: url, CALLBACK_PORT: "0", OPS_PORT: "0" };
    const { code, stderr } = await startRecon([program], settings).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^recon: another role has made functions or operators .*, and more\. As a superuser run "drop /,
    );
    expect(await sql`select balance from wallets`).toEqual([{ balance: "10" }]);
  });

  test("functions with other names, or of a member of the owning role, do not stop a program", async () => {
    await stranger.unsafe(
      `create function public.own_name(numeric, integer) returns bigint language sql as 'select 1::bigint'`,
    );
    await sql.unsafe(`create function public.abs(text) returns text language sql as 'select $1'`);
    onTestFinished(async () => void (await sql.unsafe("drop function public.abs(text)")));
    expect(await migrateDatabase(url)).toBe(0);
  });

  test.each([
    "recon_take_inserted",
    "recon_take_replicated",
    "recon_take_change",
    "recon_refuse_truncate",
    "recon_take_checked",
    "note_compared_marks",
    "note_changed_mismatches",
  ])("a role without any right makes %s no trigger of a table of its own", async (trigger) => {
    await stranger.begin(async (tx) => {
      await tx.unsafe("create temporary table mine (entry_id text) on commit drop");
      await expect(
        tx.savepoint((inner) =>
          inner.unsafe(
            `create trigger t after insert on mine for each statement execute function public.${trigger}()`,
          ),
        ),
      ).rejects.toThrow(`permission denied for function public.${trigger}`);
    });
  });

  test("a trigger that a role created before the upgrade fails on its own table, and counts nothing", async () => {
    await sql.unsafe(`grant execute on function recon_take_inserted() to ${STRANGER}`);
    const like = `create table mine (entry_id text, callback text, request_id text, product_id text, username text,
      currency text, txn_id text, round_id text, status text, bet_amount numeric, payout_amount numeric,
      transaction_type text, skip_balance_update boolean, moved numeric, balance_before numeric, balance_after numeric,
      occurred_at timestamptz, received_at timestamptz, single_state boolean, end_round boolean, appended_in xid8)`;
    await stranger.unsafe(`${like}; create trigger t after insert on mine referencing new table as inserted
      for each statement execute function recon_take_inserted()`);
    onTestFinished(async () => void (await sql.unsafe("drop table mine")));
    await sql.unsafe(`revoke execute on function recon_take_inserted() from ${STRANGER}`);
    const added = stranger.unsafe(insert(row("a")).replace("callback_entries", "mine"));
    await expect(added).rejects.toThrow("t is no trigger for public.mine");
    expect(await readLedger()).toEqual(NOTHING);
  });
});

describe("no session setting switches a check off", () => {
  const SETTINGS = [
    "set wallet_recon.writes = 'own'",
    "set wallet_recon.writes = 'checked'; set wallet_recon.marks = 'own'",
    "set wallet_recon.entries = 'accounted'",
  ];

  test.each(SETTINGS)(
    "%s: a row that cannot be used is rejected, others are marked and counted",
    async (setting) => {
      await shop.unsafe(setting);
      await shop.unsafe(
        insert(row("nan", { moved: "NaN" }), row("steal", { callback: "stealMoney" }), row("a")),
      );
      expect(await readLedger()).toEqual(taken("a"));
      expect((await rejected()).toSorted()).toEqual([
        expect.stringMatching(/^callback is "stealMoney"/),
        expect.stringMatching(/^moved is NaN/),
      ]);
    },
  );

  test.each(SETTINGS)("%s: a role that may delete rows deletes none without a trace", async (setting) => {
    await sql.unsafe(`grant select, delete on callback_entries to ${SHOP}`);
    onTestFinished(
      async () => void (await sql.unsafe(`revoke select, delete on callback_entries from ${SHOP}`)),
    );
    await shop.unsafe(insert(row("a")));
    await shop.unsafe(setting);
    await shop.unsafe("delete from callback_entries");
    expect(await readLedger()).toEqual(taken("a"));
    expect(await rejected()).toEqual([expect.stringMatching(/^entry "a" was deleted; it stays/)]);
  });

  test("a role with every right on the table, but not its owner, switches nothing off", async () => {
    await sql.unsafe(`grant all on all tables in schema public to ${SHOP}`);
    onTestFinished(async () => {
      await sql.unsafe(`revoke all on all tables in schema public from ${SHOP}; ${GRANTS}`);
    });
    await shop.unsafe("set wallet_recon.entries = 'accounted'");
    await shop.unsafe(insert(row("nan", { moved: "NaN" }), row("a")));
    await shop.unsafe("delete from callback_entries");
    expect(await readLedger()).toEqual(taken("a"));
  });
});

async function serveCallbacks(pool: Sql) {
  const server = await startCallbackServer(
    { sql: pool, config: CONFIG, clock: systemClock, log: silentLog },
    { host: "127.0.0.1", port: 0, basePath: "", signatureKey: null, allowedIps: [] },
  );
  onTestFinished(async () => {
    await server.close();
    if (pool !== sql) await pool.end();
  });
  return server;
}

describe("the callbacks server", () => {
  test.each(["owner", "role of its own"])(
    "as %s answers, and each entry is marked and accounted once",
    async (who) => {
      const pool = who === "owner" ? sql : openDatabase(urlOf(CALLBACKS), 2);
      if (who !== "owner") expect(await migrateDatabase(urlOf(CALLBACKS), silentLog)).toBe(0);
      for (const username of ["anna", "ben"])
        await creditWallet(sql, { username, currency: "THB", amount: amount("100"), ref: username }, NOON);
      const server = await serveCallbacks(pool);
      const send = async (callback: string, player: string, id: string, item: Record<string, unknown>) => {
        const body = { ...exampleEnvelope(player), id, timestampMillis: Date.now(), txns: [item] };
        return (await post(server.url, callback, body)).json.statusCode;
      };
      const placed = { id: "bet-a", status: "OPEN", roundId: "r", betAmount: 10 };
      const settled = { id: "bet-a", status: "SETTLED", roundId: "r", payoutAmount: 25, betAmount: 10 };
      expect(await send("placeBets", "anna", "q1", placed)).toBe(0);
      expect(await send("settleBets", "anna", "q2", settled)).toBe(0);
      expect(await send("rollback", "anna", "q3", { ...settled, status: "ROLLBACK" })).toBe(0);
      expect(
        await send("cancelBets", "anna", "q4", { id: "none", status: "REFUND", roundId: "r", betAmount: 1 }),
      ).toBe(20001);
      expect(await send("adjustBalance", "ben", "q5", { refId: "bet-b", status: "DEBIT", amount: 5 })).toBe(
        0,
      );
      const balance = await post(server.url, "checkBalance", { ...exampleEnvelope("anna"), id: "q6" });
      expect(balance.json.statusCode).toBe(0);
      expect(await readLedger()).toMatchObject({
        marked: ["bet-a", "bet-a", "bet-a", "bet-b"],
        accounted: 4,
      });
      const digests = await sql<{ kept: string; computed: string }[]>`
        select (select bit_xor(digest) from entry_notes)::text as kept,
          bit_xor(hashtextextended(entry_id, hashtextextended(txn_id, coalesce(hash_numeric_extended(moved, 0), 1)
            # coalesce(hash_numeric_extended(bet_amount, 2), 3) # coalesce(hash_numeric_extended(payout_amount, 4), 5))))::text
            as computed
        from callback_entries`;
      expect(digests[0]?.kept).toBe(digests[0]?.computed);
    },
  );
});

test("a starting program warns that every role may create in the schema, until that right is revoked", async () => {
  const lines: string[] = [];
  const log = createLog("warn", [], { write: (line: string) => lines.push(line) });
  await migrateDatabase(url, log);
  expect(lines.join()).toContain("every role may create functions in the schema public");
  await sql.unsafe(
    `revoke create on schema public from public; grant create on schema public to ${STRANGER}`,
  );
  lines.length = 0;
  await migrateDatabase(url, log);
  expect(lines.join()).toContain(`other roles may create functions in the schema public: ${STRANGER}`);
  await sql.unsafe(`revoke create on schema public from ${STRANGER}`);
  lines.length = 0;
  await migrateDatabase(url, log);
  expect(lines).toEqual([]);
});
