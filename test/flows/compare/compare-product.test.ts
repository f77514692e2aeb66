import { describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import { amount, exampleEntry, exampleSettle } from "../../support/examples.ts";
import { callbacksOf, interrupted, iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const {
  sql,
  clock,
  diff,
  diffAt,
  receive,
  listed,
  fetchPlanned,
  fetchRange,
  readAll,
  mismatches,
  ledgerBegins,
} = useDiffWorld();

/** After this time, records without entries no longer count as a sign of a stale ledger. */
const STALE_NO_MORE = 75;

describe("other players and products", () => {
  test("have other bets under the same ids", async () => {
    await receive(
      ...callbacksOf("1"),
      ...callbacksOf("2", { username: "bob" }),
      ...callbacksOf("3", { productId: "P2" }),
      ...callbacksOf("4", { productId: "unknown" }),
    );
    await listed(recordOf("1"), recordOf("2", { username: "bob" }), recordOf("3", { productId: "P2" }));
    await diffAt(300);
    await diffAt(300, { product: "P2" });
    expect(await mismatches()).toEqual([]);
  });

  test("have mismatches of their own under the same ids", async () => {
    await receive(
      ...callbacksOf("1"),
      ...callbacksOf("1", { username: "bob" }),
      ...callbacksOf("1", { productId: "P2" }),
    );
    await listed(recordOf("2"), recordOf("2", { username: "bob" }), recordOf("2", { productId: "P2" }));
    await diffAt(15);
    await diffAt(15, { product: "P2" });
    expect((await readAll()).map(({ productId, username }) => `${productId} ${username}`).sort()).toEqual([
      "P1 anna",
      "P1 bob",
      "P2 anna",
    ]);
    await listed(recordOf("1", { updatedDate: iso(14) }));
    await diffAt(16);
    expect((await readAll()).map(({ status }) => status).sort()).toEqual(["open", "open", "resolved"]);
  });

  test("may take money along into a game, which is no bet", async () => {
    await receive(
      exampleEntry({ callback: "adjustBalance", status: "DEBIT", txnId: "ref-1", roundId: null }),
    );
    await receive(
      exampleEntry({ callback: "adjustBalance", status: "CREDIT", txnId: "bet-1", roundId: null }),
      ...callbacksOf("1"),
    );
    await listed(recordOf("1"));
    for (const minutes of [1, 61, 62, 300]) {
      await diffAt(minutes);
      await fetchPlanned();
    }
    expect(await mismatches()).toEqual([]);
  });

  test("whose bets are not compared are left alone", async () => {
    const settings = {
      products: [{ productId: "P1", walletMode: "transfer" }],
    };
    await ledgerBegins();
    await listed(recordOf("1"));
    expect(await diffAt(300, { settings })).toMatchObject({ compared: 0, wantsFetch: false, upTo: null });
    expect(await mismatches()).toEqual([]);
  });
});

describe("before the ledger begins", () => {
  test("nothing is compared while the ledger is empty, and no mark is lost", async () => {
    await listed(recordOf("25"));
    expect(await diffAt(500)).toMatchObject({ compared: 0 });
    await ledgerBegins();
    await diffAt(501);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
  });

  test("a record that the provider accounted before the first entry is not missing", async () => {
    await receive(exampleEntry({ username: "zoe", occurredAt: minute(-1), receivedAt: minute(-1) }));
    await listed(
      recordOf("25", { accountingDate: iso(-1.01) }),
      recordOf("25", { betId: "later", accountingDate: iso(-1) }),
    );
    await diffAt(60);
    expect(await mismatches()).toEqual(["missing-in-ledger of later is open"]);
  });

  test("a bet that ended before the set day is not compared, whichever side has it", async () => {
    const settings = { ledger: { since: iso(0) } };
    const running = { txnId: "running", roundId: "round-2" };
    await receive(
      ...callbacksOf("1"),
      exampleEntry(running),
      exampleSettle({ ...running, occurredAt: minute(0), receivedAt: minute(0) }),
    );
    for (const minutes of [59, 60, 61]) {
      await diffAt(minutes, { settings });
      await fetchPlanned();
    }
    await diffAt(62, { settings });
    expect(await mismatches()).toEqual(["missing-at-provider of running is open"]);
  });

  test("a settlement that needs no placement has a stake from the first day on", async () => {
    const single = { productId: "SINGLE" };
    await receive(exampleSettle({ ...single, betAmount: amount("10"), payoutAmount: amount("3") }));
    await listed(recordOf("3", { ...single, stake: amount("9") }));
    await diffAt(15, { product: "SINGLE" });
    expect(await mismatches()).toEqual(["stake-differs of bet-1 is open"]);
  });
});

describe("a comparison", () => {
  test("that runs several times at once opens each mismatch once", async () => {
    await ledgerBegins();
    const records = Array.from({ length: 40 }, (_, index) =>
      recordOf("1", { betId: `b${index}`, id: `r${index}`, roundId: `round-${index % 8}` }),
    );
    await listed(...records);
    clock.set(minute(STALE_NO_MORE));
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([diff(), diff(), diff(), receive(exampleEntry({ username: "bob" })), diff()]);
    }
    const opened = await readAll();
    expect(opened.map(({ betId }) => betId).sort()).toEqual(records.map(({ betId }) => betId).sort());
    expect(await sql`select from mismatch_events`).toHaveLength(40);
  });

  test("reaches everything that was touched, however much that is", async () => {
    await ledgerBegins();
    const records = Array.from({ length: 510 }, (_, index) =>
      recordOf("1", { betId: `b${index}`, id: `r${index}`, roundId: `round-${index}` }),
    );
    await listed(...records.slice(0, 500));
    await listed(...records.slice(500));
    await diffAt(STALE_NO_MORE);
    expect(await readAll()).toHaveLength(510);
  });

  test("numbers the mismatches that it opens in the order of time, in any order of their rows", async () => {
    await ledgerBegins();
    const minutesAgo = [7, 3, 9, 5, 8, 4, 6];
    await listed(
      ...minutesAgo.map((ago) =>
        recordOf("1", {
          betId: `b${ago}`,
          id: `r${ago}`,
          roundId: `round-${ago}`,
          accountingDate: iso(-ago),
        }),
      ),
    );
    await diffAt(STALE_NO_MORE);
    expect((await readAll()).map(({ betId }) => betId)).toEqual(["b9", "b8", "b7", "b6", "b5", "b4", "b3"]);
  });

  test("takes only what was touched, or whose grace has ended", async () => {
    await ledgerBegins();
    await diff();
    await listed(recordOf("1"));
    expect(await diffAt(1)).toMatchObject({ compared: 1 });
    expect(await diffAt(2)).toMatchObject({ compared: 0 });
    expect(await diffAt(15)).toMatchObject({ compared: 1 });
    expect(await diffAt(100)).toMatchObject({ compared: 0 });
  });

  test("that was asked to stop leaves everything to the next one", async () => {
    await ledgerBegins();
    await listed(recordOf("1"));
    expect(await diffAt(15, { signal: AbortSignal.abort() })).toMatchObject({ compared: 0 });
    await diff();
    expect(await mismatches()).toHaveLength(1);
  });

  test("reads one moment: a page that is written meanwhile makes no bet missing", async () => {
    await receive(...callbacksOf("25"));
    clock.set(minute(56));
    let pages = 0;
    const writePage = async () => {
      pages += 1;
      await listed(recordOf("25"));
      await fetchRange(minute(-60), minute(56));
    };
    await diff({ through: interrupted(sql, "from windows", writePage) });
    expect(pages).toBe(1);
    expect(await mismatches()).toEqual([]);
    await diffAt(58);
    await fetchPlanned();
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("begins again if a reviewer decides about a mismatch meanwhile", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(15);
    await listed(recordOf("20", { updatedDate: iso(14) }));
    const decide = async () => {
      await sql`update mismatches set status = 'acknowledged'`;
    };
    await diffAt(16, { through: interrupted(sql, "from mismatches", decide) });
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is resolved"]);
    const events = await sql`select from_status as "from" from mismatch_events order by id`;
    expect(events.map(({ from }) => from)).toEqual([null, "acknowledged"]);
  });
});

describe("rounds that form an endless chain", () => {
  /** Two bets; one is settled in the round in which the next two are placed. */
  const callbacksOfLink = (index: number, payout: string, receivedAt: Instant): CallbackEntry[] => {
    const at = { occurredAt: minute(index), receivedAt, roundId: `round-${index}` };
    const [first, second] = [`a${index}`, `b${index}`];
    return [
      exampleEntry({ ...at, txnId: first }),
      exampleEntry({ ...at, txnId: second }),
      exampleSettle({ ...at, txnId: first, roundId: `round-${index + 1}` }),
      exampleSettle({ ...at, txnId: second, payoutAmount: amount(payout) }),
    ];
  };
  /** The provider pays for the other bet, so only the whole round agrees. */
  const recordsOfLink = (index: number): BetRecord[] => {
    const dates = { updatedDate: iso(index), accountingDate: iso(index), roundId: `round-${index}` };
    return [
      recordOf("5", { ...dates, betId: `a${index}`, id: `ra${index}` }),
      recordOf("0", { ...dates, betId: `b${index}`, id: `rb${index}` }),
    ];
  };
  const grow = async (index: number, payout: string, now: Instant) => {
    clock.set(now);
    await receive(...callbacksOfLink(index, payout, now));
    await listed(...recordsOfLink(index));
    await diff();
  };
  const settle = async (...times: number[]) => {
    for (const minutes of times) {
      await diffAt(minutes);
      await fetchPlanned();
    }
  };

  test("are judged near the touched round: without false alarm at the far end, and without a difference hidden or resolved", async () => {
    for (let index = 0; index < 30; index += 1)
      await grow(index, index % 10 === 3 ? "4" : "5", minute(index));
    await settle(60, 100, 200);
    const differing = ["a13", "a23", "a3", "b13", "b23", "b3"].map(
      (bet) => `payout-differs of ${bet} is open`,
    );
    expect(await mismatches()).toEqual(differing);

    for (let index = 30; index < 40; index += 1) await grow(index, "5", minute(170 + index));
    await settle(300, 400);
    expect(await mismatches()).toEqual(differing);

    await listed({ ...recordsOfLink(15)[0], stake: amount("11"), updatedDate: iso(400) } as BetRecord);
    await settle(500, 600);
    const found = ["payout-differs of b15 is open", "stake-differs of a15 is open"];
    expect(await mismatches()).toEqual([...differing, ...found].sort());
    expect(await sql`select from mismatch_events`).toHaveLength(8);
  });
});
