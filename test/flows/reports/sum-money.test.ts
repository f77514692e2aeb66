import { beforeEach, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { watchConditions } from "../../../src/flows/alerts/watch-conditions.ts";
import { keepOutside } from "../../../src/flows/read/read-outside.ts";
import { readWorkReport } from "../../../src/flows/read/read-work.ts";
import { keepMoneySums } from "../../../src/flows/reports/sum-money.ts";
import { silentLog } from "../../../src/log.ts";
import { changeEntriesUnseen } from "../../support/database.ts";
import { amount, exampleAdjustment, exampleEntry, HOUR_MS } from "../../support/examples.ts";
import { DAY_MS, TODAY, useClosing } from "../closing/closing-world.ts";
import { callbacksOf, recordOf, useDiffWorld } from "../compare/comparison-world.ts";

const { sql, clock, receive, listed, mismatches, settle } = useDiffWorld();
const PRODUCTS = { products: [{ productId: "P1" }] };
const { fetched, close } = useClosing(sql, clock, PRODUCTS);
const context = () => ({ sql, config: parseConfig(PRODUCTS), clock, log: silentLog });
const never = new AbortController().signal;
const addUp = () => keepMoneySums(context(), never, true);
const stalls = async () =>
  (await readWorkReport(context())).findings.map(({ kind, what }) => `${kind}: ${what}`);
const OF_MONEY = /^(money-outside|unknown-product|books-wrong): /;
const moneyStalls = async () => (await stalls()).filter((one) => OF_MONEY.test(one));

beforeEach(() => receive(...callbacksOf("20")));

test("an entry of a closed day that no comparison saw is in no statement, which is reported when it is found again", async () => {
  await listed(recordOf("20"));
  await fetched(TODAY - DAY_MS, TODAY + 2 * DAY_MS);
  clock.set(TODAY + DAY_MS + HOUR_MS);
  await settle(24 * 60);
  expect(await close("2026-11-20")).toHaveProperty("closed");
  await addUp();
  expect(await moneyStalls()).toEqual([]);
  await changeEntriesUnseen(sql, "update callback_entries set moved = 7 where callback = 'placeBets'");
  await sql`delete from closing_marks`;
  await addUp();
  expect(await moneyStalls()).toEqual([]);
  await addUp();
  expect(await moneyStalls()).toEqual([
    expect.stringMatching(
      /^books-wrong: P1: the ledger.s entries moved 27.00 THB, .+: 17.00 THB is in no statement$/,
    ),
  ]);
});

test("money outside begins an alert, another one each day while it lasts, and an all-clear", async () => {
  const kinds = async () =>
    (await sql<{ kind: string }[]>`select kind from alerts where kind ~ 'outside|unknown' order by id`).map(
      ({ kind }) => kind,
    );
  const watch = async () => {
    await keepOutside(context());
    await watchConditions(context(), []);
  };
  await receive(exampleAdjustment("CREDIT", "5000", 0), exampleEntry({ entryId: "new", productId: "NEW" }));
  await watch();
  expect(await kinds()).toEqual(["money-outside", "unknown-product"]);
  clock.advance(DAY_MS + HOUR_MS);
  await watch();
  clock.advance(HOUR_MS);
  await watch();
  expect(await kinds()).toEqual(["money-outside", "unknown-product", "money-outside", "unknown-product"]);
  clock.advance(8 * DAY_MS);
  await watch();
  expect((await kinds()).slice(4)).toEqual(["money-outside-over", "unknown-product-over"]);
});

test.each([
  [
    "a reward that was paid twice",
    "winRewards",
    { payoutAmount: amount("50"), betAmount: null },
    "100",
    "net-differs",
  ],
  [
    "a reward with another amount than its record",
    "winRewards",
    { payoutAmount: amount("60"), betAmount: null },
    "60",
    "payout-differs",
  ],
  ["a tip that was debited twice", "placeTips", { betAmount: amount("10") }, "-20", "net-differs"],
] as const)("on the first day, %s is a mismatch", async (_, callback, amounts, moved, kind) => {
  await receive(
    exampleEntry({
      ...amounts,
      entryId: "first-day",
      callback,
      txnId: "alone",
      roundId: "round-alone",
      moved: amount(moved),
    }),
  );
  await listed(recordOf("20"));
  if (callback === "winRewards")
    await listed(
      recordOf("50", { id: "rec-alone", betId: "alone", roundId: "round-alone", stake: amount("0") }),
    );
  for (const minutes of [10, 61, 62, 70]) await settle(minutes);
  expect(await mismatches()).toEqual([`${kind} of alone is open`]);
});
