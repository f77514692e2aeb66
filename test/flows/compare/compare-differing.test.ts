import { describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import { amount, exampleEntry } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

const {
  sql,
  clock,
  diffAt,
  receive,
  listed,
  fetchPlanned,
  fetchRange,
  readAll,
  mismatches,
  changesOf,
  ledgerBegins,
} = useDiffWorld();

describe("a bet that both sides have", () => {
  test("differs once callbackGrace is over, if our copy of the record is fresh", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(14);
    expect(await mismatches()).toEqual([]);
    await diffAt(15);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({
      amountAtRisk: "5",
      provider: { payout: "25" },
      ledger: { payout: "20", moved: "10" },
    });
  });

  test("does not differ while another record of the bet may lie in time that was not fetched yet", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("5", { id: "rec-2" }));
    await sql`
      insert into windows (product_id, kind, status, from_at, to_at)
      values ('P1', 'lost', 'gap', ${minute(-60)}, ${minute(-4)})`;
    await diffAt(16);
    expect(await mismatches()).toEqual([]);
    await listed(recordOf("15", { id: "rec-1", stake: amount("0") }));
    await sql`delete from windows`;
    await diffAt(18);
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("differs once that time was fetched without another record", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("5"));
    await planWindows(sql, "P1", "live", [{ from: minute(-60), to: minute(-4) }]);
    await diffAt(16);
    expect(await mismatches()).toEqual([]);
    await fetchPlanned();
    await diffAt(18);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
  });

  test("does not differ if the record is older than the bet's last entry, and changes with a late fetch", async () => {
    await receive(...callbacksOf("20"));
    const open = { betStatus: "OPEN", updatedDate: iso(-5), accountingDate: iso(-5) } as const;
    await listed(recordOf("0", open));
    await diffAt(55);
    expect(await fetchPlanned()).toEqual([]);
    await diffAt(56);
    expect(await mismatches()).toEqual([]);
    await listed(recordOf("20", { updatedDate: iso(-4) }));
    await fetchPlanned();
    await diffAt(57);
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("does not differ if its record is that of the placement in the same second, no matter how often it is fetched", async () => {
    const [placed, settled] = callbacksOf("20");
    if (placed && settled)
      await receive(placed, { ...settled, occurredAt: minute(-5) + 600, receivedAt: minute(-5) + 600 });
    const open = { betStatus: "OPEN", updatedDate: iso(-5), accountingDate: iso(-5) } as const;
    await listed(recordOf("0", open));
    for (const minutes of [5, 20, 40, 54]) {
      clock.set(minute(minutes));
      await fetchRange(minute(-60), minute(minutes));
      await diffAt(minutes);
      expect(await mismatches()).toEqual([]);
    }
    await listed(recordOf("20", { updatedDate: iso(-5), accountingDate: iso(-5) }));
    for (const minutes of [56, 57, 58, 80]) {
      await diffAt(minutes);
      await fetchPlanned();
    }
    expect(await mismatches()).toEqual([]);
  });

  test("differs if its provider writes whole seconds, after a late fetch", async () => {
    const [placed, settled] = callbacksOf("20");
    if (placed && settled)
      await receive(placed, { ...settled, occurredAt: minute(-4) + 600, receivedAt: minute(-4) + 600 });
    await listed(recordOf("25", { updatedDate: iso(-4), accountingDate: iso(-4) }));
    for (const minutes of [20, 56]) await diffAt(minutes);
    expect(await mismatches()).toEqual([]);
    await diffAt(57);
    await fetchPlanned();
    await diffAt(58);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
  });

  test("differs if a late fetch did not change the record", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("0", { betStatus: "OPEN", updatedDate: iso(-5), accountingDate: iso(-5) }));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["status-differs of bet-1 is open"]);
  });

  test("is not fetched again and again because its record has a date in the future", async () => {
    await receive(exampleEntry());
    await listed(
      recordOf("0", {
        betStatus: "OPEN",
        stake: amount("11"),
        updatedDate: iso(-6),
        accountingDate: iso(9000),
      }),
    );
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["stake-differs of bet-1 is open"]);
    await diffAt(58);
    expect(await fetchPlanned()).toEqual([]);
  });

  test.each(["9999-12-31T23:59:59.9999999Z", "0001-01-01T00:00:00+07:00", "0001-01-01T00:00:00Z"])(
    "is compared although its record has the date %s, as if it had no date",
    async (accountingDate) => {
      await listed(recordOf("25", { accountingDate }));
      await receive(...callbacksOf("20", { receivedAt: minute(1) }));
      await diffAt(61);
      expect((await fetchPlanned()).length).toBeLessThan(5);
      await diffAt(62);
      expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    },
  );

  test("has its mismatch resolved when it agrees, and opened again with its history when it differs again", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(15);
    await listed(recordOf("20", { updatedDate: iso(14) }));
    await diffAt(16);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is resolved"]);
    clock.set(minute(20));
    await listed(recordOf("25", { updatedDate: iso(19) }));
    await diffAt(34);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is resolved"]);
    await diffAt(35);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    expect(await changesOf("1")).toEqual(["null -> open", "open -> resolved", "resolved -> open"]);
  });

  test("stays as a reviewer left it until a compared value changes", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(15);
    await sql`update mismatches set status = 'ignored', resolved_by = 'olga'`;
    clock.set(minute(20));
    await listed(recordOf("25", { updatedDate: iso(19), gameName: "renamed" }));
    await diffAt(100);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is ignored"]);
    await listed(recordOf("26", { updatedDate: iso(99) }));
    await diffAt(200);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
  });
});

