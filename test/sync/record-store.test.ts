import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord, StoredRecord } from "../../src/bet.ts";
import { formatInstant } from "../../src/clock.ts";
import { takeMarks as takeDueMarks } from "../../src/diff/mark-store.ts";
import { countRecords, type PageTimes, writeRecords } from "../../src/sync/record-store.ts";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, exampleRecord, MINUTE_MS, NOON } from "../support/examples.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";

const { sql } = useDatabase();

beforeEach(async () => {
  await emptyTables(sql);
});

function write(records: readonly BetRecord[], times: Partial<PageTimes> = {}) {
  return sql.begin((tx) => writeRecords(tx, "P1", records, { requestedAt: NOON, now: NOON, ...times }));
}

const at = (offsetMs: number) => formatInstant(NOON + offsetMs);

/** Versions differ in their stakes. */
function version(stake: string, updatedMs: number, fields: Partial<StoredRecord> = {}): BetRecord {
  return exampleRecord({ stake: amount(stake), updatedDate: at(updatedMs), ...fields });
}

const readStakes = (table: "bet_records" | "bet_record_versions") =>
  sql<
    { stake: string }[]
  >`select stake from ${sql(table)} order by product_id, username, bet_id, id, stake`.then((rows) =>
    rows.map(({ stake }) => stake),
  );

