import { beforeEach, describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../../src/callback.ts";
import { writeRejected } from "../../../src/sync/rejected-store.ts";
import { hoursOf } from "../../../src/window.ts";
import { changeEntriesUnseen } from "../../support/database.ts";
import { amount, exampleEntry, exampleSettle } from "../../support/examples.ts";
import { callbacksOf, iso, minute, recordOf, useDiffWorld } from "./comparison-world.ts";

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
  changesOf,
  ledgerBegins,
} = useDiffWorld();

describe("a bet without callbacks", () => {
  beforeEach(ledgerBegins);

  test("is no mismatch before callbackGrace is over", async () => {
    await listed(recordOf("25"));
    for (const minutes of [0, 5, 14, 15 - 1 / 60_000]) {
      await diffAt(minutes);
      expect(await mismatches()).toEqual([]);
    }
    await diffAt(15);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({ amountAtRisk: "15", firstSeenAt: iso(15) });
  });

  test("is never a mismatch if its callbacks come within that grace", async () => {
    await listed(recordOf("25"));
    await diffAt(14);
    await receive(...callbacksOf("25"));
    await diffAt(15);
    await diffAt(200);
    expect(await mismatches()).toEqual([]);
  });

  test("has its grace again when the provider changes the record", async () => {
    await listed(recordOf("25"));
    clock.set(minute(10));
    await listed(recordOf("26", { updatedDate: iso(9) }));
    await diffAt(24);
    expect(await mismatches()).toEqual([]);
    await diffAt(25);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
  });

  test("is resolved by callbacks that come even later", async () => {
    await listed(recordOf("25"));
    await diffAt(15);
    await receive(...callbacksOf("25"));
    await diffAt(16);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is resolved"]);
    expect((await readAll())[0]).toMatchObject({ resolvedBy: "recon", resolvedAt: iso(16) });
    expect(await changesOf("1")).toEqual(["null -> open", "open -> resolved"]);
  });

  test("is no mismatch if it is void", async () => {
    await listed(recordOf("0", { betStatus: "VOID" }));
    await diffAt(60);
    expect(await mismatches()).toEqual([]);
  });
});

