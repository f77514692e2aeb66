import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { silentLog } from "../../../src/log.ts";
import { readReportDay } from "../../../src/ops/input/report-query.ts";
import { emptyTables } from "../../support/database.ts";
import { amount, exampleEntry, HOUR_MS, NOON } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";

const { sql, clock, diffAt, receive, listed, fetchPlanned, fetchRange, readAll, ledgerBegins } =
  useDiffWorld();

const SETTINGS = {
  products: [{ productId: "P1" }, { productId: "FISH", settlement: "session" }],
};
const context = () => ({ sql, config: parseConfig(SETTINGS), clock, log: silentLog });
const report = (day = "2026-11-20", zone = "UTC") => readReport(context(), readReportDay({ day, zone }));
const rowOf = async (currency = "THB", day?: string, zone?: string) =>
  (await report(day, zone)).rows.find((row) => row.currency === currency);
const compareAfter = (minutes: number) => diffAt(minutes, { settings: SETTINGS });

beforeEach(async () => {
  await emptyTables(sql, ["adjustments"]);
  await ledgerBegins();
});

const NO_SIDE = { bets: 0, stake: "0", payout: "0", net: "0" };
const AGREES = { difference: "0", outside: "0", rest: "0" };

describe("the day's statement", () => {
  test("has both sides' sums, and no difference if they agree", async () => {
    await receive(...callbacksOf("20"), ...callbacksOf("0", { txnId: "bet-2", roundId: "round-2" }));
    await listed(recordOf("20"), recordOf("0", { id: "rec-2", betId: "bet-2", roundId: "round-2" }));
    await compareAfter(60);
    expect(await report()).toEqual({
      day: "2026-11-20",
      zone: "UTC",
      rows: [
        {
          productId: "P1",
          currency: "THB",
          provider: { bets: 2, stake: "20", payout: "20", net: "0", rewards: null, tips: null },
          ledger: { bets: 2, stake: "20", payout: "20", net: "0", rewards: "0", tips: "0", moved: "0" },
          difference: "0",
          mismatches: "0",
          adjustments: "0",
          pending: "0",
          rounding: "0",
          outside: "0",
          rest: "0",
          complete: false,
        },
      ],
    });
  });

  test("shows a difference as pending until its graces are over, then as a mismatch", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await compareAfter(10);
    expect(await rowOf()).toMatchObject({ difference: "5", mismatches: "0", pending: "5", rest: "0" });
    await compareAfter(20);
    expect(await rowOf()).toMatchObject({ difference: "5", mismatches: "5", pending: "0", rest: "0" });
  });

  test("shows as rest what no comparison has found", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await emptyTables(sql, ["diff_marks"]);
    expect(await rowOf()).toMatchObject({ difference: "5", mismatches: "0", pending: "0", rest: "5" });
  });

  test("shows as rest what a mismatch no longer describes correctly", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await compareAfter(20);
    await sql`update mismatches set amount_at_risk = 3`;
    expect(await rowOf()).toMatchObject({ difference: "5", mismatches: "3", rest: "2" });
  });

  /** A fetch that ended at 12:30 returned no record, and no later fetch does. */
  const stopListing = async () => {
    await sql`
      insert into record_absences (product_id, username, bet_id, id, missed_since, missed_at)
      select product_id, username, bet_id, id, ${minute(30)}, ${minute(30)} from bet_records`;
    await sql`
      insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
      select product_id, array[username], array[null::text], array[bet_id], ${minute(30)} from bet_records`;
  };
  const settle = async (...times: number[]) => {
    for (const minutes of times) {
      await compareAfter(minutes);
      await fetchPlanned();
    }
  };

  test("counts a bet whose record has vanished only on the ledger's side, as its mismatch does", async () => {
    await receive(...callbacksOf("25"));
    await listed(recordOf("25"));
    await compareAfter(20);
    await stopListing();
    await settle(40, 41, 42, 120, 121, 122);
    expect((await readAll()).map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      "vanished-at-provider open",
    ]);
    expect(await rowOf()).toMatchObject({ difference: "-15", mismatches: "-15", pending: "0", rest: "0" });
  });

  test("leaves out a bet that the ledger voided and the provider stopped listing; the bet is pending until both are certain", async () => {
    await receive(...callbacksOf("25"));
    await listed(recordOf("25"));
    await compareAfter(20);
    clock.set(minute(29));
    const voided = { occurredAt: minute(29), receivedAt: minute(29), payoutAmount: amount("25") };
    await receive(exampleEntry({ callback: "voidSettled", status: "SETTLED", ...voided }));
    await stopListing();
    for (const minutes of [30, 31, 32]) {
      await settle(minutes);
      expect(await rowOf()).toMatchObject({ difference: "15", mismatches: "0", pending: "15", rest: "0" });
    }
    await settle(33, 34);
    expect(await sql`select from diff_marks`).toHaveLength(0);
    expect(await rowOf()).toMatchObject({
      provider: { bets: 0, net: "0" },
      ledger: { bets: 0, net: "0" },
      difference: "0",
      pending: "0",
      rest: "0",
    });
    expect(await readAll()).toEqual([]);
  });

  test("leaves out a record without entries once the provider has dropped it for good", async () => {
    await listed(recordOf("25"));
    await compareAfter(20);
    expect(await rowOf()).toMatchObject({ difference: "15", mismatches: "15", rest: "0" });
    await stopListing();
    await settle(31, 32);
    expect(await rowOf()).toMatchObject({ difference: "15", mismatches: "15", rest: "0" });
    await settle(33, 34);
    expect(await rowOf()).toBeUndefined();
    expect((await readAll()).map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      "missing-in-ledger resolved",
    ]);
  });

  test("counts what a user resolved or ignored as explained", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await compareAfter(20);
    const [mismatch] = await readAll();
    await actOnMismatches(context(), {
      action: "ignore",
      target: { ids: [mismatch?.id ?? ""] },
      note: "a promotion",
      by: "mia",
      expected: null,
      adjustment: null,
    });
    expect(await rowOf()).toMatchObject({ mismatches: "5", adjustments: "0", rest: "0" });
  });
});

