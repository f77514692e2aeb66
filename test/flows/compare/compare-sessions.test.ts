import { expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { writeLedgerSettings } from "../../../src/ledger/follow-store.ts";
import { silentLog } from "../../../src/log.ts";
import { amount, exampleAdjustment, exampleEntry } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, diffAt, receive, listed, fetchPlanned, readAll } = useDiffWorld();
const SETTINGS = { settings: { products: [{ productId: "P1", settlement: "session" }] } };

const shot = (payout: string, minutes: number, fields: Partial<BetRecord> = {}): BetRecord =>
  recordOf(payout, {
    betId: `b ${minutes}`,
    id: `r ${minutes}`,
    accountingDate: iso(minutes),
    updatedDate: iso(minutes),
    ...fields,
  });
async function settle(...times: number[]): Promise<void> {
  for (const minutes of times) {
    await diffAt(minutes, SETTINGS);
    await fetchPlanned();
  }
}
/** All sessions that ever were mismatches: "12:00 5 open". */
const sessions = async () =>
  (await readAll())
    .map(
      ({ kind, occurredAt, amountAtRisk, status }) =>
        `${kind} ${occurredAt.slice(11, 16)} ${amountAtRisk} ${status}`,
    )
    .sort();

test("a session that differs opens once it is over and its time was fetched again, and not earlier", async () => {
  await receive(exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "85", 30));
  await listed(shot("0", 10));
  for (const minutes of [31, 60, 89]) {
    await settle(minutes);
    expect(await sessions()).toEqual([]);
  }
  await settle(91, 92);
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
});

test("a session is compared again if one of its entries is deleted", async () => {
  await writeLedgerSettings(sql, "replace");
  await receive(exampleAdjustment("DEBIT", "10", 0), exampleAdjustment("CREDIT", "5", 30));
  await listed(shot("5", 10));
  await settle(31, 91, 92);
  expect(await sessions()).toEqual([]);
  await sql`delete from callback_entries where status = 'CREDIT'`;
  await settle(200, 201);
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
});

test("a session that a reviewer reopens is compared again, and resolved when it agrees", async () => {
  await receive(exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "85", 30));
  await listed(shot("0", 10));
  await settle(31, 91, 92);
  await listed(shot("0", 20, { stake: amount("5") }));
  await settle(93, 200);
  expect(await sessions()).toEqual(["session-differs 12:00 5 resolved"]);
  const config = parseConfig(SETTINGS.settings);
  await actOnMismatches(
    { sql, config, clock, log: silentLog },
    {
      action: "reopen",
      target: { ids: ["1"] },
      note: "is it really?",
      by: "mia",
      expected: null,
      adjustment: null,
    },
  );
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
  await settle(201);
  expect(await sessions()).toEqual(["session-differs 12:00 5 resolved"]);
});

test("a session whose sums agree is no mismatch, and single bets of such a product are not compared", async () => {
  await receive(exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "115", 30));
  await listed(shot("25", 10));
  await settle(31, 91, 92, 300);
  expect(await sessions()).toEqual([]);
});

test("a late record resolves the mismatch, and a record before the first moment moves it to another session", async () => {
  await receive(exampleAdjustment("DEBIT", "0", -6000, { username: "zoe" }));
  await receive(exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "85", 30));
  await listed(shot("0", 10));
  await settle(31, 91, 92);
  await listed(shot("6", -20));
  await settle(93);
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
  await settle(108, 109, 110);
  expect(await sessions()).toEqual(["session-differs 11:40 1 open", "session-differs 12:00 5 resolved"]);
  await listed(shot("9", 20));
  await settle(111, 200);
  expect((await sessions()).map((one) => one.split(" ").at(-1))).toEqual(["resolved", "resolved"]);
});

test("an entry that joins two sessions resolves both mismatches and opens one, in one comparison", async () => {
  await receive(exampleAdjustment("DEBIT", "10", 0), exampleAdjustment("DEBIT", "20", 100));
  await settle(1, 61, 62, 161, 162, 300, 301);
  expect(await sessions()).toEqual(["session-differs 12:00 10 open", "session-differs 13:40 20 open"]);
  await receive(exampleAdjustment("CREDIT", "5", 50));
  await settle(302, 317, 318, 400);
  expect(await sessions()).toEqual(["session-differs 12:00 25 open", "session-differs 13:40 20 resolved"]);
});

test("a record that the provider moves to a far date leaves its old session correct", async () => {
  await receive(exampleAdjustment("DEBIT", "10", 0));
  await listed(shot("0", 5));
  await settle(6, 66, 67);
  expect(await sessions()).toEqual([]);
  await listed(shot("0", 5, { accountingDate: iso(1600), updatedDate: iso(1600) }));
  await settle(1620, 1670, 1671, 1720, 1721);
  expect(await sessions()).toEqual(["session-differs 12:00 10 open", "session-differs 14:40 10 open"]);
});

test("a record long after the last movement belongs to the session that it closes", async () => {
  await receive(exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "85", 30));
  await listed(shot("0", 300, { stake: amount("15") }));
  await settle(301, 400, 401, 450, 451);
  expect(await sessions()).toEqual([]);
  await listed(shot("0", 300, { stake: amount("16") }));
  await settle(452, 470, 471, 472);
  expect(await sessions()).toEqual(["session-differs 12:00 1 open"]);
});

