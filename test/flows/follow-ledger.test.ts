import { beforeEach, describe, expect, test } from "vitest";
import { type Config, parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { diffProduct } from "../../src/flows/diff-product.ts";
import { followLedger } from "../../src/flows/follow-ledger.ts";
import { pullProduct } from "../../src/flows/pull-product.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const never = new AbortController().signal;
const DAY_MS = 24 * HOUR_MS;

/** What the operator wrote: a placement of 10.00 THB, received at noon. */
type Row = Readonly<Record<string, string | number | boolean | null>>;
const row = (entryId: string | null, fields: Row = {}): Row => ({
  entry_id: entryId,
  callback: "placeBets",
  request_id: `request-${entryId}`,
  product_id: "P1",
  username: "anna",
  currency: "THB",
  txn_id: `bet-${entryId}`,
  round_id: `round-${entryId}`,
  status: "OPEN",
  bet_amount: "10.00",
  skip_balance_update: false,
  occurred_at: iso(NOON),
  received_at: iso(NOON),
  ...fields,
});
const iso = (at: number) => new Date(at).toISOString();
const receivedAt = (at: number): Row => ({ occurred_at: iso(at), received_at: iso(at) });

async function write(...rows: Row[]): Promise<void> {
  await sql`
    insert into casino."Wallet Log" select * from jsonb_populate_recordset(null::casino."Wallet Log", ${JSON.stringify(rows)}::text::jsonb)`;
}

function contextOf(
  ledger: Partial<Config["ledger"]> = {},
  log = silentLog,
  settings: Record<string, unknown> = {},
): FlowContext {
  const relation = { relation: "casino.ledger", ...ledger };
  const config = parseConfig({ products: [{ productId: "P1" }], ...settings, ledger: relation });
  return { sql, config, clock, log };
}
const follow = (context = contextOf()) => followLedger(context, never);
async function entryIds(): Promise<string[]> {
  return (await sql<{ id: string }[]>`select entry_id as id from callback_entries order by entry_id`).map(
    ({ id }) => id,
  );
}
const rejected = () => sql<{ id: string | null; reason: string }[]>`
  select entry_id as id, reason from rejected_entries order by entry_id`;

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
  await sql`drop schema if exists casino cascade`;
  await sql`create schema casino`;
  await sql`
    create table casino."Wallet Log" (
      entry_id text, callback text, request_id text, product_id varchar(20), username text, currency char(3), txn_id text,
      round_id text, status text, bet_amount numeric, payout_amount numeric, transaction_type text,
      skip_balance_update boolean, moved numeric, balance_before numeric, balance_after numeric,
      occurred_at timestamptz, received_at timestamptz
    )`;
  await sql`create view casino.ledger as select * from casino."Wallet Log"`;
});

