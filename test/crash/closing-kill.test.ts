import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readClosedDays } from "../../src/closing/closed-day-store.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { startRecon } from "../cli/run-recon.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";
import { untilSomebodyWaits } from "../support/lock-wait.ts";

const { sql, url } = useDatabase();
const clock = createTestClock(NOON);
const { fetched, correct, expectInvariant } = useClosing(sql, clock);
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

test("a process that is killed with kill -9 while it closes leaves no gap, and no day twice", async () => {
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
  const close = (day: number) => startRecon(["close", "--day", dateOf(day)], SETTINGS);
  expect(await close(0).ended).toMatchObject({ code: 0 });

  for (const table of ["closed_bets", "closed_days"]) {
    await holding(table, async () => {
      const { child, ended } = close(1);
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

  expect(await close(1).ended).toMatchObject({ code: 0 });
  expect(await close(2).ended).toMatchObject({ code: 0 });
  expect((await readClosedDays(sql, 0, 10)).map(({ day, number }) => [day, number])).toEqual([
    [dateOf(0), 1],
    [dateOf(1), 2],
    [dateOf(2), 3],
  ]);
  await expectInvariant();
  const verified = await startRecon(["report", "--verify"], SETTINGS).ended;
  expect([verified.code, verified.stdout]).toEqual([0, "Closed days: 3. No stored statement was altered.\n"]);
});
