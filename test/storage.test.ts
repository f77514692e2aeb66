import { describe, expect, test } from "vitest";
import { parseBytes, showBytes } from "../src/bytes.ts";
import {
  isFull,
  judgeStorage,
  largeTables,
  sayAllDue,
  sayDisk,
  sayGrowth,
  sayMeasured,
} from "../src/storage.ts";

const DAY_MS = 86_400_000;
const NOON = Date.parse("2026-11-20T12:00:00Z");
const GB = 1e9;

const measured = (changes: Partial<Parameters<typeof judgeStorage>[0]> = {}) =>
  judgeStorage({
    measuredAt: NOON,
    bytes: 100 * GB,
    diskBytes: 500 * GB,
    tables: [],
    before: { at: NOON - 10 * DAY_MS, bytes: 80 * GB },
    ...changes,
  });

describe("how long the disk lasts", () => {
  test("follows from the growth of the last days", () => {
    const storage = measured();
    expect(storage).toMatchObject({ bytesPerDay: 2 * GB, daysLeft: 200 });
    expect(sayGrowth(storage)).toBe("grows by 2.0 GB a day");
    expect(sayDisk(storage)).toBe(
      "200 days of disk left at this rate, of the 500 GB that DATABASE_DISK allows",
    );
    expect(sayMeasured(storage, NOON + 135_000)).toBe("measured 2 min 15 s ago");
  });

  test("is unknown without DATABASE_DISK, which the sentence names", () => {
    const storage = measured({ diskBytes: null });
    expect(storage.daysLeft).toBeNull();
    expect(sayDisk(storage)).toBe("days of disk unknown: set DATABASE_DISK");
    expect(isFull(storage)).toBe(false);
  });

  test("is unknown before a whole day was measured", () => {
    const storage = measured({ before: { at: NOON - DAY_MS + 1, bytes: 80 * GB } });
    expect(storage).toMatchObject({ bytesPerDay: null, daysLeft: null });
    expect(sayGrowth(storage)).toBe("its growth is known after a day");
    expect(sayDisk(storage)).toBe("400 GB left of the 500 GB that DATABASE_DISK allows");
  });

  test("has no end if the database does not grow", () => {
    const storage = measured({ before: { at: NOON - 10 * DAY_MS, bytes: 101 * GB } });
    expect(storage).toMatchObject({ bytesPerDay: -0.1 * GB, daysLeft: null });
    expect(sayDisk(storage)).toBe(
      "400 GB left of the 500 GB that DATABASE_DISK allows, and it does not grow",
    );
  });

  test("is over if the database is larger than it may be", () => {
    const full = measured({ diskBytes: 90 * GB });
    expect([isFull(full), full.daysLeft]).toEqual([true, 0]);
    expect(sayDisk(full)).toBe("no space left of the 90.0 GB that DATABASE_DISK allows");
  });
});

test("small tables are one line, and counts that ended at their limit say so", () => {
  const tables = [
    { table: "bet_records", bytes: 5 * GB, due: 100_000 },
    { table: "windows", bytes: 2e6, due: 7 },
    { table: "alerts", bytes: 16_384, due: 3 },
    { table: "wallets", bytes: 8_192, due: null },
  ];
  const { large, otherBytes } = largeTables(measured({ tables }));
  expect(large.map(({ table }) => table)).toEqual(["bet_records", "windows", "alerts"]);
  expect(otherBytes).toBe(8_192);
  expect(sayAllDue(measured({ tables }))).toBe("over 100,010 rows due for deletion");
  expect(sayAllDue(measured())).toBe("no setting deleted rows by age when this was measured");
});

test.each([
  ["500GB", 500e9],
  ["1.5 TiB", 1.5 * 2 ** 40],
  ["200 MB", 200e6],
])("%s is an amount of data", (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each(["", "500", "GB", "-5GB", "0GB", "5 gb", "1e3GB", "5GBs"])('"%s" is no amount of data', (text) => {
  expect(parseBytes(text)).toBeNull();
});

test("amounts of data are shown with one digit after the point, and from a hundred on without", () => {
  expect([0, 999, 1_500, 12_345_678, 123_456_789, -2e9].map(showBytes)).toEqual([
    "0 bytes",
    "999 bytes",
    "1.5 kB",
    "12.3 MB",
    "123 MB",
    "-2.0 GB",
  ]);
});