describe("a bet counts on", () => {
  const LATE = { occurredAt: NOON - 13 * HOUR_MS, receivedAt: NOON - 13 * HOUR_MS };

  test("its record's accounting date on both sides, whenever its callbacks came", async () => {
    const [placed, settled] = callbacksOf("20");
    if (placed && settled) await receive({ ...placed, ...LATE }, { ...settled, ...LATE });
    await listed(recordOf("20"));
    expect(await rowOf()).toMatchObject({ provider: { bets: 1 }, ledger: { bets: 1 }, difference: "0" });
    expect(await rowOf("THB", "2026-11-19")).toBeUndefined();
  });

  test("its own last time if it has no record", async () => {
    await receive(...callbacksOf("20"));
    expect(await rowOf()).toMatchObject({ provider: { bets: 0 }, ledger: { bets: 1, net: "10" } });
    expect(await rowOf("THB", "2026-11-19")).toBeUndefined();
  });

  test("a day of the requested zone", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("20", { accountingDate: "2026-11-20T18:30:00Z" }));
    expect(await rowOf("THB", "2026-11-20", "Asia/Bangkok")).toBeUndefined();
    expect(await rowOf("THB", "2026-11-21", "Asia/Bangkok")).toMatchObject({ difference: "0" });
  });
});

describe("if nothing is wrong", () => {
  test("a bet that runs unlisted is pending", async () => {
    await receive(exampleEntry());
    await compareAfter(20);
    expect(await rowOf()).toMatchObject({
      ledger: { net: "-10" },
      difference: "10",
      pending: "10",
      rest: "0",
    });
  });

  test("a tip that is not listed counts on neither side, but its money moved", async () => {
    await receive(exampleEntry({ callback: "placeTips", txnId: "tip-1" }));
    expect(await rowOf()).toMatchObject({
      provider: NO_SIDE,
      ledger: { ...NO_SIDE, moved: "-10" },
      ...AGREES,
    });
  });

  test("a void bet that the provider never had does not count", async () => {
    await receive(
      exampleEntry(),
      exampleEntry({
        callback: "cancelBets",
        status: "REFUND",
        occurredAt: minute(-4),
        receivedAt: minute(-4),
      }),
    );
    expect(await rowOf()).toMatchObject({ ledger: { bets: 0, net: "0" }, difference: "0", rest: "0" });
  });

  test("a bet that ran when the ledger began counts on neither side, but its money moved", async () => {
    await emptyTables(sql, ["callback_entries", "diff_marks"]);
    const [, settled] = callbacksOf("20");
    if (settled) await receive(settled);
    await listed(recordOf("20"));
    expect(await rowOf()).toMatchObject({
      provider: NO_SIDE,
      ledger: { ...NO_SIDE, moved: "20" },
      ...AGREES,
    });
  });

  test("a bet that ran when the ledger began and was paid 20 too much has no stake, and an effect of 20", async () => {
    await emptyTables(sql, ["callback_entries", "diff_marks"]);
    const [, settled] = callbacksOf("60");
    if (settled) await receive(settled);
    await listed(recordOf("40"));
    await compareAfter(20);
    expect(await readAll()).toMatchObject([{ kind: "payout-differs", amountAtRisk: "20", effect: "20" }]);
    expect(await rowOf()).toMatchObject({
      provider: { bets: 1, stake: "0", payout: "40", net: "40" },
      ledger: { bets: 1, stake: "0", payout: "60", net: "60", moved: "60" },
      difference: "-20",
      mismatches: "-20",
      rest: "0",
    });
  });
});

