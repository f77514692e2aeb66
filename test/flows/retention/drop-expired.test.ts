import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { insertAudit, listAudit } from "../../../src/access/audit-store.ts";
import type { BetRecord } from "../../../src/bet.ts";
import { keepBodies as writeBodies } from "../../../src/callbacks/body-store.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { Query } from "../../../src/db/client.ts";
import { dropExpired } from "../../../src/flows/retention/drop-expired.ts";
import { silentLog } from "../../../src/log.ts";
import type { MismatchContent } from "../../../src/mismatch.ts";
import { ensureBudget, storeWaiter } from "../../../src/provider/budget-store.ts";
import { writeRecords } from "../../../src/sync/record-store.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { amount, exampleRecord, HOUR_MS, NOON } from "../../support/examples.ts";
import { LEDGER_SIDE } from "../../support/findings.ts";
import { openMismatches } from "../../support/open-mismatches.ts";

const { sql } = useDatabase();
const DAY_MS = 24 * HOUR_MS;
const never = new AbortController().signal;

const config = parseConfig({
  products: [{ productId: "P1" }],
  pull: { resweepAfter: ["P1D"] },
  retain: { recordVersions: "P3D", rawBodies: "P2D" },
});
const context = { sql, config, clock: createTestClock(NOON), log: silentLog };
const drop = (limits = { rows: 2, batches: 100 }) => dropExpired(context, never, limits);

const AUDITED = {
  role: "write",
  by: "token",
  address: "::1",
  method: "POST",
  route: "/api/transfers",
  target: "{}",
  details: null,
  status: 200,
};

/** For each age in days, stores a body that was received then. */
const keepBodies = async (...ages: number[]) => {
  for (const age of ages) {
    const receivedAt = NOON - age * DAY_MS;
    const body = { callback: "placeBets", productId: "P1", requestId: null, statusCode: 0, body: `${age}` };
    const { text, values } = writeBodies([{ ...body, statusCode: 0, receivedAt }]);
    await sql.unsafe(text, [...values]);
  }
};
const bodies = async () => {
  const rows = await sql<{ body: string }[]>`select body from callback_bodies order by received_at`;
  return rows.map(({ body }) => Number(body));
};

/** For each age in days, changes one record, and replaces its older version at that time. The stake is the age. */
const changeRecord = async (...ages: number[]) => {
  for (const age of [...ages].sort((a, b) => b - a)) await write(sql, age);
};
const write = (to: Query, age: number, fields: Partial<BetRecord> = {}) => {
  const now = NOON - age * DAY_MS;
  const updatedDate = new Date(now).toISOString();
  const record = exampleRecord({ stake: amount(String(age)), updatedDate, ...fields });
  return writeRecords(to, "P1", [record], { requestedAt: now, now });
};
const replaced = async () => {
  const rows = await sql<{ at: number }[]>`select replaced_at as at from bet_record_versions order by 1`;
  return rows.map(({ at }) => (NOON - at) / DAY_MS);
};

beforeEach(async () => {
  await emptyTables(sql);
});

describe("data that is kept for a time", () => {
  test("continues behind many kept versions, also if they were replaced at the same time", async () => {
    await changeRecord(30, 20, 9, 1);
    await sql`insert into bet_record_versions select v.* from bet_record_versions v, generate_series(1, 5) where replaced_at = ${NOON - 20 * DAY_MS}`;
    await openMismatches(sql, config, NOON, [{}]);
    const other = exampleRecord({ id: "rec-2", betId: "bet-2", roundId: "round-2" });
    const at = (age: number) => ({ requestedAt: NOON - age * DAY_MS, now: NOON - age * DAY_MS });
    await writeRecords(sql, "P1", [other], at(8));
    await writeRecords(
      sql,
      "P1",
      [{ ...other, stake: amount("5"), updatedDate: "2026-11-20T11:59:30Z" }],
      at(7),
    );
    expect(await drop()).toMatchObject({ recordVersions: 1 });
    expect(await replaced()).toEqual([20, 20, 20, 20, 20, 20, 9, 1]);
  });

  test.each([
    ["the same bet", {}, [20, 9, 1]],
    [
      "its round",
      { betId: null, transactionId: null, roundId: "round-1", subject: "round:round-1" },
      [20, 9, 1],
    ],
    [
      "the bet under the other player's name",
      { kind: "username-differs", username: "bo", ledger: { ...LEDGER_SIDE, username: "bo" } },
      [20, 9, 1],
    ],
    [
      "a session of the player",
      { betId: null, transactionId: null, roundId: null, subject: "session:2026-11-01T00:00:00.000Z THB" },
      [20, 9, 1],
    ],
    ["another bet", { betId: "bet-2", transactionId: "bet-2", roundId: "round-2" }, [1]],
    ["the bet of another product", { productId: "P2" }, [1]],
  ])("keeps the versions of a record while there is a mismatch of %s", async (_, fields, kept) => {
    await changeRecord(30, 20, 9, 1);
    await openMismatches(sql, config, NOON, [{ ...(fields as Partial<MismatchContent>) }]);
    await sql`update mismatches set status = 'resolved', resolved_by = 'recon'`;
    await drop();
    expect(await replaced()).toEqual(kept);
  });

  test("is deleted after that time, in small batches, and nothing else is", async () => {
    await keepBodies(9, 8, 7, 6, 2.1, 2, 1, 0);
    await changeRecord(20, 9, 8, 7, 3.1, 3, 1);
    expect(await drop()).toEqual({ recordVersions: 4, rawBodies: 5 });
    expect(await bodies()).toEqual([2, 1, 0]);
    expect(await replaced()).toEqual([3, 1]);
    expect(await sql`select stake from bet_records`).toEqual([{ stake: "1" }]);
    expect(await drop()).toEqual({ recordVersions: 0, rawBodies: 0 });
  });

  test("is deleted after 400 days in the audit: a year, and the month in which ops read it", async () => {
    for (const age of [402, 400.1, 399.9, 0]) {
      await insertAudit(sql, { ...AUDITED, at: NOON - age * DAY_MS, who: `${age}` });
    }
    await drop();
    const { audit } = await listAudit(sql, { limit: 10, after: null });
    expect(audit.map(({ who }) => who)).toEqual(["0", "399.9"]);
  });

  test("is deleted the oldest first, up to a limit for each run", async () => {
    await keepBodies(9, 8, 7, 6, 5);
    expect(await drop({ rows: 2, batches: 2 })).toMatchObject({ rawBodies: 4 });
    expect(await bodies()).toEqual([5]);
  });

  test("is deleted even if very many rows were written in one moment", async () => {
    await keepBodies(9, 9, 9, 9, 9);
    expect(await drop()).toMatchObject({ rawBodies: 5 });
  });

  test("stays if the worker is asked to end", async () => {
    await keepBodies(9);
    expect(await dropExpired(context, AbortSignal.abort())).toEqual({ recordVersions: 0, rawBodies: 0 });
    expect(await bodies()).toEqual([9]);
  });
});