test.each(["open", "ignored"])(
  "records that made a mismatch larger leave it when their own entries arrive, hours later: %s",
  async (status) => {
    await receive(exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "85", 30));
    await listed(shot("0", 10));
    await settle(91, 92);
    expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
    await listed(shot("30", 600));
    await settle(700, 760, 761);
    expect(await sessions()).toEqual(["session-differs 12:00 25 open"]);
    if (status === "ignored")
      await actOnMismatches(
        { sql, config: parseConfig(SETTINGS.settings), clock, log: silentLog },
        { action: "ignore", target: { ids: ["1"] }, note: "n", by: "mia", expected: null, adjustment: null },
      );
    await receive(exampleAdjustment("DEBIT", "10", 590), exampleAdjustment("CREDIT", "30", 610));
    await settle(900, 960, 961);
    expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
  },
);

test("a debit that moved nothing and a credit that paid ten times as much are one mismatch, which names both", async () => {
  await receive(
    exampleAdjustment("DEBIT", "100", 0, { moved: amount("0") }),
    exampleAdjustment("CREDIT", "60", 30, { moved: amount("600") }),
  );
  await listed(shot("0", 10, { stake: amount("40") }));
  await settle(31, 91, 92);
  expect(await sessions()).toEqual(["net-differs 12:00 640 open"]);
  expect((await readAll())[0]?.reason).toMatch(
    /moved 0.00 THB for the debit ref 0, which asks for -100.00 THB, and 600.00 THB/,
  );
});

test("a reward belongs to the session at its time, and is missing at the provider or agrees with its record", async () => {
  const reward = exampleEntry({
    callback: "winRewards",
    status: "SETTLED",
    txnId: "jackpot",
    betAmount: null,
    payoutAmount: amount("7000"),
    occurredAt: minute(20),
    receivedAt: minute(20),
  });
  await receive(exampleAdjustment("DEBIT", "10", 0), reward);
  await listed(shot("0", 10));
  await settle(31, 91, 92);
  expect(await sessions()).toEqual(["session-differs 12:00 7000 open"]);
  await listed(shot("7000", 20, { stake: amount("0") }));
  await settle(93, 200);
  expect(await sessions()).toEqual(["session-differs 12:00 7000 resolved"]);
});

test("in a product with both, what names a bet belongs to bets, and the rest to sessions", async () => {
  const both = { settings: { products: [{ productId: "P1", settlement: "mixed" }] } };
  await receive(
    ...callbacksOf("25"),
    exampleAdjustment("DEBIT", "100", 0),
    exampleAdjustment("CREDIT", "60", 30),
  );
  await listed(recordOf("25"), shot("0", 10, { stake: amount("40"), roundId: "reef" }));
  for (const minutes of [31, 91, 92, 200]) {
    await diffAt(minutes, both);
    await fetchPlanned();
  }
  expect(await sessions()).toEqual([]);
  await listed(recordOf("26"), shot("0", 10, { stake: amount("41"), roundId: "reef" }));
  for (const minutes of [201, 220, 221, 222]) {
    await diffAt(minutes, both);
    await fetchPlanned();
  }
  expect(await sessions()).toEqual(["payout-differs 11:55 1 open", "session-differs 12:00 1 open"]);
});

test("a record in doubt opens no session and resolves none; once it is absent the session continues without it", async () => {
  const miss = (missedAt: number) =>
    sql`insert into record_absences (product_id, username, bet_id, id, missed_since, missed_at)
      values ('P1', 'anna', 'b 10', 'r 10', ${minute(missedAt)}, ${minute(missedAt)})`;
  const touch = () => receive(exampleAdjustment("DEBIT", "0", 20));
  await receive(exampleAdjustment("DEBIT", "10", 0));
  await listed(shot("0", 10));
  await settle(91, 92, 93);
  expect(await sessions()).toEqual([]);
  clock.set(minute(100));
  await miss(100);
  await touch();
  await settle(101, 102);
  expect(await sessions()).toEqual([]);
  await settle(103, 104, 105, 106, 200, 201);
  expect(await sessions()).toEqual(["session-differs 12:00 10 open"]);
  await sql`delete from record_absences`;
  await receive(exampleAdjustment("DEBIT", "0", 21));
  await settle(202);
  expect(await sessions()).toEqual(["session-differs 12:00 10 resolved"]);
});

test("a session that differs stays open while only a record in doubt would make it agree", async () => {
  await receive(exampleAdjustment("DEBIT", "10", 0));
  await listed(shot("5", 10));
  await settle(91, 92, 93);
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
  clock.set(minute(100));
  await sql`insert into record_absences (product_id, username, bet_id, id, missed_since, missed_at)
    values ('P1', 'anna', 'b 10', 'r 10', ${minute(100)}, ${minute(100)})`;
  await receive({ ...exampleAdjustment("CREDIT", "5", 15), receivedAt: minute(100) });
  await settle(101, 102, 103);
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
  await settle(104, 105, 106, 180, 181, 182);
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
});

test("a request from before the ledger's start is not compared, not even its balance", async () => {
  const wrong = { balanceBefore: amount("500"), balanceAfter: amount("500") };
  await receive(
    { ...exampleAdjustment("DEBIT", "10", 0), ...wrong },
    { ...exampleAdjustment("DEBIT", "20", 30), ...wrong },
  );
  await diffAt(60, { settings: { ...SETTINGS.settings, ledger: { since: iso(10) } } });
  expect(await sessions()).toEqual(["balance-differs 12:30 20 open"]);
});