/** Makes a mismatch of a bet of anna that the provider lists for ANNA. */
async function twoNames(): Promise<void> {
  await receive(...callbacksOf("20"));
  await listed(recordOf("30", { username: "ANNA" }));
  await fetchRange(NOON - HOUR_MS, NOON);
  await compareAfter(20);
  await fetchPlanned();
  await compareAfter(90);
  await fetchPlanned();
  await compareAfter(100);
}

describe("one mismatch explains", () => {
  test("both players' parts of a bet under two names", async () => {
    await twoNames();
    expect((await readAll()).map((one) => one.kind)).toEqual(["username-differs"]);
    expect(await rowOf()).toMatchObject({ difference: "10", mismatches: "10", rest: "0" });
  });

  test("each currency's part of a bet in two currencies", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("20", { currency: "USD" }));
    await compareAfter(20);
    expect((await readAll()).map((one) => one.kind)).toEqual(["currency-differs"]);
    expect(await rowOf("THB")).toMatchObject({ difference: "-10", mismatches: "-10", rest: "0" });
    expect(await rowOf("USD")).toMatchObject({ difference: "10", mismatches: "10", rest: "0" });
  });

  test("money that the wallet moved without a request", async () => {
    const [placed, settled] = callbacksOf("20");
    if (placed && settled) await receive({ ...placed, moved: amount("-15") }, settled);
    await listed(recordOf("20"));
    await compareAfter(20);
    expect((await readAll()).map((one) => one.kind)).toEqual(["net-differs"]);
    expect(await rowOf()).toMatchObject({
      ledger: { net: "5" },
      difference: "5",
      mismatches: "5",
      rest: "0",
    });
  });
});

describe("one mismatch explains its part", () => {
  test("of an unlisted bet that was debited twice; the correct debit is pending", async () => {
    await receive(exampleEntry({ moved: amount("-20") }));
    await compareAfter(20);
    await compareAfter(70);
    await fetchPlanned();
    await compareAfter(71);
    expect((await readAll()).map((one) => `${one.kind} ${one.amountAtRisk}`)).toEqual(["net-differs 10"]);
    expect(await rowOf()).toMatchObject({ difference: "20", mismatches: "10", pending: "10", rest: "0" });
  });

  test("of a listed tip with different stakes that also moved other money", async () => {
    const tip = { callback: "placeTips", status: "TIPS", moved: amount("-3") } as const;
    await receive(exampleEntry({ ...tip, betAmount: amount("5") }));
    await listed(recordOf("0", { stake: amount("7") }));
    await compareAfter(20);
    expect((await readAll()).map((one) => `${one.kind} ${one.amountAtRisk}`)).toEqual(["stake-differs 4"]);
    expect(await rowOf()).toMatchObject({ difference: "-4", mismatches: "-4", rest: "0" });
  });
});