describe("what is new", () => {
  test("the first reading takes everything, to the last digit, and marks it for the diff", async () => {
    await write(
      row("a", {
        ...receivedAt(NOON - 400 * DAY_MS),
        bet_amount: "0.000000000000000000001",
        moved: "-12345678901234567890.5",
      }),
      row("b", {
        callback: "settleBets",
        status: "SETTLED",
        bet_amount: null,
        payout_amount: "3",
        transaction_type: "BY_ROUND",
      }),
    );
    expect(await follow()).toEqual({ added: 2, rejected: 0 });
    expect(
      await sql`select entry_id, bet_amount, moved, product_id, currency, received_at from callback_entries order by 1`,
    ).toEqual([
      {
        entry_id: "a",
        bet_amount: "0.000000000000000000001",
        moved: "-12345678901234567890.5",
        product_id: "P1",
        currency: "THB",
        received_at: NOON - 400 * DAY_MS,
      },
      { entry_id: "b", bet_amount: null, moved: null, product_id: "P1", currency: "THB", received_at: NOON },
    ]);
    expect(await sql`select round_ids from diff_marks order by id`).toEqual([
      { round_ids: ["round-a", "round-b"] },
    ]);
  });

  test("a row is read once, and marks its bet once", async () => {
    await write(row("a"));
    await follow();
    expect(await follow()).toEqual({ added: 0, rejected: 0 });
    expect(await sql`select count(*) as marks from diff_marks`).toEqual([{ marks: 1 }]);
  });

  test("a row that was committed late is found as long as it lies within the lookback", async () => {
    await write(row("a"));
    await follow();
    await write(
      row("late", receivedAt(NOON - 14 * MINUTE_MS)),
      row("too-late", receivedAt(NOON - 16 * MINUTE_MS)),
    );
    await follow();
    expect(await entryIds()).toEqual(["a", "late"]);
  });

  test("thousands of rows of one moment are all read, with ids of any type", async () => {
    await sql`
      create table casino.many as select gen_random_uuid() as entry_id, l.callback, l.request_id, l.product_id,
        l.username, l.currency, n::text as txn_id, l.round_id, l.status, l.bet_amount, l.payout_amount,
        l.transaction_type, false as skip_balance_update, l.moved, l.balance_before, l.balance_after,
        ${iso(NOON)}::timestamptz as occurred_at, ${iso(NOON)}::timestamptz as received_at
      from generate_series(1, 4500) n
      left join casino.ledger l on false`;
    await sql`
      update casino.many set callback = 'placeBets', request_id = txn_id, product_id = 'P1', username = 'anna',
        currency = 'THB', status = 'OPEN'`;
    expect(await follow(contextOf({ relation: "casino.many" }))).toEqual({ added: 4500, rejected: 0 });
  });

  test("rows that differ by microseconds only are all read", async () => {
    await sql`
      insert into casino."Wallet Log" (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
        skip_balance_update, occurred_at, received_at)
      select 'e' || n, 'placeBets', 'r' || n, 'P1', 'anna', 'THB', 't' || n, 'OPEN', false, ${iso(NOON)},
        ${iso(NOON)}::timestamptz + (n % 900) * interval '1 microsecond'
      from generate_series(1, 4100) n`;
    expect(await follow()).toEqual({ added: 4100, rejected: 0 });
  });

  test("a row dated ahead does not make what comes after it look old", async () => {
    await write(row("ahead", receivedAt(NOON + 365 * DAY_MS)));
    await follow();
    clock.advance(MINUTE_MS);
    await write(row("b", receivedAt(clock.now())));
    await follow();
    expect(await entryIds()).toEqual(["ahead", "b"]);
  });

  test("two workers at once double nothing", async () => {
    await write(...Array.from({ length: 3000 }, (_, index) => row(`e${index}`)));
    await Promise.all([follow(), follow(), follow()]);
    await follow();
    expect(await sql`select count(*) as entries from callback_entries`).toEqual([{ entries: 3000 }]);
    const [marked] = await sql<
      { marks: number }[]
    >`select sum(cardinality(usernames)) as marks from diff_marks`;
    expect(Number(marked?.marks)).toBe(3000);
  });

  test("a worker that was cut off goes on behind what it has read", async () => {
    await write(row("a", receivedAt(NOON - DAY_MS)), row("b"));
    await follow();
    await sql`delete from callback_entries where entry_id = 'a'`;
    await follow();
    expect(await entryIds()).toEqual(["b"]);
  });

  test.each([null, "callback_entries", "public.callback_entries"])(
    "with the relation %s nothing is followed",
    async (relation) => {
      await write(row("a"));
      expect(await follow(contextOf({ relation }))).toEqual({ added: 0, rejected: 0 });
      expect(await sql`select count(*) as read from ledger_follows`).toEqual([{ read: 0 }]);
    },
  );
});