/** The marks that a comparison would take at that moment, in order. Deletes them. */
async function takeMarks(now = NOON) {
  const marks = await sql.begin((tx) => takeDueMarks(tx, "P1", now, 1000));
  return marks.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

const mark = (roundId: string | null, betRef: string | null, username = "anna") => ({
  username,
  roundId,
  betRef,
});

describe("a page of records", () => {
  test("is stored as it was sent, with every digit and every additional field", async () => {
    const record = exampleRecord({
      stake: amount("9007199254740993.123456789"),
      payout: amount("0.000000000000000000000000000001"),
      updatedDate: "2026-11-20T18:59:00.123456+07:00",
      gameName: `O'Brien "the" \\u0000 {1,2} ยิงปลา 😀`,
      extra: '{"odds":1.10000000000000000001,"note":"\\\\u0000"}',
    });
    const counts = await write([record], { requestedAt: NOON + 1, now: NOON + 2 });
    expect(counts).toMatchObject({ records: 1, created: 1, changed: 0, unchanged: 0 });
    const [row] =
      await sql`select *, updated_date::text as updated, extra::text as additional from bet_records`;
    expect(row).toMatchObject({
      product_id: "P1",
      username: record.username,
      bet_id: record.betId,
      id: record.id,
      round_id: record.roundId,
      currency: record.currency,
      stake: "9007199254740993.123456789",
      payout: "0.000000000000000000000000000001",
      game_code: record.gameCode,
      game_name: record.gameName,
      bet_status: record.betStatus,
      payout_status: record.payoutStatus,
      accounting_date: Date.parse(record.accountingDate),
      updated: "2026-11-20 11:59:00.123456+00",
      additional: '{"note": "\\\\u0000", "odds": 1.10000000000000000001}',
      requested_at: NOON + 1,
      version_seen_at: NOON + 2,
    });
  });

  test("is read with every text that can be stored", async () => {
    const special = fc.constantFrom(...`\\"'{}[],:\t\r\n\u0001\u007f\u2028`);
    const text = fc.oneof(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
      fc.string({ unit: special, minLength: 1, maxLength: 10 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(text, { minLength: 1, maxLength: 20 }), async (texts) => {
        await sql`delete from bet_records`;
        await write(texts.map((username, i) => exampleRecord({ username, gameName: texts.at(-i) ?? "" })));
        const rows = await sql<{ username: string; game: string }[]>`
          select username, game_name as game from bet_records`;
        const games = new Map(rows.map(({ username, game }) => [username, game]));
        expect(texts.map((username) => games.get(username))).toEqual(texts.map((_, i) => texts.at(-i)));
      }),
      { numRuns: 15 },
    );
  });

  test("keeps records apart that differ only in player, betId or id", async () => {
    const records = [{}, { username: "bert" }, { betId: "bet-2" }, { id: "rec-2" }].map(exampleRecord);
    expect(await write(records)).toMatchObject({ created: 4 });
    expect((await countRecords(sql)).get("P1")).toEqual({ records: 4, rejected: 0 });
  });

  test("may be empty", async () => {
    expect(await write([])).toMatchObject({ records: 0, created: 0, changed: 0, unchanged: 0 });
  });

  test("that is known already writes nothing at all", async () => {
    const records = Array.from({ length: 20 }, (_, i) =>
      exampleRecord({ id: `rec-${i}`, extra: '{"a":1,"b":[2]}' }),
    );
    await write(records);
    // The same content in another form.
    const again = records.map((record) => ({
      ...record,
      stake: amount("10.0000"),
      updatedDate: "2026-11-20T18:59:00+07:00",
      extra: '{"b":[2.0],"a":1}',
    }));
    const before = await readTuples();
    const { counts, transaction } = await sql.begin(async (tx) => ({
      counts: await writeRecords(tx, "P1", again, { requestedAt: NOON + 1, now: NOON + 1 }),
      transaction: (await tx`select pg_current_xact_id_if_assigned()::text as id`)[0]?.["id"],
    }));
    expect(counts).toMatchObject({ records: 20, created: 0, changed: 0, unchanged: 20 });
    // PostgreSQL gives a transaction its number with its first write, including a row lock.
    expect(transaction).toBeNull();
    expect(await readTuples()).toEqual(before);
  });

  const readTuples = () => sql`
    select 'record' as of, ctid::text, xmin::text, xmax::text from bet_records
    union all select 'version', ctid::text, xmin::text, xmax::text from bet_record_versions
    union all select 'mark', ctid::text, xmin::text, xmax::text from diff_marks
    order by 1, 2`;

  test("with a few known records reads only these, although the table has no statistics yet", async () => {
    const many = Array.from({ length: 5_000 }, (_, index) =>
      exampleRecord({ id: `old-${index}`, betId: `old-${index}` }),
    );
    for (let from = 0; from < many.length; from += 1_000) await write(many.slice(from, from + 1_000));
    const fresh = Array.from({ length: 1_000 }, (_, index) =>
      exampleRecord({ id: `new-${index}`, betId: `new-${index}` }),
    );
    const page = [...many.slice(-3), ...fresh];
    for (const now of [NOON, NOON + MINUTE_MS]) {
      const changed = page.map((record, index) =>
        index === 0 ? { ...record, updatedDate: at(now) } : record,
      );
      const rows = await sql.begin(async (tx) => {
        await writeRecords(tx, "P1", changed, { requestedAt: now, now });
        const [read] = await tx<{ rows: number }[]>`
          select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables
          where relname = 'bet_records'`;
        return read?.rows;
      });
      expect(rows).toBeLessThan(3_500);
    }
  });
});

describe("of two versions of a record", () => {
  test("the newer one replaces the older one, which is kept with its times", async () => {
    await write([version("10", 0)], { requestedAt: NOON + 1, now: NOON + 2 });
    const counts = await write([version("20", MINUTE_MS)], { requestedAt: NOON + 3, now: NOON + 4 });
    expect(counts).toMatchObject({ created: 0, changed: 1, unchanged: 0 });
    expect(await sql`select stake, requested_at, version_seen_at from bet_records`).toEqual([
      { stake: "20", requested_at: NOON + 3, version_seen_at: NOON + 4 },
    ]);
    expect(
      await sql`select stake, requested_at, version_seen_at, replaced_at from bet_record_versions`,
    ).toEqual([{ stake: "10", requested_at: NOON + 1, version_seen_at: NOON + 2, replaced_at: NOON + 4 }]);
  });

  test.each([
    ["round", { roundId: "round-2" }],
    ["currency", { currency: "USD" }],
    ["payout", { payout: amount("0.000001") }],
    ["game", { gameName: "Game Two" }],
    ["status", { betStatus: "VOID" }],
    ["payout status", { payoutStatus: "WIN" }],
    ["accounting date", { accountingDate: at(1) }],
    ["additional fields", { extra: '{"a":1}' }],
  ] as const)("a change of the %s alone is a change", async (_, fields) => {
    await write([exampleRecord()]);
    expect(await write([exampleRecord(fields)])).toMatchObject({ changed: 1 });
    expect(await write([exampleRecord(fields)])).toMatchObject({ unchanged: 1 });
  });

  test("the one with the older updatedDate never replaces the other, however late it was requested", async () => {
    await write([version("20", MINUTE_MS)]);
    const late = { requestedAt: NOON + MINUTE_MS, now: NOON + MINUTE_MS };
    expect(await write([version("10", MINUTE_MS - 1)], late)).toMatchObject({ changed: 0, unchanged: 1 });
    expect(await readStakes("bet_records")).toEqual(["20"]);
    expect(await readStakes("bet_record_versions")).toEqual([]);
  });

  test("microseconds decide which is newer", async () => {
    await write([exampleRecord({ updatedDate: "2026-11-20T12:00:00.000002Z" })]);
    const older = version("20", 0, { updatedDate: "2026-11-20T12:00:00.000001Z" });
    expect(await write([older], { requestedAt: NOON + 1 })).toMatchObject({ changed: 0 });
    const newer = version("20", 0, { updatedDate: "2026-11-20T12:00:00.000003Z" });
    expect(await write([newer], { requestedAt: NOON - 1 })).toMatchObject({ changed: 1 });
  });

  test("with the same updatedDate the one that was requested later counts, whichever is written first", async () => {
    const [early, late] = [version("10", 0), version("20", 0)];
    await write([early], { requestedAt: NOON });
    await write([late], { requestedAt: NOON + 1 });
    expect(await readStakes("bet_records")).toEqual(["20"]);
    await write([early], { requestedAt: NOON });
    expect(await readStakes("bet_records")).toEqual(["20"]);
  });

  test("the newest stays and no current version is lost, in any order of pages", async () => {
    const versions = fc.uniqueArray(
      fc.record({ updatedMs: fc.integer({ min: 0, max: 3 }), requestedMs: fc.integer({ min: 0, max: 5 }) }),
      { minLength: 1, maxLength: 6, selector: ({ updatedMs, requestedMs }) => `${updatedMs} ${requestedMs}` },
    );
    await fc.assert(
      fc.asyncProperty(versions, async (pages) => {
        await emptyTables(sql, ["bet_records", "bet_record_versions"]);
        let [newest = 0, replaced] = [0, 0];
        const rank = (index: number) =>
          (pages[index]?.updatedMs ?? 0) * 10 + (pages[index]?.requestedMs ?? 0);
        for (const [index, { updatedMs, requestedMs }] of pages.entries()) {
          await write([version(String(index), updatedMs)], { requestedAt: NOON + requestedMs });
          if (rank(index) > rank(newest)) [newest, replaced] = [index, replaced + 1];
        }
        expect(await readStakes("bet_records")).toEqual([String(newest)]);
        expect(await readStakes("bet_record_versions")).toHaveLength(replaced);
      }),
      { numRuns: 30 },
    );
  });
});

describe("a record that occurs twice in a page", () => {
  test.each([
    ["the newer one counts, in either position", [version("20", 1), version("10", 0)], "20"],
    ["of equally new ones the last counts", [version("10", 0), version("20", 0)], "20"],
    [
      "the newer one counts, in any notation of the times",
      [
        version("20", 0, { updatedDate: "2026-11-20 19:01+07" }),
        version("10", 0, { updatedDate: "2026-11-20T12:00:59.999Z" }),
      ],
      "20",
    ],
    [
      "microseconds decide",
      [
        version("20", 0, { updatedDate: "2026-11-20T12:00:00.000002Z" }),
        version("10", 0, { updatedDate: "2026-11-20T12:00:00.000001Z" }),
      ],
      "20",
    ],
  ])("%s", async (_, records, stake) => {
    expect(await write(records)).toMatchObject({ records: 2, created: 1, changed: 0, unchanged: 1 });
    expect(await readStakes("bet_records")).toEqual([stake]);
  });
});

describe("a changed record gets marks", () => {
  test("from the moment it is seen, for its round and its bet, and once for all records of a bet", async () => {
    const records = [exampleRecord(), exampleRecord({ id: "rec-2" }), exampleRecord({ username: "bert" })];
    await write(records, { now: NOON + 5 });
    expect(await takeMarks(NOON + 4)).toEqual([]);
    expect(await takeMarks(NOON + 5)).toEqual([mark("round-1", "bet-1"), mark("round-1", "bet-1", "bert")]);
  });

  test.each(["", "UNKNOWN"])('for its bet only, if its round is "%s"', async (roundId) => {
    await write([exampleRecord({ roundId }), exampleRecord({ roundId, betId: "bet-2" })]);
    expect(await takeMarks()).toEqual([mark(null, "bet-1"), mark(null, "bet-2")]);
  });

  test("for both rounds, if its round changed", async () => {
    await write([exampleRecord()]);
    await takeMarks();
    await write([exampleRecord({ roundId: "round-2" })]);
    expect(await takeMarks()).toEqual([mark("round-1", "bet-1"), mark("round-2", "bet-1")]);
  });

  test("for its bet with the present round, and without the round that it lacked before", async () => {
    await write([exampleRecord({ roundId: "UNKNOWN" })]);
    await takeMarks();
    await write([exampleRecord({ roundId: "round-2" })]);
    expect(await takeMarks()).toEqual([mark("round-2", "bet-1"), mark(null, "bet-1")]);
  });

  test("and no other record of its page does", async () => {
    await write([exampleRecord({ roundId: "a" }), exampleRecord({ id: "rec-2", roundId: "b" })]);
    await takeMarks();
    await write([
      exampleRecord({ roundId: "a" }),
      exampleRecord({ id: "rec-2", roundId: "b", betStatus: "VOID" }),
      exampleRecord({ id: "rec-3", roundId: "c" }),
    ]);
    expect(await takeMarks()).toEqual([mark("b", "bet-1"), mark("c", "bet-1")]);
  });
});

describe("a rejected record", () => {
  const reject = (raws: readonly string[], productId = "P1", now = NOON) =>
    sql.begin((tx) => {
      const rejected = raws.map((raw) => ({
        raw,
        reason: `stake must be a number, but is "${raw.slice(0, 3)}"`,
      }));
      return writeRejected(tx, productId, rejected, now);
    });

  test("is kept once however often it comes, with the time it was first seen", async () => {
    await reject(['{"id":1}', '{"id":2}', '{"id":1}']);
    await reject(['{"id":2}', '{"id":3}'], "P1", NOON + 1);
    expect(await sql`select raw, reason, first_seen_at from rejected_records order by raw`).toEqual([
      { raw: '{"id":1}', reason: 'stake must be a number, but is "{"i"', first_seen_at: NOON },
      { raw: '{"id":2}', reason: 'stake must be a number, but is "{"i"', first_seen_at: NOON },
      { raw: '{"id":3}', reason: 'stake must be a number, but is "{"i"', first_seen_at: NOON + 1 },
    ]);
    expect((await countRecords(sql)).get("P1")).toEqual({ records: 0, rejected: 3 });
  });

  test("is kept for each product under which it came", async () => {
    await reject(["x"]);
    await reject(["x"], "P2");
    expect(await countRecords(sql)).toEqual(
      new Map(["P1", "P2"].map((productId) => [productId, { records: 0, rejected: 1 }])),
    );
  });

  test("may be longer than an index entry can be", async () => {
    const long = Array.from({ length: 5_000 }, (_, i) => `${i * 7919}`).join(" ");
    await reject([long]);
    await reject([long]);
    expect(await sql`select raw from rejected_records`).toEqual([{ raw: long }]);
  });
});

describe("two pages with the same records at the same time", () => {
  test.each([
    { what: "a new record, the newer version second", known: [], first: "10", second: "20", kept: ["10"] },
    { what: "a new record, the newer version first", known: [], first: "20", second: "10", kept: [] },
    { what: "a new version, the newest second", known: ["1"], first: "10", second: "20", kept: ["1", "10"] },
    { what: "a new version, the newest first", known: ["1"], first: "20", second: "10", kept: ["1"] },
  ])(
    "bring $what: the newer version stays, and the replaced one is kept",
    async ({ known, first, second, kept }) => {
      await write(known.map((stake) => version(stake, Number(stake))));
      const held = await hold([version(first, Number(first))]);
      const waiting = write([version(second, Number(second))]);
      await untilSomebodyWaits(sql);
      await held.commit();
      await waiting;
      expect(await readStakes("bet_records")).toEqual(["20"]);
      expect(await readStakes("bet_record_versions")).toEqual(kept);
    },
  );

  test("leave the second its way when the first is rolled back", async () => {
    const held = await hold([version("20", 20)]);
    const waiting = write([version("10", 10)]);
    await untilSomebodyWaits(sql);
    await held.rollBack();
    expect(await waiting).toMatchObject({ created: 1 });
    expect(await readStakes("bet_records")).toEqual(["10"]);
  });

  test("never deadlock and never lose a version, in any order of their records", async () => {
    const ids = Array.from({ length: 30 }, (_, i) => `rec-${String(i).padStart(2, "0")}`);
    const isIn = (page: number, round: number, index: number) => (index * 7 + round * 5 + page) % 3 !== 0;
    const lastRound = 24;
    let written = 0;
    for (let round = 0; round <= lastRound; round++) {
      const pages = [0, 1, 2, 3].map((page) => {
        const stake = String(round * 10 + page);
        const records = ids
          .filter((_, index) => isIn(page, round, index))
          .map((id) => version(stake, round, { id, roundId: `round-${stake}` }));
        return page % 2 === 0 ? records : records.toReversed();
      });
      const counts = await Promise.all(
        pages.map((records, page) => write(records, { requestedAt: NOON + page })),
      );
      written += counts.reduce((sum, { created, changed }) => sum + created + changed, 0);
    }
    const newest = ids.map((id, index) => {
      const page = [3, 2, 1, 0].find((one) => isIn(one, lastRound, index));
      return { id, stake: String(lastRound * 10 + (page ?? Number.NaN)) };
    });
    expect(await sql`select id, stake from bet_records order by id`).toEqual(newest);
    expect(await readStakes("bet_record_versions")).toHaveLength(written - ids.length);
  });

  /** Writes a page in a transaction that stays open until the test ends it. */
  async function hold(records: readonly BetRecord[]) {
    const written = Promise.withResolvers<void>();
    const decided = Promise.withResolvers<void>();
    const ended = sql.begin(async (tx) => {
      await writeRecords(tx, "P1", records, { requestedAt: NOON, now: NOON });
      written.resolve();
      await decided.promise;
    });
    const done = ended.catch((error: unknown) => error);
    await Promise.race([written.promise, done]);
    return {
      commit: async () => {
        decided.resolve();
        await ended;
      },
      rollBack: async () => {
        decided.reject(new Error("rolled back"));
        await done;
      },
    };
  }
});
