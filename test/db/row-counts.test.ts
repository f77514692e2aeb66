import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import {
  COUNTED_TABLES,
  type CountedTable,
  countByProduct,
  countRows,
  keepRowCounts,
} from "../../src/db/row-counts.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { pickUpTopUps } from "../../src/verify/row-store.ts";
import { addTransfers } from "../../src/verify/store.ts";
import { startOperator } from "../callbacks/operator.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { exampleEntry, exampleRecord, HOUR_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { deposit, VERIFY } from "../verify/sent.ts";

const { sql } = useDatabase();
const DAY_MS = 24 * HOUR_MS;

const ANY_IS_LARGE = { largeBytes: 0, recountMs: 30 * DAY_MS };
const NONE_IS_LARGE = { ...ANY_IS_LARGE, largeBytes: 1 << 30 };
const keep = (table: CountedTable, limits = ANY_IS_LARGE, now = NOON) =>
  keepRowCounts(sql, table, now, limits);

beforeEach(async () => {
  await emptyTables(sql);
});

const write = (productId: string, ...betIds: string[]) =>
  writeRecords(
    sql,
    productId,
    betIds.map((betId) => exampleRecord({ productId, betId })),
    { requestedAt: NOON, now: NOON },
  );
/** As an operator with psql writes, or a worker that does not note added rows. */
const writeUnnoted = async (betId: string) => {
  await write("P1", betId);
  await sql`delete from rows_added where ctid = (select max(ctid) from rows_added)`;
};
const products = async () => Object.fromEntries(await countByProduct(sql, "bet_records"));
const noted = async () => (await sql`select from rows_added`).length;

describe("the rows of a table", () => {
  test("are counted in a small table, and no count is stored", async () => {
    await write("P1", "a", "b");
    await write("P2", "c");
    expect(await keep("bet_records", NONE_IS_LARGE)).toBe(false);
    expect([await noted(), await sql`select from row_counts`]).toEqual([0, []]);
    await writeUnnoted("d");
    expect(await products()).toEqual({ P1: 3, P2: 1 });
  });

  test("are counted once in a large table, and known from then on by what is added", async () => {
    await write("P1", "a", "b");
    expect(await keep("bet_records")).toBe(true);
    await write("P1", "b", "c");
    await write("P2", "d");
    expect(await products()).toEqual({ P1: 3, P2: 1 });
    expect(await keep("bet_records")).toBe(false);
    expect([await products(), await noted()]).toEqual([{ P1: 3, P2: 1 }, 0]);
    await writeUnnoted("e");
    expect(await products()).toEqual({ P1: 3, P2: 1 });
  });

  test("are counted again after a while, so rows without a note are found", async () => {
    await write("P1", "a");
    await keep("bet_records");
    await writeUnnoted("b");
    await write("P2", "c");
    expect(await keep("bet_records", ANY_IS_LARGE, NOON + 30 * DAY_MS - 1)).toBe(false);
    expect(await keep("bet_records", ANY_IS_LARGE, NOON + 30 * DAY_MS)).toBe(true);
    expect([await products(), await noted()]).toEqual([{ P1: 2, P2: 1 }, 0]);
  });

  test("are exact while several clients write, count and add up at once", async () => {
    const writers = Array.from({ length: 40 }, (_, n) => write(`P${n % 3}`, `bet-${n}`, `bet-${n + 1}`));
    const keepers = Array.from({ length: 8 }, (_, n) =>
      keep("bet_records", { largeBytes: 0, recountMs: n % 2 }, NOON + n),
    );
    await Promise.all([...writers, ...keepers]);
    const counted = await sql<{ product: string; rows: number }[]>`
      select product_id as product, count(*) as rows from bet_records group by 1`;
    const expected = Object.fromEntries(counted.map(({ product, rows }) => [product, rows]));
    expect(await products()).toEqual(expected);
    await keep("bet_records");
    expect(await products()).toEqual(expected);
  });

  test("are noted by every writer that adds some", async () => {
    for (const table of COUNTED_TABLES) await keep(table);
    await write("P1", "a", "b");
    const raw = { raw: "{}", reason: "nothing is in it" };
    await writeRejected(sql, "P1", [raw, { ...raw, raw: "[]" }, raw], NOON);
    await writeRejected(sql, "P1", [raw], NOON);
    const debit = exampleEntry({
      callback: "adjustBalance",
      status: "DEBIT",
      txnId: "top-up",
      roundId: null,
    });
    await appendEntries(sql, [debit, debit, exampleEntry()]);
    const operator = await startOperator(sql);
    expect(await operator.outcomeOf("placeBets", [{ id: "a" }, { id: "b" }])).toBe("0 80");
    await addTransfers(sql, [deposit(), deposit({ transactionRef: "another" })], NOON, VERIFY);
    await addTransfers(sql, [deposit()], NOON, VERIFY);
    await pickUpTopUps(sql, [{ productId: "P1", since: null }], { now: NOON, firstDelayMs: 0 });
    await openMismatches(sql, parseConfig({ products: [{ productId: "P1" }] }), NOON, [{}, {}, {}]);
    const known = await Promise.all(COUNTED_TABLES.map((table) => countRows(sql, table)));
    expect(known).toEqual([2, 4, 3, 2, 1, 2]);
  });
});
