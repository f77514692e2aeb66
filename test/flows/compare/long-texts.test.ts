/** Texts of any length from either side: a comparison does not load them whole. */

import { expect, test } from "vitest";
import { writeMarks } from "../../../src/diff/mark-store.ts";
import { readRecords } from "../../../src/diff/record-store.ts";
import { readEntries } from "../../../src/ledger/store.ts";
import { amount } from "../../support/examples.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const { sql, diffAt, receive, listed, mismatches } = useDiffWorld();

const LONG = "long ".repeat(600_000);
const bet = { txnId: "bet-1", roundId: "round-1" };

test("a comparison loads no text without a limit, and finds the same as with short texts", async () => {
  await receive(
    ...callbacksOf("1", bet).map((entry) => ({
      ...entry,
      requestId: `${LONG} ${entry.callback}`,
    })),
  );
  await listed(
    recordOf("2", {
      ...bet,
      betId: "bet-1",
      id: "rec-1",
      gameName: LONG,
      gameCode: LONG,
      extra: `{"more":"${LONG}"}`,
    }),
  );
  const keys = { rounds: [["anna", "round-1"] as const], bets: [] };
  const most = { ofRound: null, inAll: null };
  const records = await readRecords(sql, "P1", keys, most);
  const entries = await readEntries(sql, "P1", keys, most);
  expect([records.length, entries.length]).toEqual([1, 2]);
  expect(JSON.stringify([records, entries]).length).toBeLessThan(5_000);
  expect(new Set(entries.map(({ requestId }) => requestId)).size).toBe(2);

  await diffAt(15);
  expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
});

test("the items of one request belong together, however long its id is", async () => {
  const [placed] = callbacksOf("1", {
    requestId: LONG,
    balanceBefore: amount("100"),
    balanceAfter: amount("80"),
  });
  const items = ["a", "b"].map((txnId) => ({
    ...(placed ?? expect.fail("there is no placement")),
    entryId: txnId,
    txnId,
    roundId: `round-${txnId}`,
    betAmount: amount("10"),
    moved: amount("-10"),
  }));
  await receive(...items);
  // The balances belong to both items. If one is compared alone, the other one is loaded.
  await sql`delete from diff_marks`;
  await writeMarks(sql, "P1", [{ username: "anna", roundId: "round-a", betRef: "a", dueAt: minute(0) }]);
  await diffAt(15);
  expect(await mismatches()).toEqual([]);
});