describe("rows that cannot be used", () => {
  const UNUSABLE: readonly (readonly [string, Row, RegExp])[] = [
    ["an unknown callback", { callback: "placeBet" }, /^callback is "placeBet", which is none of placeBets,/],
    [
      "an amount that is not a number",
      { bet_amount: "NaN" },
      /^bet_amount must be a decimal number, but is "NaN"$/,
    ],
    ["an endless amount", { moved: "-Infinity" }, /^moved must be a decimal number, but is "-Infinity"$/],
    ["no player", { username: null }, /^username is null$/],
    ["no word on the balance", { skip_balance_update: null }, /^skip_balance_update is null$/],
    ["a time without end", { occurred_at: "infinity" }, /^occurred_at is infinity, which is no moment/],
    ["a receipt without end", { received_at: "infinity" }, /^received_at is infinity, which is no moment/],
    [
      "a receipt before all time",
      { received_at: "-infinity" },
      /^received_at is -infinity, which is no moment/,
    ],
    ["a time before the year 1", { occurred_at: "0044-03-15 12:00:00+00 BC" }, /^occurred_at is 0044-/],
    ["no receipt", { received_at: null }, /^received_at is null$/],
    ["an id too long for an index", { txn_id: "x".repeat(5000) }, /^txn_id is longer than 600 bytes: "xxx/],
  ];

  test.each(UNUSABLE)("%s: kept once with the reason, and the rest goes on", async (_, fields, reason) => {
    await write(row("a"), row("bad", fields), row("c"));
    expect(await follow()).toEqual({ added: 2, rejected: 1 });
    expect(await follow()).toEqual({ added: 0, rejected: 0 });
    expect(await entryIds()).toEqual(["a", "c"]);
    expect(await rejected()).toEqual([{ id: "bad", reason: expect.stringMatching(reason) }]);
    const [kept] = await sql<{ raw: string }[]>`select raw from rejected_entries`;
    expect(JSON.parse(kept?.raw ?? "")).toMatchObject({ entry_id: "bad", currency: "THB" });
    clock.advance(MINUTE_MS);
    await write(row("d", receivedAt(clock.now())));
    expect(await follow()).toEqual({ added: 1, rejected: 0 });
  });

  test("rows without an id are kept too, each once", async () => {
    await write(row(null), row(null), row(null, { username: "bea" }), row("a"));
    expect(await follow()).toEqual({ added: 1, rejected: 2 });
    expect(await follow()).toEqual({ added: 0, rejected: 0 });
  });

  test("a row that the operator has mended becomes an entry", async () => {
    await write(row("a", { callback: "?" }));
    await follow();
    await sql`update casino."Wallet Log" set callback = 'placeBets'`;
    expect(await follow()).toEqual({ added: 1, rejected: 0 });
    expect(await rejected()).toEqual([]);
  });

  test("they are told with an example", async () => {
    const told: unknown[] = [];
    const log = Object.assign(Object.create(silentLog), { warn: (about: unknown) => told.push(about) });
    await write(row("a", { callback: "?" }));
    await follow(contextOf({}, log));
    await follow(contextOf({}, log));
    expect(told).toEqual([
      {
        relation: "casino.ledger",
        rows: 1,
        example: { entryId: "a", reason: expect.stringMatching(/^callback is/) },
      },
    ]);
  });
});

describe("days read again", () => {
  const ask = (day: number) => sql`
    insert into ledger_rereads (day, asked_at) values (${day}, ${clock.now()})
    on conflict (day) do update set asked_at = excluded.asked_at`;
  const DAY = Math.floor(NOON / DAY_MS) * DAY_MS - DAY_MS;

  test("a day that is asked for is read whole, and no other", async () => {
    await write(row("a"));
    await follow();
    await write(
      row("first", receivedAt(DAY)),
      row("last", receivedAt(DAY + DAY_MS - 1)),
      row("before", receivedAt(DAY - 1)),
      row("behind", receivedAt(DAY + DAY_MS)),
    );
    await ask(DAY);
    expect(await follow()).toEqual({ added: 2, rejected: 0 });
    expect(await entryIds()).toEqual(["a", "first", "last"]);
  });

  test("a long day is read to its end, batch by batch", async () => {
    await write(row("a"));
    await follow();
    await sql`
      insert into casino."Wallet Log" (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
        skip_balance_update, occurred_at, received_at)
      select 'e' || n, 'placeBets', 'r' || n, 'P1', 'anna', 'THB', 't' || n, 'OPEN', false, ${iso(NOON)}, ${iso(DAY)}
      from generate_series(1, 4100) n`;
    await ask(DAY);
    await follow(contextOf());
    expect(await sql`select count(*) as entries from callback_entries`).toEqual([{ entries: 4101 }]);
    expect(await sql`select read_at as "readAt", after_received_at as after from ledger_rereads`).toEqual([
      { readAt: NOON, after: null },
    ]);
  });

  test("what a resweep of the provider's records fetches again is read again", async () => {
    const settings = {
      products: [{ productId: "P1", since: iso(NOON - 3 * HOUR_MS) }],
      pull: { resweepAfter: ["PT1H"] },
    };
    const fetchPage = async () => ({
      records: [],
      rejected: [],
      nextId: null,
      requestedAt: clock.now(),
      tookMs: 1,
    });
    const context = contextOf({}, silentLog, settings);
    await pullProduct({ ...context, fetchPage }, "P1", never);
    await write(row("a"));
    await follow(context);
    await write(row("imported", receivedAt(NOON - 4 * HOUR_MS)));
    await follow(context);
    expect(await entryIds()).toEqual(["a"]);
    clock.advance(2 * HOUR_MS);
    await pullProduct({ ...context, fetchPage }, "P1", never);
    await follow(context);
    expect(await entryIds()).toEqual(["a", "imported"]);
  });

  test("asked for every minute, a day is read again every hour", async () => {
    await ask(DAY);
    await follow();
    await write(row("late", receivedAt(DAY)));
    clock.advance(30 * MINUTE_MS);
    await ask(DAY);
    await sql`insert into ledger_follows (relation, read_until) values ('casino.ledger', ${NOON}) on conflict (relation) do update set read_until = excluded.read_until`;
    expect(await follow()).toMatchObject({ added: 0 });
    clock.advance(30 * MINUTE_MS);
    expect(await follow()).toMatchObject({ added: 1 });
  });
});

describe("what the diff may know", () => {
  const record = () => sql`
    insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
      bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
    values ('P1', 'anna', 'bet-b', 'rec-b', 'round-b', 'THB', 10, 0, 'G', 'Game', 'SETTLED', 'LOSE', ${NOON}, ${NOON},
      ${NOON}, ${NOON})`;
  const mark = () => sql`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    values ('P1', '{anna}', '{round-b}', '{null}', ${NOON})`;
  const mismatches = async () =>
    (await sql<{ kind: string }[]>`select kind from mismatches order by id`).map(({ kind }) => kind);
  const diff = () => diffProduct(contextOf(), "P1", never);

  beforeEach(async () => {
    await emptyTables(sql, ["bet_records", "mismatches", "mismatch_events"]);
    await write(row("a", receivedAt(NOON - DAY_MS)));
  });

  test("a record is not missing in a ledger that was not read since its grace ended", async () => {
    await follow();
    await record();
    await mark();
    clock.set(NOON + HOUR_MS);
    await diff();
    expect(await mismatches()).toEqual([]);
    await follow();
    await diff();
    expect(await mismatches()).toEqual(["missing-in-ledger"]);
  });

  test("a bet whose row cannot be used is not missing", async () => {
    await write(row("b", { callback: "place" }));
    await record();
    await mark();
    clock.set(NOON + HOUR_MS);
    await follow();
    await diff();
    expect(await mismatches()).toEqual([]);
    await sql`update casino."Wallet Log" set username = 'bea' where entry_id = 'b'`;
    await emptyTables(sql, ["rejected_entries"]);
    await mark();
    await diff();
    expect(await mismatches()).toEqual(["missing-in-ledger"]);
  });
});

test("a relation that was dropped is one clear error, and what was read of it stays", async () => {
  await write(row("a"));
  await follow();
  await sql`drop view casino.ledger`;
  await expect(follow()).rejects.toMatchObject({
    code: "ledger-unreadable",
    message: expect.stringMatching(
      /^ledger\.relation "casino\.ledger" cannot be read: there is no such table or view/,
    ),
  });
  expect(await entryIds()).toEqual(["a"]);
});

test("a view that fails by itself is an error that says how", async () => {
  await sql`drop view casino.ledger`;
  await sql`
    create view casino.ledger as select entry_id, callback, request_id, product_id, username, currency, txn_id, round_id,
      status, txn_id::numeric as bet_amount, payout_amount, transaction_type, skip_balance_update, moved, balance_before,
      balance_after, occurred_at, received_at from casino."Wallet Log"`;
  await write(row("a"));
  await expect(follow()).rejects.toMatchObject({
    code: "ledger-unreadable",
    message: expect.stringMatching(/reading it fails: invalid input syntax for type numeric: "bet-a"$/),
  });
});