describe("an adjustment", () => {
  const resolveWith = async (adjustment: string) => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await compareAfter(20);
    await correct(adjustment);
  };
  const correct = async (adjustment: string) => {
    const [mismatch] = (await readAll()).filter(({ status }) => status === "open");
    const id = Number(mismatch?.id);
    await sql`
      update mismatches set status = 'resolved', resolved_by = 'mia', resolved_at = ${clock.now()} where id = ${id}`;
    await sql`insert into adjustments (mismatch_id, ref, amount, currency, at, by, note)
      values (${id}, ${`r-${id}`}, ${adjustment}, 'THB', ${clock.now()}, 'mia', 'paid by hand')`;
  };

  test("explains the difference in place of its mismatch", async () => {
    await resolveWith("5.00");
    expect(await rowOf()).toMatchObject({ difference: "5", mismatches: "0", adjustments: "5", rest: "0" });
  });

  test("of a bet in two currencies counts in the ledger's currency", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("20", { currency: "USD" }));
    await compareAfter(20);
    await correct("-10");
    expect(await rowOf("THB")).toMatchObject({ mismatches: "0", adjustments: "-10", rest: "0" });
    expect(await rowOf("USD")).toMatchObject({ mismatches: "10", adjustments: "0", rest: "0" });
  });

  test("of a bet under two names counts once", async () => {
    await twoNames();
    await correct("10");
    expect(await rowOf()).toMatchObject({ difference: "10", mismatches: "0", adjustments: "10", rest: "0" });
  });

  test("of each bet of a round shows in the rest when all their callbacks arrive in the end", async () => {
    const bets = ["bet-1", "bet-2"].map((txnId) => callbacksOf("20", { txnId }));
    await receive(...bets.map(([placed]) => placed as CallbackEntry));
    await listed(recordOf("20"), recordOf("20", { id: "rec-2", betId: "bet-2" }));
    await compareAfter(20);
    await correct("20");
    await correct("20");
    await receive(...bets.map(([, settled]) => settled as CallbackEntry));
    await compareAfter(60);
    expect(await rowOf()).toMatchObject({ difference: "0", adjustments: "40", rest: "-40" });
  });

  test("of the rest of a round counts once, however many other bets of the round agree", async () => {
    const others = ["bet-2", "bet-3"].flatMap((txnId) => callbacksOf("0", { txnId }));
    await receive(...callbacksOf("20"), ...others);
    const rest = { id: "rec-2", betId: "both", stake: amount("22") };
    await listed(recordOf("20"), recordOf("0", rest));
    await compareAfter(120);
    await fetchPlanned();
    await compareAfter(125);
    expect((await readAll()).map(({ kind }) => kind)).toEqual(["round-differs"]);
    await correct("-2");
    expect(await rowOf()).toMatchObject({ difference: "-2", adjustments: "-2", rest: "0" });
  });

  test("that was too small, or that a callback repeated, shows in the rest", async () => {
    await resolveWith("4");
    expect(await rowOf()).toMatchObject({ adjustments: "4", rest: "1" });
    await receive(
      exampleEntry({
        callback: "winRewards",
        status: "SETTLED",
        betAmount: null,
        payoutAmount: amount("5"),
        occurredAt: minute(-3),
        receivedAt: minute(30),
      }),
    );
    await compareAfter(60);
    expect(await rowOf()).toMatchObject({ difference: "0", adjustments: "4", rest: "-4" });
  });
});

test("a session counts on the day it ends, by its sums", async () => {
  const move = (status: string, value: string, minutes: number) =>
    exampleEntry({
      productId: "FISH",
      callback: "adjustBalance",
      status,
      txnId: `ref-${minutes}`,
      roundId: null,
      betAmount: status === "DEBIT" ? amount(value) : null,
      payoutAmount: status === "CREDIT" ? amount(value) : null,
      occurredAt: minute(minutes),
      receivedAt: minute(minutes),
    });
  await receive(move("DEBIT", "100", -30), move("CREDIT", "120", -20));
  await listed(
    recordOf("115", {
      productId: "FISH",
      stake: amount("100"),
      accountingDate: iso(-25),
      updatedDate: iso(-25),
    }),
  );
  const fishRow = async () => (await report()).rows.find((row) => row.productId === "FISH");
  expect(await fishRow()).toMatchObject({
    provider: { bets: 1, stake: "100", payout: "115", net: "15" },
    ledger: { bets: 0, stake: "100", payout: "120", net: "20" },
    difference: "-5",
    pending: "-5",
    rest: "0",
  });
});

test("a day is complete when all of it has been fetched", async () => {
  await receive(...callbacksOf("20"));
  await listed(recordOf("20"));
  expect((await rowOf())?.complete).toBe(false);
  const midnight = Date.parse("2026-11-20T00:00:00Z");
  for (let hour = 0; hour < 24; hour += 1) {
    await fetchRange(midnight + hour * HOUR_MS, midnight + (hour + 1) * HOUR_MS);
  }
  clock.set(midnight + 25 * HOUR_MS);
  expect((await rowOf())?.complete).toBe(true);
});

test("all players are read, each once, however many there are", async () => {
  const players = Array.from({ length: 40 }, (_, index) => `player-${index % 7}-${index}`);
  for (const username of players) {
    await receive(...callbacksOf("20", { username, txnId: `t-${username}`, roundId: `r-${username}` }));
    await listed(
      recordOf("20", { username, id: username, betId: `t-${username}`, roundId: `r-${username}` }),
    );
  }
  expect(await rowOf()).toMatchObject({ provider: { bets: 40 }, ledger: { bets: 40 }, rest: "0" });
});
