import { expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { writeLedgerSettings } from "../../../src/ledger/follow-store.ts";
import { silentLog } from "../../../src/log.ts";
import { amount, exampleAdjustment } from "../../support/examples.ts";
import { iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, clock, diffAt, receive, listed, fetchPlanned, readAll, ledgerBegins } = useDiffWorld();
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

test("a session is compared again where one of its entries is deleted", async () => {
  await writeLedgerSettings(sql, "replace");
  await receive(exampleAdjustment("DEBIT", "10", 0), exampleAdjustment("CREDIT", "5", 30));
  await listed(shot("5", 10));
  await settle(31, 91, 92);
  expect(await sessions()).toEqual([]);
  await sql`delete from callback_entries where status = 'CREDIT'`;
  await settle(200, 201);
  expect(await sessions()).toEqual(["session-differs 12:00 5 open"]);
});

test("a session that a person reopens is compared again, and resolved when it agrees", async () => {
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
  await ledgerBegins();
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

test("a record that the provider moves to another date leaves its old session correct", async () => {
  await receive(exampleAdjustment("DEBIT", "10", 0));
  await listed(shot("0", 5));
  await settle(6, 66, 67);
  expect(await sessions()).toEqual([]);
  await listed(shot("0", 5, { accountingDate: iso(400), updatedDate: iso(400) }));
  await settle(420, 470, 471, 520, 521);
  expect(await sessions()).toEqual(["session-differs 12:00 10 open", "session-differs 18:40 10 open"]);
});

test("a record in doubt opens no session and resolves none; once it is absent the session goes on without it", async () => {
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
