import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readClosedDays } from "../../src/closing/closed-day-store.ts";
import { verifyChain } from "../../src/flows/closing/read-statement.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { createRandom } from "../../src/sandbox/world/random.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { startRecon } from "../cli/run-recon.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { amount, exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { closeAndCorrect } from "./close-and-correct.ts";

const { sql, url } = useDatabase();
const clock = createTestClock(NOON);
const { context, close, fetched, correct, expectInvariant } = useClosing(sql, clock);
const folder = mkdtempSync(join(tmpdir(), "recon-closing-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "recon.config.json"), JSON.stringify({ products: [{ productId: "P1" }] }));
const SETTINGS = { DATABASE_URL: url, RECON_CONFIG: join(folder, "recon.config.json") };
/** Years before any machine's present day. */
const DAY = NOON - 12 * HOUR_MS - 365 * 24 * HOUR_MS;
const dateOf = (days: number) => new Date(DAY + days * 24 * HOUR_MS).toISOString().slice(0, 10);

/** Holds a table, so that the next statement which writes to it waits. */
async function holding(table: string, meanwhile: () => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(`lock table ${table} in share mode`);
    await meanwhile();
  });
}

/** A bet of a day, on both sides. */
async function playOn(day: number): Promise<void> {
  const at = DAY + day * 24 * HOUR_MS + HOUR_MS;
  const names = { txnId: `bet-${day}`, roundId: `round-${day}`, occurredAt: at, receivedAt: at };
  await appendEntries(sql, [
    exampleEntry({ ...names, entryId: `place-${day}`, requestId: `place-${day}` }),
    exampleSettle({ ...names, entryId: `settle-${day}`, requestId: `settle-${day}` }),
  ]);
  await list(day, "20");
}

async function list(day: number, payout: string): Promise<void> {
  const at = DAY + day * 24 * HOUR_MS + HOUR_MS;
  const time = new Date(at).toISOString();
  const names = { id: `rec-${day}`, betId: `bet-${day}`, roundId: `round-${day}` };
  const record = exampleRecord({
    ...names,
    payout: amount(payout),
    accountingDate: time,
    updatedDate: time,
  });
  await sql.begin((tx) => writeRecords(tx, "P1", [record], { requestedAt: at, now: at }));
  // A comparison takes the marks with the same statement.
  await sql`delete from diff_marks`;
}

const CLOSER = join(import.meta.dirname, "close-and-correct-main.ts");

/** The settings with which so many days are due. */
function settingsFor(days: number): object {
  const dueAt = DAY + days * 24 * HOUR_MS;
  const after = `PT${Math.floor((Date.now() - dueAt) / 1000) - 60}S`;
  return {
    products: [{ productId: "P1" }],
    closing: { after },
    retain: { recordVersions: null, rawBodies: null, windows: null },
  };
}

/** Runs the job once. @returns how many pieces it sent to the server */
async function runJob(days: number): Promise<number> {
  let sent = 0;
  const proxy = await startTcpProxy(url, () => {
    sent += 1;
  });
  await closeAndCorrect(proxy.url, settingsFor(days));
  await proxy.close();
  return sent;
}

/** Runs the job in a process of its own, and kills it when so many pieces were sent to the server. */
async function killJob(days: number, after: number): Promise<void> {
  let sent = 0;
  const proxy = await startTcpProxy(url, () => {
    sent += 1;
    if (sent === after) child.kill("SIGKILL");
  });
  const { child, ended } = startRecon([proxy.url, JSON.stringify(settingsFor(days))], {}, CLOSER);
  await ended;
  await proxy.close();
}

test("two workers, one of which is killed at any statement of closing and correcting, close each day once", async () => {
  await emptyTables(sql);
  const days = 6;
  await fetched(DAY, DAY + days * 24 * HOUR_MS);
  for (let day = 0; day < days; day += 1) await playOn(day);
  const numbers = async () => (await readClosedDays(sql, 0, 100)).map(({ number }) => number);
  const sent = await runJob(1);
  expect((await numbers()).length).toBeGreaterThan(0);
  const random = createRandom(20261123);
  for (let round = 1; round <= 4; round += 1) {
    // Each day that is closed is corrected.
    for (const { day } of await readClosedDays(sql, 0, 100)) {
      await list((Date.parse(day) - DAY) / (24 * HOUR_MS), String(20 + round));
    }
    await Promise.all([
      killJob(1 + round, random.between(1, sent)),
      round % 2 === 0 ? runJob(1 + round) : killJob(1 + round, random.between(1, 2 * sent)),
    ]);
    const closed = await numbers();
    expect(closed).toEqual(closed.map((_, index) => index + 1));
  }
  await runJob(days);
  await correct();
  await expectInvariant();
  expect(await readClosedDays(sql, 0, 100)).toHaveLength(days);
  const corrections = await sql`select from corrections`;
  expect(corrections.length).toBeGreaterThan(3);
  expect(await verifyChain(context())).toEqual({ days, flaw: null });
});

test("a process that is killed with kill -9 while it closes leaves no gap, and no day twice", async () => {
  await emptyTables(sql);
  await fetched(DAY, DAY + 4 * 24 * HOUR_MS);
  for (let day = 0; day < 3; day += 1) {
    const at = DAY + day * 24 * HOUR_MS + HOUR_MS;
    const names = { txnId: `bet-${day}`, roundId: `round-${day}`, occurredAt: at, receivedAt: at };
    await appendEntries(sql, [exampleEntry(names), exampleSettle(names)]);
    const time = new Date(at).toISOString();
    const record = exampleRecord({
      id: `rec-${day}`,
      betId: `bet-${day}`,
      roundId: `round-${day}`,
      accountingDate: time,
      updatedDate: time,
    });
    await sql.begin((tx) => writeRecords(tx, "P1", [record], { requestedAt: at, now: at }));
  }
  await close(dateOf(0));

  for (const table of ["closed_bets", "closed_days"]) {
    await holding(table, async () => {
      const { child, ended } = startRecon(["close", "--day", dateOf(1), "--yes"], SETTINGS);
      await untilSomebodyWaits(sql);
      child.kill("SIGKILL");
      await ended;
    });
    await eventually("its transaction has ended", async () => {
      const [row] = await sql`select exists (select from pg_locks where relation = 'closing_states'::regclass
        and mode = 'ExclusiveLock') as held`;
      return row?.["held"] === false;
    });
    // The killed process may have sent its last statement: then the day is closed whole.
    expect((await readClosedDays(sql, 0, 10)).length).toBeLessThanOrEqual(2);
    await correct();
    await expectInvariant();
  }

  await close(dateOf(1));
  await close(dateOf(2));
  expect((await readClosedDays(sql, 0, 10)).map(({ day, number }) => [day, number])).toEqual([
    [dateOf(0), 1],
    [dateOf(1), 2],
    [dateOf(2), 3],
  ]);
  await expectInvariant();
  expect(await verifyChain(context())).toEqual({ days: 3, flaw: null });
});
