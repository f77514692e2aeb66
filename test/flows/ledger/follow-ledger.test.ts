import { beforeEach, describe, expect, test } from "vitest";
import { type Config, parseConfig } from "../../../src/config-file.ts";
import { compareProduct } from "../../../src/flows/compare/compare-product.ts";
import type { FlowContext } from "../../../src/flows/context.ts";
import { checkLedger } from "../../../src/flows/ledger/check-ledger.ts";
import { followLedger, rangesToRead } from "../../../src/flows/ledger/follow-ledger.ts";
import { reportRejectedEntries } from "../../../src/flows/ledger/report-rejected-entries.ts";
import { nextReread, planRereads, writeReread } from "../../../src/ledger/follow-store.ts";
import { costOfUndatedRows, openRelation } from "../../../src/ledger/relation-store.ts";
import { silentLog } from "../../../src/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { pullProduct } from "../../support/pull-product.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const never = new AbortController().signal;
const DAY_MS = 24 * HOUR_MS;

/** A row of the operator: a placement of 10.00 THB, received at noon. */
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

describe("new rows", () => {
  test("are all read the first time, to the last digit, and marked for comparison", async () => {
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
    expect(await sql`select array(select unnest(round_ids) order by 1) as round_ids from diff_marks`).toEqual(
      [{ round_ids: ["round-a", "round-b"] }],
    );
  });

  test("are read once, and mark their bets once", async () => {
    await write(row("a"));
    await follow();
    expect(await follow()).toEqual({ added: 0, rejected: 0 });
    expect(await sql`select count(*) as marks from diff_marks`).toEqual([{ marks: 1 }]);
  });

  test("are found if they are committed late, within the lookback", async () => {
    await write(row("a"));
    await follow();
    await write(
      row("late", receivedAt(NOON - 14 * MINUTE_MS)),
      row("too-late", receivedAt(NOON - 16 * MINUTE_MS)),
    );
    await follow();
    expect(await entryIds()).toEqual(["a", "late"]);
  });

  test("say whether a settle is single-state if the relation has columns for it", async () => {
    await sql`alter table casino."Wallet Log" add column single_state boolean, add column end_round boolean`;
    await sql`
      create view casino.flagged as select *, entry_id = 'b' as single_state, null::boolean as end_round
      from casino.ledger where entry_id <> 'c'`;
    await write(row("a"), row("b"), row("c"));
    await follow(contextOf({ relation: "casino.flagged" }));
    // Without the columns the answer is unknown.
    await follow(contextOf({ relation: "casino.ledger" }));
    expect(
      await sql`
        select entry_id as id, single_state as single, end_round as "end" from callback_entries order by entry_id`,
    ).toEqual([
      { id: "a", single: false, end: null },
      { id: "b", single: true, end: null },
      { id: "c", single: null, end: null },
    ]);
  });

  test("are all read if thousands have the same time, with ids of any type", async () => {
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

  test("are all read if their times differ only by microseconds", async () => {
    await sql`
      insert into casino."Wallet Log" (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
        skip_balance_update, occurred_at, received_at)
      select 'e' || n, 'placeBets', 'r' || n, 'P1', 'anna', 'THB', 't' || n, 'OPEN', false, ${iso(NOON)},
        ${iso(NOON)}::timestamptz + (n % 900) * interval '1 microsecond'
      from generate_series(1, 4100) n`;
    expect(await follow()).toEqual({ added: 4100, rejected: 0 });
  });

  test("are not considered old after a row with a time in the future", async () => {
    await write(row("ahead", receivedAt(NOON + 365 * DAY_MS)));
    await follow();
    clock.advance(MINUTE_MS);
    await write(row("b", receivedAt(clock.now())));
    await follow();
    expect(await entryIds()).toEqual(["ahead", "b"]);
  });

  test("are not read twice by two workers at once", async () => {
    await write(...Array.from({ length: 3000 }, (_, index) => row(`e${index}`)));
    await Promise.all([follow(), follow(), follow()]);
    await follow();
    expect(await sql`select count(*) as entries from callback_entries`).toEqual([{ entries: 3000 }]);
    const [marked] = await sql<
      { marks: number }[]
    >`select sum(cardinality(usernames)) as marks from diff_marks`;
    expect(Number(marked?.marks)).toBe(3000);
  });

  test("are read from the point at which a worker was killed", async () => {
    await write(row("a", receivedAt(NOON - DAY_MS)), row("b"));
    const context = contextOf({ rowsChange: "replace" });
    await follow(context);
    await sql`delete from callback_entries where entry_id = 'a'`;
    await follow(context);
    expect(await entryIds()).toEqual(["b"]);
  });

  test.each([null, "callback_entries", "public.callback_entries"])(
    "are not read from the relation %s",
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
      /^bet_amount is NaN, which is no decimal of at most 60 digits/,
    ],
    ["an endless amount", { moved: "-Infinity" }, /^moved is -Infinity, which is no decimal/],
    ["no player", { username: null }, /^username is null$/],
    ["no word on the balance", { skip_balance_update: null }, /^skip_balance_update is null$/],
    [
      "a time without end",
      { occurred_at: "infinity" },
      /^occurred_at is infinity, more than a day after received_at/,
    ],
    [
      "a receipt without end",
      { received_at: "infinity" },
      /^received_at is infinity, which lies before 2010 or after 9999$/,
    ],
    [
      "a receipt before all time",
      { received_at: "-infinity" },
      /^received_at is -infinity, which lies before 2010 or after 9999$/,
    ],
    [
      "a time before the year 1",
      { occurred_at: "0044-03-15 12:00:00+00 BC" },
      /^occurred_at is 0044-.* lies before 2010/,
    ],
    [
      "seconds read as milliseconds",
      { occurred_at: "1970-01-21 12:00:00+00" },
      /^occurred_at is 1970-.* lies before 2010/,
    ],
    [
      "a time a year ahead",
      { occurred_at: iso(NOON + 365 * DAY_MS) },
      /^occurred_at is 2027-11-20.*, more than a day after received_at/,
    ],
    ["no receipt", { received_at: null }, /^received_at is null$/],
    ["an id too long for an index", { txn_id: "x".repeat(5000) }, /^txn_id is longer than 600 bytes: "xxx/],
  ];

  test.each(UNUSABLE)(
    "%s: the row is kept once with the reason, and the other rows are accepted",
    async (_, fields, reason) => {
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
    },
  );

  test("because several have one id: the first is accepted, the others are kept, each once", async () => {
    await write(row("a"), row("a", { txn_id: "bet-b", received_at: iso(NOON + 1) }), row("a"));
    await follow();
    await follow();
    expect(await sql`select txn_id as txn from callback_entries`).toEqual([{ txn: "bet-a" }]);
    expect(await rejected()).toEqual([
      {
        id: "a",
        reason: 'entry_id "a" stands in more than one row, and must be unique: the first of them is used',
      },
    ]);
  });

  test("without an id are kept too, each once", async () => {
    await write(row(null), row(null), row(null, { username: "bea" }), row("a"));
    expect(await follow()).toEqual({ added: 1, rejected: 2 });
    expect(await follow()).toEqual({ added: 0, rejected: 0 });
  });

  test("become entries once the operator has corrected them", async () => {
    await write(row("a", { callback: "?" }));
    await follow();
    await sql`update casino."Wallet Log" set callback = 'placeBets'`;
    expect(await follow()).toEqual({ added: 1, rejected: 0 });
    await reportRejectedEntries(contextOf());
    expect(await rejected()).toEqual([]);
  });

  test("because they were changed to something unusable keep their first content; the change is kept", async () => {
    const context = contextOf({ rowsChange: "replace" });
    await write(row("a"));
    await follow(context);
    await sql`update casino."Wallet Log" set callback = '?'`;
    await follow(context);
    await reportRejectedEntries(context);
    expect(await sql`select kind, entry_id from rejected_entries`).toEqual([
      { kind: "changed", entry_id: "a" },
    ]);
    expect(await sql`select callback from callback_entries`).toEqual([{ callback: "placeBets" }]);
  });
});

describe("days that are read again", () => {
  const ask = (from: number, to = from + DAY_MS) => planRereads(sql, [{ from, to }], clock.now());
  const DAY = Math.floor(NOON / DAY_MS) * DAY_MS - DAY_MS;

  test("are read completely when they are requested, and no other day is read", async () => {
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

  test("are read from the newest hour backwards", async () => {
    await ask(DAY, DAY + 2 * HOUR_MS);
    const order: number[] = [];
    for (;;) {
      const hour = await nextReread(sql, clock.now(), HOUR_MS);
      if (hour === null) break;
      order.push(hour.from);
      await writeReread(sql, hour, null);
    }
    expect(order).toHaveLength(24);
    expect(order).toEqual(order.toSorted((a, b) => b - a));
  });

  test("are read to their end, batch by batch", async () => {
    await write(row("a"));
    await follow();
    await sql`
      insert into casino."Wallet Log" (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
        skip_balance_update, occurred_at, received_at)
      select 'e' || n, 'placeBets', 'r' || n, 'P1', 'anna', 'THB', 't' || n, 'OPEN', false, ${iso(DAY)}, ${iso(DAY)}
      from generate_series(1, 4100) n`;
    await ask(DAY);
    await follow(contextOf());
    expect(await sql`select count(*) as entries from callback_entries`).toEqual([{ entries: 4101 }]);
    expect(
      await sql`select distinct read_at as "readAt", after_received_at as after from ledger_rereads`,
    ).toEqual([{ readAt: NOON, after: null }]);
  });

  test("follow the resweeps of the provider's records", async () => {
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
    clock.advance(6 * HOUR_MS);
    await pullProduct({ ...context, fetchPage }, "P1", never);
    await follow(context);
    expect(await entryIds()).toEqual(["a", "imported"]);
  });

  test("are read again once an hour, no matter how often they are requested", async () => {
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

describe("rows that are changed in place", () => {
  const change = (where: string) =>
    sql.unsafe(`update casino."Wallet Log" set bet_amount = 12 where entry_id = '${where}'`);
  const amounts = async () =>
    (
      await sql<{ amount: string }[]>`
        select bet_amount::text as amount from callback_entries order by entry_id`
    ).map(({ amount }) => amount);

  test('keep their first content with "never"; each change is kept once', async () => {
    await write(row("a"));
    await follow();
    await change("a");
    await follow();
    await follow();
    expect(await amounts()).toEqual(["10.00"]);
    expect(await sql`select kind, entry_id, reason from rejected_entries`).toEqual([
      {
        kind: "changed",
        entry_id: "a",
        reason: expect.stringMatching(
          /^entry "a" was changed \(bet_amount from 10.00 to 12\); its first content stays/,
        ),
      },
    ]);
  });

  test('get their new content with "replace"; the history is kept', async () => {
    const context = contextOf({ rowsChange: "replace" });
    await write(row("a"));
    await follow(context);
    await emptyTables(sql, ["diff_marks"]);
    await change("a");
    await follow(context);
    expect(await amounts()).toEqual(["12"]);
    expect(await sql`select entry_id, content ->> 'bet_amount' as amount from entry_versions`).toEqual([
      { entry_id: "a", amount: "10.00" },
    ]);
    const [marked] = await sql<{ rounds: string[] }[]>`select round_ids as rounds from diff_marks limit 1`;
    expect(marked?.rounds).toEqual(["round-a"]);
  });

  test("are noticed before their age has doubled", async () => {
    const context = contextOf({ rowsChange: "replace" });
    await write(row("a"), row("b", receivedAt(NOON + 1)));
    await follow(context);
    for (let minutes = 1; minutes <= 6; minutes += 1) {
      clock.advance(MINUTE_MS);
      await write(row(`n${minutes}`, receivedAt(clock.now())));
      await follow(context);
    }
    await change("a");
    for (let minutes = 7; minutes <= 9; minutes += 1) {
      clock.advance(MINUTE_MS);
      await write(row(`n${minutes}`, receivedAt(clock.now())));
      await follow(context);
    }
    expect((await amounts())[0]).toBe("12");
  });

  test("are noticed at any age if a resweep reads their day again", async () => {
    const context = contextOf({ rowsChange: "replace" });
    await write(row("a", receivedAt(NOON - 30 * DAY_MS)), row("b"));
    await follow(context);
    await change("a");
    await follow(context);
    expect((await amounts())[0]).toBe("10.00");
    await planRereads(sql, [{ from: NOON - 30 * DAY_MS, to: NOON - 30 * DAY_MS + 1 }], NOON);
    await follow(context);
    expect((await amounts())[0]).toBe("12");
  });
});

test("a new relation does not bring back entries that retain.entries has deleted, and the log says so", async () => {
  await sql`insert into retention_states (walk, deleted_up_to) values ('entries', ${NOON})`;
  await write(row("deleted", receivedAt(NOON - 1)), row("kept"));
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => void warnings.push(line) };
  expect(await follow(contextOf({}, log))).toEqual({ added: 1, rejected: 0 });
  expect(await entryIds()).toEqual(["kept"]);
  expect(JSON.stringify(warnings)).toContain("retain.entries");
});

describe("one run reads", () => {
  const lookbackMs = 16 * MINUTE_MS;
  const keptFrom = Number.NEGATIVE_INFINITY;

  test("everything, if nothing was read before", () => {
    expect(rangesToRead({ readUntil: null, readAt: null, now: NOON, lookbackMs, keptFrom })).toEqual([
      { from: null, to: null },
    ]);
  });

  test("unknown rows of the lookback, the newest minute, and older rows at four ages", () => {
    const readAt = NOON - MINUTE_MS;
    expect(rangesToRead({ readUntil: NOON, readAt, now: NOON, lookbackMs, keptFrom })).toEqual([
      { from: NOON - lookbackMs, to: NOON - MINUTE_MS, onlyUnknown: true },
      { from: NOON - MINUTE_MS, to: null },
      { from: NOON - 3 * MINUTE_MS, to: NOON - 2 * MINUTE_MS },
      { from: NOON - 5 * MINUTE_MS, to: NOON - 4 * MINUTE_MS },
      { from: NOON - 9 * MINUTE_MS, to: NOON - 8 * MINUTE_MS },
      { from: NOON - 17 * MINUTE_MS, to: NOON - 16 * MINUTE_MS },
    ]);
  });

  test("no row twice after a long pause, and nothing older than a lookback of zero allows", () => {
    const ranges = rangesToRead({
      readUntil: NOON - HOUR_MS,
      readAt: NOON - HOUR_MS,
      now: NOON,
      lookbackMs: 16 * MINUTE_MS,
      keptFrom,
    });
    expect(ranges.at(-1)).toEqual({ from: NOON - HOUR_MS - 16 * MINUTE_MS, to: NOON - HOUR_MS - MINUTE_MS });
    expect(rangesToRead({ readUntil: NOON, readAt: NOON, now: NOON, lookbackMs: 0, keptFrom })).toEqual([
      { from: NOON, to: null },
    ]);
  });

  test("nothing of the time in which entries were deleted", () => {
    const read = { readAt: NOON - MINUTE_MS, now: NOON, lookbackMs, keptFrom: NOON - 5 * MINUTE_MS };
    expect(rangesToRead({ ...read, readUntil: null })).toEqual([{ from: NOON - 5 * MINUTE_MS, to: null }]);
    expect(rangesToRead({ ...read, readUntil: NOON })).toEqual([
      { from: NOON - 5 * MINUTE_MS, to: NOON - MINUTE_MS, onlyUnknown: true },
      { from: NOON - MINUTE_MS, to: null },
      { from: NOON - 3 * MINUTE_MS, to: NOON - 2 * MINUTE_MS },
      { from: NOON - 5 * MINUTE_MS, to: NOON - 4 * MINUTE_MS },
    ]);
  });

  test("rows without a received_at every time, but less often if that reads a large table", async () => {
    const relation = await openRelation(sql, "casino.ledger");
    const findsAt = async (id: string, at: number) => {
      await write(row(id, { received_at: null }));
      clock.set(at);
      await follow();
      return (await rejected()).some((one) => one.id === id);
    };
    expect(await findsAt("a", NOON)).toBe(true);
    expect(await findsAt("b", NOON + 1)).toBe(true);
    // A page for each row: its pages make a table large, and rows take time to write.
    await sql.unsafe(`
      alter table casino."Wallet Log" set (fillfactor = 10);
      insert into casino."Wallet Log" (entry_id, received_at, callback)
      select n::text, '2027-01-01T00:00:00Z', repeat('x', 800) from generate_series(1, 55000) n`);
    await sql`analyze casino."Wallet Log"`;
    expect((await checkLedger(contextOf())).isUndatedDaily).toBe(true);
    expect(await findsAt("c", NOON + 2 * HOUR_MS)).toBe(false);
    expect(await findsAt("d", NOON + DAY_MS)).toBe(true);
    expect((await rejected()).filter(({ id }) => id === "c")).toHaveLength(1);
    await sql`create index on casino."Wallet Log" (received_at, entry_id)`;
    expect(await costOfUndatedRows(sql, relation)).toBeLessThan(1_000);
    expect(await findsAt("e", NOON + DAY_MS + 1)).toBe(true);
  });

  test("every row without a received_at, however many there are", async () => {
    await sql`
      insert into casino."Wallet Log" (entry_id, callback) select n::text, 'placeBets' from generate_series(1, 4500) n`;
    expect(await follow()).toEqual({ added: 0, rejected: 4500 });
  });
});

describe("a row that cannot be read because of a value", () => {
  const readable = async () =>
    await sql`
      create or replace view casino.texts as select entry_id, callback, request_id, product_id, username, currency, txn_id,
        round_id, status, replace(payout_text, ' ', '')::numeric as bet_amount, payout_amount, null::text as transaction_type,
        skip_balance_update, moved, balance_before, balance_after, occurred_at, received_at
      from (select *, coalesce(transaction_type, '10') as payout_text from casino."Wallet Log") w`;
  const texts = contextOf({ relation: "casino.texts" });
  beforeEach(readable);

  test("is rejected with its id, the column and the value, and the other rows are read", async () => {
    const all = Array.from({ length: 40 }, (_, index) =>
      row(`e${index + 10}`, {
        ...receivedAt(NOON - 40 + index),
        transaction_type: [0, 17, 18, 39].includes(index) ? `12,${index}` : "12",
      }),
    );
    await write(...all);
    expect(await checkLedger(texts)).toMatchObject({ unreadable: "e10" });
    expect(await follow(texts)).toEqual({ added: 36, rejected: 4 });
    expect(await rejected()).toEqual(
      [10, 27, 28, 49].map((id) => ({
        id: `e${id}`,
        reason: `bet_amount cannot be read: invalid input syntax for type numeric: "12,${id - 10}"`,
      })),
    );
    // The relation counts as read, and nothing is rejected twice.
    expect(await follow(texts)).toEqual({ added: 0, rejected: 0 });
    expect(await sql`select read_at as at from ledger_follows`).toEqual([{ at: NOON }]);
  });

  test("is an entry as soon as it can be read", async () => {
    await write(row("a", { transaction_type: "x" }));
    await follow(texts);
    await sql`update casino."Wallet Log" set transaction_type = null`;
    expect(await follow(texts)).toEqual({ added: 1, rejected: 0 });
    await reportRejectedEntries(texts);
    expect(await rejected()).toEqual([]);
  });

  test("does not stop an hour that is read again", async () => {
    await follow(texts);
    await write(
      row("a", { ...receivedAt(NOON - 5 * HOUR_MS), transaction_type: "x" }),
      row("b", receivedAt(NOON - 5 * HOUR_MS)),
    );
    await planRereads(sql, [{ from: NOON - 5 * HOUR_MS, to: NOON - 4 * HOUR_MS }], NOON);
    clock.set(NOON + 1);
    expect(await follow(texts)).toEqual({ added: 1, rejected: 1 });
    expect(await entryIds()).toEqual(["b"]);
  });
});

test("known callbacks and transaction types match in upper or lower case; others are rejected", async () => {
  await write(
    row("a", { callback: "PLACEBETS" }),
    row("b", { callback: "settlebets", transaction_type: "by_round" }),
    row("c", { callback: "settleBets", transaction_type: "By_Bet" }),
    row("d", { callback: "settleBets", transaction_type: "BY_PLAYER" }),
  );
  expect(await follow()).toEqual({ added: 3, rejected: 1 });
  expect(
    await sql`select callback, transaction_type as type from callback_entries order by entry_id`,
  ).toEqual([
    { callback: "placeBets", type: null },
    { callback: "settleBets", type: "BY_ROUND" },
    { callback: "settleBets", type: "BY_TRANSACTION" },
  ]);
  expect(await rejected()).toEqual([
    { id: "d", reason: 'transaction_type is "BY_PLAYER", which is none of BY_TRANSACTION, BY_ROUND' },
  ]);
});

describe("a comparison knows", () => {
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
  const diff = () => compareProduct(contextOf(), "P1", never);

  beforeEach(async () => {
    await emptyTables(sql, ["bet_records", "mismatches", "mismatch_events"]);
    await write(row("a", receivedAt(NOON - DAY_MS)));
  });

  test("that a record is not missing if the ledger was not read since its grace period ended", async () => {
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

  test("that a bet with an unusable row is not missing", async () => {
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

test("a dropped relation is one clear error; entries already read from it stay", async () => {
  await write(row("a"));
  await follow();
  await sql`drop view casino.ledger`;
  await expect(follow()).rejects.toMatchObject({
    code: "ledger-unreadable",
    message: expect.stringMatching(
      /^ledger\.relation "casino\.ledger" cannot be read: this user sees no such table or view/,
    ),
  });
  expect(await entryIds()).toEqual(["a"]);
});

test("a view that fails for every row ends the run after twenty rows, with an error that says why", async () => {
  await sql`drop view casino.ledger`;
  await sql`
    create view casino.ledger as select entry_id, callback, request_id, product_id, username, currency, txn_id, round_id,
      status, txn_id::numeric as bet_amount, payout_amount, transaction_type, skip_balance_update, moved, balance_before,
      balance_after, occurred_at, received_at from casino."Wallet Log"`;
  await write(...Array.from({ length: 21 }, (_, index) => row(`e${index + 10}`)));
  for (let run = 0; run < 2; run += 1) {
    await expect(follow()).rejects.toMatchObject({
      code: "ledger-unreadable",
      message: expect.stringMatching(/reading it failed: invalid input syntax for type numeric: "bet-e30"$/),
    });
  }
  expect(await rejected()).toHaveLength(20);
});
