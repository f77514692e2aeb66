import { beforeEach, expect, test } from "vitest";
import { watchConditions } from "../../../src/flows/alerts/watch-conditions.ts";
import { keepBooksChecked } from "../../../src/flows/closing/watch-books.ts";
import { readStatus } from "../../../src/flows/read/read-status.ts";
import { HOUR_MS } from "../../support/examples.ts";
import { callbacksOf, recordOf, useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const { sql, clock, receive, listed, settle } = useDiffWorld();
const { context, fetched, close } = useClosing(sql, clock);
const never = new AbortController().signal;

/** Two days; the first has a bet that both sides have. */
beforeEach(async () => {
  await receive(...callbacksOf("20"));
  await listed(recordOf("20"));
  await fetched(TODAY - DAY_MS, TODAY + 3 * DAY_MS);
  clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
  await settle(3 * 24 * 60);
  clock.set(TODAY + 2 * DAY_MS + HOUR_MS);
});

/** A worker's check and its alert job. @returns the alerts of the books so far */
async function check(isStart = true): Promise<string[]> {
  await keepBooksChecked(context(), never, isStart);
  await watchConditions(context(), []);
  return await alerts();
}

async function alerts(): Promise<string[]> {
  const rows = await sql<{ kind: string; what: string }[]>`
    select kind, body ->> 'what' as what from alerts where kind like 'books-wrong%' order by id`;
  return rows.map(({ kind, what }) => `${kind}: ${what}`);
}

const books = async () => (await readStatus(context())).books;

test("of closed days that no worker has checked yet, the status says that they are unknown", async () => {
  expect(await books()).toEqual({ closedUpTo: null, problem: null });
  await close("2026-11-20");
  expect(await books()).toEqual({
    closedUpTo: "2026-11-20",
    problem: "no worker has checked the closed days yet",
  });
  expect(await check()).toEqual([]);
  expect(await books()).toEqual({ closedUpTo: "2026-11-20", problem: null });
  clock.advance(3 * DAY_MS);
  expect((await books()).problem).toBe("no worker has checked the closed days for 3 d");
});

test.each([
  [
    "an altered statement",
    `update closed_days set statement = jsonb_set(statement, '{rows,0,provider,payout}', '"21"')`,
    `update closed_days set statement = jsonb_set(statement, '{rows,0,provider,payout}', '"20"')`,
    "was altered: its statement does not have its hash",
  ],
  [
    "a chain that does not hold",
    "update closed_days set previous_hash = repeat('a', 64) where number = 2",
    "update closed_days set previous_hash = (select hash from closed_days where number = 1) where number = 2",
    "does not name the hash of the day before",
  ],
  [
    "a closed bet of another amount",
    "update closed_bets set provider_payout = 25",
    "update closed_bets set provider_payout = 20",
    "does not have the sums of its bets, so a correction was altered or deleted, or a stored bet: of P1 in THB, provider payout is 20 by its statement and its corrections, and 25 by its bets",
  ],
])("%s is alerted once, and once it is mended there is an all-clear", async (_what, alter, mend, says) => {
  await close("2026-11-20");
  await close("2026-11-21");
  expect(await check()).toEqual([]);
  await sql.unsafe(alter);
  const day = alter.includes("number = 2") ? "2026-11-21" : "2026-11-20";
  const what = `the closed day ${day} ${says}`;
  expect(await check()).toEqual([`books-wrong: ${what}`]);
  expect(await check()).toHaveLength(1);
  expect(await books()).toEqual({ closedUpTo: "2026-11-21", problem: what });
  await sql.unsafe(mend);
  clock.advance(HOUR_MS);
  expect(await check(false)).toEqual([
    `books-wrong: ${what}`,
    `books-wrong-over: the closed day ${day} is as it was closed again`,
  ]);
  expect((await books()).problem).toBeNull();
});

test("a correction that leaves money unexplained is alerted, with the amount", async () => {
  await close("2026-11-20");
  await sql`insert into corrections (day, at, correction)
    select day, to_at, jsonb_build_object('productId', 'P1', 'currency', 'THB', 'before', row, 'after',
      jsonb_set(row, '{provider,net}', '"13.5"')) from (select *, statement #> '{rows,0}' as row from closed_days) d`;
  await sql`update closed_bets set provider_net = 13.5, ledger_net = 10, ledger_bets = 1, ledger_stake = 10, ledger_payout = 20`;
  // While a change is about to become a correction, nothing is unexplained.
  await sql`insert into closing_marks (product_id, usernames, round_ids, bet_refs)
    values ('P1', array['anna'], array['round-1'], array['bet-1'])`;
  expect(await check()).toEqual([]);
  await sql`delete from closing_marks`;
  clock.advance(HOUR_MS);
  expect(await check(false)).toEqual([
    "books-wrong: P1: nothing explains 3.50 THB of the complete day 2026-11-20",
  ]);
});

test("a complete day that is still open and has a rest is alerted once, and has an all-clear", async () => {
  expect(await check()).toEqual([]);
  // Whoever changes a record past its triggers leaves no mark, so nothing compares it.
  const set = async (payout: string) => {
    await sql`alter table bet_records disable trigger user`;
    await sql`update bet_records set payout = ${payout}`;
    await sql`alter table bet_records enable trigger user`;
  };
  await set("25");
  const what = "books-wrong: P1: nothing explains 5.00 THB of the complete day 2026-11-20";
  expect(await check()).toEqual([what]);
  expect(await check()).toHaveLength(1);
  await set("20");
  clock.advance(HOUR_MS);
  expect(await check(false)).toEqual([
    what,
    "books-wrong-over: P1: all money of 2026-11-20 in THB is explained again",
  ]);
});

test("without a start, a closing or a problem, the books are checked once a day", async () => {
  const checkedAt = async () => {
    await keepBooksChecked(context(), never, false);
    const [row] = await sql<
      { at: number }[]
    >`select measured_at as at from money_states where name = 'books'`;
    return row?.at;
  };
  const first = await checkedAt();
  clock.advance(23 * HOUR_MS);
  expect(await checkedAt()).toBe(first);
  await close("2026-11-20");
  const second = await checkedAt();
  expect(second).toBe(clock.now());
  clock.advance(25 * HOUR_MS);
  expect(await checkedAt()).toBe(clock.now());
});