describe("a mismatch whose kind changes", () => {
  test("is replaced in one comparison when the new kind is certain, and is never missing from the list before", async () => {
    await ledgerBegins();
    await listed(recordOf("25", { id: "t1", betId: "b1" }));
    await diffAt(15);
    await receive(...callbacksOf("20", { txnId: "t1", occurredAt: minute(-4), receivedAt: minute(16) }));
    for (const minutes of [16, 20, 30]) {
      await diffAt(minutes);
      expect(await mismatches()).toEqual(["missing-in-ledger of b1 is open"]);
    }
    clock.set(minute(31));
    await fetchRange(minute(-60), minute(30));
    await diffAt(32);
    expect(await mismatches()).toEqual([
      "missing-in-ledger of b1 is resolved",
      "payout-differs of t1 is open",
    ]);
    const [first, second] = await readAll();
    expect(first?.resolvedAt).toBe(second?.firstSeenAt);
  });

  test("is replaced by the mismatch of its round if only the sums can be compared", async () => {
    await receive(...callbacksOf("0", { txnId: "t1" }));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["missing-at-provider of t1 is open"]);
    await listed(
      recordOf("3", { id: "other", betId: "other", updatedDate: iso(57), accountingDate: iso(57) }),
    );
    await diffAt(58);
    expect(await mismatches()).toEqual(["missing-at-provider of t1 is open"]);
    await diffAt(73);
    await fetchPlanned();
    await diffAt(74);
    expect(await mismatches()).toEqual([
      "missing-at-provider of t1 is resolved",
      "round-differs of round-1 is open",
    ]);
  });
});

describe("the same events end in the same list", () => {
  const bet = (name: string, fields: Partial<CallbackEntry> = {}) => ({
    txnId: name,
    roundId: `round-${name}`,
    ...fields,
  });
  const row = (name: string, fields: Partial<BetRecord> = {}) => ({
    betId: name,
    id: `r-${name}`,
    roundId: `round-${name}`,
    ...fields,
  });
  const entries: CallbackEntry[] = [
    ...callbacksOf("7", bet("agrees")),
    ...callbacksOf("7", bet("pays-less")),
    ...callbacksOf("7", bet("unlisted")),
    exampleEntry(bet("unsettled")),
    exampleEntry(bet("void")),
    exampleEntry(
      bet("void", {
        callback: "cancelBets",
        status: "REFUND",
        betAmount: null,
        occurredAt: minute(-4),
        receivedAt: minute(-4),
      }),
    ),
    ...callbacksOf("7", bet("in-dollars", { currency: "USD" })),
    ...callbacksOf("7", bet("of-round", { roundId: "shared" })),
    exampleEntry(bet("tip", { callback: "placeTips", status: "TIPS", roundId: "shared" })),
  ];
  const records: BetRecord[] = [
    recordOf("7", row("agrees")),
    recordOf("8", row("pays-less")),
    recordOf("7", row("unknown")),
    recordOf("7", row("unsettled")),
    recordOf("7", row("void")),
    recordOf("7", row("in-dollars")),
    recordOf("7", row("no-bet", { roundId: "shared", stake: amount("11") })),
  ];
  const sides: Record<string, (() => Promise<void>)[]> = {
    "entries first": [() => receive(...entries), () => listed(...records)],
    "records first": [() => listed(...records), () => receive(...entries)],
    "one by one": [...entries.map((one) => () => receive(one)), ...records.map((one) => () => listed(one))],
    "one by one, backwards": [
      ...records.map((one) => () => listed(one)),
      ...entries.toReversed().map((one) => () => receive(one)),
    ],
  };

  test.each(Object.entries(sides))("%s", async (_, steps) => {
    for (const [index, step] of steps.entries()) {
      await step();
      await diffAt(index / 10);
    }
    for (const minutes of [20, 61, 62]) {
      await diffAt(minutes);
      await fetchPlanned();
    }
    await diffAt(63);
    expect(await mismatches()).toEqual([
      "currency-differs of in-dollars is open",
      "missing-at-provider of unlisted is open",
      "missing-in-ledger of unknown is open",
      "missing-settlement of unsettled is open",
      "payout-differs of pays-less is open",
      "round-differs of shared is open",
      "status-differs of void is open",
    ]);
  });
});
