/** The view of docs/ledger.md, over a table as a wallet may have it: from the text of the page to a verdict. */

import { expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import { followLedger } from "../../src/flows/ledger/follow-ledger.ts";
import { silentLog } from "../../src/log.ts";
import { listMismatches } from "../../src/mismatches/store.ts";
import { writeRecords } from "../../src/sync/record-store.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { amount, exampleRecord, HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { blockWith } from "./pages.ts";

const { sql } = useDatabase();
const SENT_MS = NOON - 10 * MINUTE_MS + 123;

test("the worker follows and compares a wallet's own table through the view of the documentation", async () => {
  await sql.unsafe(blockWith("docs/ledger.md", "sql", "create table wallet_transactions"));
  await sql.unsafe(blockWith("docs/ledger.md", "sql", "create view recon_ledger"));
  const received = new Date(SENT_MS + 1000).toISOString();
  await sql`
    insert into wallet_transactions values
      (1, 'BET', 'r1', 'P1', 'anna', 'THB', 'bet-1', 'round-1', false, 1005, null, -1005, ${SENT_MS}, ${received}),
      (2, 'WIN', 'r2', 'P1', 'anna', 'THB', 'bet-1', 'round-1', false, null, 2010, 2010, ${SENT_MS + 500}, ${received}),
      (3, 'BET', 'r3', 'P1', 'bea', 'THB', 'bet-2', 'round-2', false, 700, null, -700, ${SENT_MS}, ${received}),
      (4, 'CHANGE', 'r4', 'P1', 'bea', 'THB', 'bet-2', 'round-2', false, 500, null, 200, ${SENT_MS + 1}, ${received}),
      (5, 'WIN', 'r5', 'P1', 'bea', 'THB', 'bet-2', 'round-2', true, null, 0, 0, ${SENT_MS + 2}, ${received}),
      (6, 'JACKPOT', 'r6', 'P1', 'bea', 'THB', 'bet-2', 'round-2', false, null, 99, 99, ${SENT_MS + 3}, ${received})`;
  const clock = createTestClock(NOON);
  const config = parseConfig(JSON.parse(blockWith("docs/ledger.md", "json", "recon_ledger")));
  const context = { sql, config, clock, log: silentLog };
  const never = new AbortController().signal;

  const { added, rejected } = await followLedger(context, never);
  expect({ added, rejected }).toEqual({ added: 6, rejected: 0 });
  const [first] = await sql`select * from callback_entries where entry_id = 'wallet-1'`;
  expect(first).toMatchObject({
    bet_amount: "10.05",
    moved: "-10.05",
    occurred_at: SENT_MS,
    callback: "placeBets",
  });

  const dates = { accountingDate: new Date(NOON).toISOString(), updatedDate: new Date(NOON).toISOString() };
  const times = { requestedAt: NOON, now: NOON };
  const records = [
    exampleRecord({ ...dates, stake: amount("10.05"), payout: amount("25.00"), payoutStatus: "WIN" }),
    exampleRecord({
      ...dates,
      username: "bea",
      betId: "bet-2",
      id: "rec-2",
      roundId: "round-2",
      stake: amount("5"),
      payout: amount("0.99"),
    }),
  ];
  await sql.begin((tx) => writeRecords(tx, "P1", records, times));
  clock.advance(HOUR_MS);
  await followLedger(context, never);
  await compareProduct(context, "P1", never);
  const { mismatches } = await listMismatches(sql, {
    statuses: [],
    kind: null,
    productId: null,
    username: null,
    limit: 10,
    after: null,
  });
  expect(mismatches).toMatchObject([
    {
      kind: "payout-differs",
      transactionId: "bet-1",
      amountAtRisk: "4.9",
      ledger: { stake: "10.05", payout: "20.1" },
    },
  ]);
});