describe("a bet without a record", () => {
  /** Received at 11:56, so the confirm fetch is due from 12:56 on, for 11:50 to 12:56. */
  beforeEach(() => receive(...callbacksOf("25")));

  test("is a mismatch once a late fetch of all its time has returned no record", async () => {
    expect(await diffAt(55)).toMatchObject({ wantsFetch: false });
    expect(await fetchPlanned()).toEqual([]);
    expect(await diffAt(56)).toMatchObject({ wantsFetch: true });
    expect(await mismatches()).toEqual([]);
    expect(await fetchPlanned()).toEqual(hoursOf({ from: minute(-10), to: minute(56) }, minute(56)));
    await diffAt(57);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({ amountAtRisk: "15", provider: null });
  });

  test("is no mismatch if the late fetch returns its record", async () => {
    await diffAt(56);
    await listed(recordOf("25"));
    await fetchPlanned();
    await diffAt(57);
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("is no mismatch while a part of its time is a gap", async () => {
    await diffAt(56);
    await fetchPlanned(({ from }) => from < minute(0));
    for (const minutes of [57, 120, 1000]) {
      await diffAt(minutes);
      expect(await mismatches()).toEqual([]);
    }
    await fetchPlanned();
    await diffAt(1001);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("is not compared again before a gap in its time may be retried", async () => {
    const due = async () => (await sql<{ at: number }[]>`select max(due_at) as at from diff_marks`)[0]?.at;
    await diffAt(56);
    expect(await due()).toBe(minute(57));
    await fetchPlanned(() => true);
    await sql`update windows set next_attempt_at = ${minute(100)} where kind = 'confirm'`;
    await diffAt(57);
    expect(await due()).toBe(minute(101));
    expect(await diffAt(99)).toMatchObject({ compared: 0 });
    clock.set(minute(100));
    await fetchPlanned();
    await diffAt(101);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test.each([
    { name: "that began too early", from: -60, to: 60, at: 55 },
    { name: "that lacks its beginning", from: -9, to: 60, at: 56 },
    { name: "that lacks its end", from: -60, to: 55, at: 56 },
  ])("is no mismatch after a fetch $name", async ({ from, to, at }) => {
    clock.set(minute(at));
    await fetchRange(minute(from), minute(to));
    await diffAt(56);
    expect(await mismatches()).toEqual([]);
  });

  test("needs no fetch of its own if another one was late enough", async () => {
    clock.set(minute(56));
    await fetchRange(minute(-10), minute(20));
    await fetchRange(minute(20), minute(56));
    expect(await diff()).toMatchObject({ wantsFetch: false });
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("asks for one fetch, however often it is compared", async () => {
    for (const minutes of [56, 56.1, 56.2]) {
      await receive(exampleEntry({ username: "bob" }));
      await diffAt(minutes);
    }
    const [first] = hoursOf({ from: minute(-10), to: minute(56) }, minute(56));
    const hours = (await fetchPlanned()).map(({ from }) => from);
    expect(hours.filter((from) => from === first?.from)).toHaveLength(1);
  });

  test("is resolved by a record that comes even later", async () => {
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    await listed(recordOf("25"));
    await diffAt(58);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is resolved"]);
  });

  test.each([
    { name: "as text", raw: '{"id":"rec-1","betId":"bet-1","username":"anna","stake":"ten"}' },
    { name: "as a number", raw: '{"id":7,"betId":77,"username":"anna","stake":null}', txnId: "77" },
  ])("is no mismatch if a rejected record names it $name", async ({ raw, txnId = "bet-1" }) => {
    await changeEntriesUnseen(sql, `update callback_entries set txn_id = '${txnId}'`);
    await diffAt(56);
    await sql.begin((tx) =>
      writeRejected(tx, "P1", [{ raw, reason: "stake must be a number" }], clock.now()),
    );
    await fetchPlanned();
    await diffAt(57);
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("is a mismatch although records of other bets are rejected", async () => {
    const ofOthers = [
      '{"betId":"bet-11","username":"anna"}',
      '{"betId":"bet-1","username":"bob"}',
      '"\\u0000"',
      "undefined",
    ];
    const rejected = ofOthers.map((raw) => ({ raw, reason: "unusable" }));
    await sql.begin((tx) => writeRejected(tx, "P1", rejected, clock.now()));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("is no mismatch while it is open", async () => {
    await changeEntriesUnseen(sql, "delete from callback_entries where callback = 'settleBets'");
    await diffAt(56);
    await fetchPlanned();
    await diffAt(120);
    expect(await mismatches()).toEqual([]);
  });
});

describe("a bet without a record in a round that continues", () => {
  const ofSecond = { txnId: "bet-2" };
  const settledAt = (minutes: number): CallbackEntry =>
    exampleSettle({ ...ofSecond, occurredAt: minute(minutes), receivedAt: minute(minutes) });

  test("waits for the end of the round, and for a record that this end may bring", async () => {
    await receive(...callbacksOf("0"), exampleEntry(ofSecond));
    await diffAt(90);
    await fetchRange(minute(-60), minute(90));
    await diffAt(100);
    await receive(settledAt(100));
    await diffAt(101);
    await diffAt(130);
    expect(await mismatches()).toEqual([]);
    await listed(recordOf("0", { stake: amount("20"), updatedDate: iso(130), accountingDate: iso(100) }));
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("is a mismatch when the time after that end has passed too", async () => {
    await receive(...callbacksOf("0"), exampleEntry(ofSecond));
    clock.set(minute(100));
    await receive(settledAt(100));
    await diffAt(160);
    await fetchPlanned();
    await diffAt(161);
    expect(await mismatches()).toEqual([
      "missing-at-provider of bet-1 is open",
      "missing-at-provider of bet-2 is open",
    ]);
  });

  test("stays in the list when another bet of the round begins", async () => {
    await receive(...callbacksOf("0"));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    await receive(exampleEntry({ ...ofSecond, occurredAt: minute(57), receivedAt: minute(57) }));
    await diffAt(58);
    expect(await changesOf("1")).toEqual(["null -> open"]);
  });
});
