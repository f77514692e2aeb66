/** Deleting survives kill -9 at any moment, and locked rows: no bet is half deleted, and the next run goes on. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyChain } from "../../src/flows/closing/read-statement.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { useClosing } from "../flows/closing/closing-world.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { exampleEntry, exampleRecord, exampleSettle, HOUR_MS, NOON } from "../support/examples.ts";
import { deleteOld } from "./delete-old.ts";

const { sql, url } = useDatabase();
const clock = createTestClock(NOON);
const { context, fetched, close } = useClosing(sql, clock);
const CONFIG = { products: [{ productId: "P1" }], retain: { records: "P90D", entries: "P90D" } };
/** Years before any machine's present day. */
const DAY = NOON - 12 * HOUR_MS - 365 * 24 * HOUR_MS;
const BETS = 240;
const nameOf = (bet: number) => `bet-${String(bet).padStart(3, "0")}`;

/** Every third bet shares its round with the next two. */
async function play(): Promise<void> {
  const at = DAY + HOUR_MS;
  const bets = Array.from({ length: BETS }, (_, bet) => ({ bet, round: `round-${bet - (bet % 3)}` }));
  await appendEntries(
    sql,
    bets.flatMap(({ bet, round }) => {
      const names = { txnId: nameOf(bet), roundId: round, occurredAt: at + bet, receivedAt: at + bet };
      return [exampleEntry(names), exampleSettle(names)];
    }),
  );
  const records = bets.map(({ bet, round }) => {
    const time = new Date(at + bet).toISOString();
    const names = { id: `rec-${bet}`, betId: nameOf(bet), roundId: round };
    return exampleRecord({ ...names, accountingDate: time, updatedDate: time });
  });
  await sql.begin((tx) => writeRecords(tx, "P1", records, { requestedAt: at, now: at }));
}

function startDeleting(): ChildProcess {
  const script = join(import.meta.dirname, "delete-old-main.ts");
  return spawn(process.execPath, [script, url, JSON.stringify(CONFIG)], { stdio: "inherit" });
}

async function countBets(): Promise<number> {
  const [row] = await sql<{ bets: number }[]>`select count(*) as bets from bet_records`;
  return row?.bets ?? 0;
}

/** Each round is there with all its records, entries and rows of the closed day, or with nothing. */
async function expectWholeRounds(): Promise<void> {
  const rounds = await sql<{ records: number; entries: number; closed: number }[]>`
    select coalesce(r.n, 0) as records, coalesce(e.n, 0) as entries, coalesce(c.n, 0) as closed
    from (select round_id, count(*) as n from bet_records group by 1) r
    full join (select round_id, count(*) as n from callback_entries group by 1) e using (round_id)
    full join (select substr(subject, 7) as round_id, count(distinct subject) as n from closed_bets group by 1) c using (round_id)`;
  for (const { records, entries, closed } of rounds)
    expect({ records, entries, closed }).toEqual({ records: 3, entries: 6, closed: 1 });
}

const isOver = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

test("two processes that are killed with kill -9 while they delete leave no bet half deleted, and the next continue", async () => {
  await fetched(DAY, DAY + 24 * HOUR_MS);
  await play();
  expect(await close(new Date(DAY).toISOString().slice(0, 10))).toMatchObject({ isNew: true });
  expect(await countBets()).toBe(BETS);
  await expectWholeRounds();
  // Each pair is killed after it has deleted some bets, at a moment that differs from run to run.
  for (let kill = 0; kill < 2; kill += 1) {
    const before = await countBets();
    const children = [startDeleting(), startDeleting()];
    await eventually(
      "some bets were deleted",
      async () => children.every(isOver) || (await countBets()) < before,
    );
    for (const child of children) {
      const exited = isOver(child) ? Promise.resolve() : once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    await eventually("their transactions have ended", async () => {
      const [row] = await sql`select exists (select from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and state <> 'idle') as busy`;
      return row?.["busy"] === false;
    });
    await expectWholeRounds();
  }

  // Somebody holds a row: its round stays, and everything else goes without waiting for it.
  const [held] = await sql<
    { id: string }[]
  >`select bet_id as id from bet_records order by bet_id desc limit 1`;
  if (held !== undefined) {
    await sql.begin(async (tx) => {
      await tx`select from bet_records where bet_id = ${held.id} for update`;
      await deleteOld(url, CONFIG);
      await expectWholeRounds();
    });
    expect(await countBets()).toBe(3);
    // A new walk, as on the next day.
    await sql`update retention_states set after = null`;
    await deleteOld(url, CONFIG);
  }
  expect([
    await countBets(),
    await sql`select from callback_entries`,
    await sql`select from closed_bets`,
  ]).toEqual([0, [], []]);
  expect(await verifyChain(context())).toEqual({ days: 1, flaw: null });
});
