import { beforeEach, describe, expect, test } from "vitest";
import { includes } from "../../../src/window.ts";
import { amount, exampleEntry } from "../../support/examples.ts";
import { iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const {
  sql,
  clock,
  diffAt,
  settle,
  receive,
  listed,
  fetchPlanned,
  fetchRange,
  readAll,
  mismatches,
  ledgerBegins,
} = useDiffWorld();
beforeEach(ledgerBegins);

describe("a bet that stays open", () => {
  const DAY = 24 * 60;

  test("is stuck a day after its first entry, once all that time was fetched without a record", async () => {
    await receive(exampleEntry());
    await settle(1, 300, DAY - 6);
    expect(await mismatches()).toEqual([]);
    await settle(DAY - 5, DAY - 4);
    expect(await mismatches()).toEqual(["stuck-open of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({ amountAtRisk: "10" });
  });

  test("is compared at the very moment at which it becomes stuck", async () => {
    const occurredAt = minute(-5) + 20_345;
    await receive(exampleEntry({ occurredAt }));
    await diffAt(1);
    expect(await sql`select due_at as at from diff_marks`).toEqual([{ at: occurredAt + DAY * 60_000 }]);
  });

  test("is not stuck while a part of that time is a gap", async () => {
    await receive(exampleEntry());
    await diffAt(1);
    for (const minutes of [DAY, DAY + 1, DAY + 2]) {
      await diffAt(minutes);
      await fetchPlanned((range) => includes(range, minute(600)));
    }
    expect(await mismatches()).toEqual([]);
  });

  test("is not stuck if an early fetch missed the late record of its loss, and the operator omits losses", async () => {
    const settings = { products: [{ productId: "P1", lostBets: "omitted" }] };
    await receive(exampleEntry());
    await diffAt(1, { settings });
    for (let hour = -1; hour < 24; hour += 1) {
      clock.set(minute(hour * 60 + 65));
      await fetchRange(minute(hour * 60), minute(hour * 60 + 60));
    }
    await diffAt(DAY + 10, { settings });
    const fetched = await fetchPlanned();
    await listed(recordOf("0", { accountingDate: iso(110), updatedDate: iso(110) }));
    await diffAt(DAY + 11, { settings });
    expect(await mismatches()).toEqual([]);
    expect(fetched.some((range) => includes(range, minute(110)))).toBe(true);
  });

  test("is not stuck while the provider lists it, nor after its end", async () => {
    await receive(exampleEntry(), exampleEntry({ txnId: "bet-2", roundId: "round-2" }));
    await listed(recordOf("0", { betStatus: "OPEN", updatedDate: iso(0) }));
    await receive(
      exampleEntry({ callback: "cancelBets", status: "REFUND", txnId: "bet-2", roundId: "round-2" }),
    );
    await settle(1, DAY, DAY + 1, DAY + 70);
    expect(await mismatches()).toEqual([]);
  });

  test("keeps no other mismatch of the bet open until then", async () => {
    const debited = exampleEntry({ moved: amount("-20") });
    await receive(debited);
    await settle(55, 56, 57);
    expect(await mismatches()).toEqual(["net-differs of bet-1 is open"]);
    await receive({ ...debited, entryId: "repeat", moved: amount("10") });
    await settle(58);
    expect(await mismatches()).toEqual(["net-differs of bet-1 is resolved"]);
  });

  test("is missing at the provider if the provider should list it", async () => {
    const settings = { products: [{ productId: "P1", openBetsListed: true }] };
    await receive(
      exampleEntry(),
      exampleEntry({ txnId: "bet-2", status: "WAITING", skipBalanceUpdate: true }),
    );
    for (const minutes of [55, 56, 57]) {
      await diffAt(minutes, { settings });
      await fetchPlanned();
    }
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });
});