describe("at the same time", () => {
  test("another worker takes the rows that this one has not locked, without waiting", async () => {
    await keepBodies(9, 8, 7, 6);
    await changeRecord(20, 9, 8, 7, 6);
    await sql.begin(async (tx) => {
      await tx`delete from callback_bodies where body in ('9', '7')`;
      await tx`delete from bet_record_versions where replaced_at = ${NOON - 8 * DAY_MS}`;
      expect(await drop()).toEqual({ recordVersions: 3, rawBodies: 2 });
    });
    expect([await bodies(), await replaced()]).toEqual([[], []]);
  });

  test("two workers delete each row once, and no row that is still kept", async () => {
    const old = Array.from({ length: 60 }, (_, index) => 10 + index);
    await keepBodies(...old, 1);
    const both = await Promise.all([drop(), drop()]);
    const total = both.reduce((sum, { rawBodies }) => sum + rawBodies, 0);
    expect([total, await bodies()]).toEqual([60, [1]]);
  });

  test("live writes continue, and rows that they write again are kept", async () => {
    await keepBodies(9);
    await changeRecord(20, 9);
    await sql.begin(async (tx) => {
      await write(tx, 0);
      expect(await drop()).toEqual({ recordVersions: 1, rawBodies: 1 });
    });
    await sql.begin(async (tx) => {
      await tx`delete from bet_record_versions`;
      await write(sql, -1);
      await keepBodies(0);
    });
    expect([await bodies(), await replaced()]).toEqual([[0], [-1]]);
  });
});

test("a process that died waiting for the provider is deleted, and one that waits is not", async () => {
  await ensureBudget(sql);
  const [dead, alive] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
  for (const waiter of [dead, alive]) await storeWaiter(sql, waiter, 1);
  await sql`update request_waiters set seen_at = seen_at - interval '2 hours' where waiter = ${dead}`;
  await drop();
  expect(await sql`select waiter from request_waiters`).toEqual([{ waiter: alive }]);
});

test("once a day is closed, bodies and versions of later days and of days before the first closed one stay", async () => {
  await keepBodies(10, 9, 8, 7, 6);
  const early = { accountingDate: new Date(NOON - 10 * DAY_MS).toISOString() };
  for (const age of [10, 8]) await write(sql, age, { betId: "early", id: "early", ...early });
  await changeRecord(20, 10, 8, 6);
  const closing = { ...context, config: { ...config, closing: { ...config.closing, after: DAY_MS } } };
  await dropExpired(closing, never);
  expect(await bodies()).toEqual([10, 9, 8, 7, 6]);
  expect(await replaced()).toEqual([10, 8, 8, 6]);
  await sql`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
    values ('2026-11-12', 'UTC', ${NOON - 9 * DAY_MS}, ${NOON - 7 * DAY_MS}, 1, ${NOON}, 'hash', '{}')`;
  onTestFinished(async () => {
    await sql`delete from closed_days`;
  });
  await dropExpired(closing, never);
  expect(await bodies()).toEqual([10, 7, 6]);
  const versions =
    await sql`select bet_id as bet, replaced_at as at from bet_record_versions order by replaced_at`;
  const daysAgo = (bet: string, age: number) => ({ bet, at: NOON - age * DAY_MS });
  expect(versions).toEqual([daysAgo("bet-1", 10), daysAgo("early", 8), daysAgo("bet-1", 6)]);
});
