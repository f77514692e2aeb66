/** What operators' ledgers do in the field: each habit, played over real HTTP. */

import { describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { parseConfig } from "../../src/config-file.ts";
import { checkLedger } from "../../src/flows/ledger/check-ledger.ts";
import { followLedger } from "../../src/flows/ledger/follow-ledger.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { playField } from "./field-world.ts";

const database = useDatabase();
const { sql } = database;
describe("an operator that writes no row when a settlement pays 0", () => {
  const style = "lost-omitted";

  test("has no false difference with lostBets omitted, every real one, and a statement that adds up", async () => {
    const played = await playField(database, { style, product: { lostBets: "omitted" } });
    expect(played.planted.length).toBeGreaterThan(5);
    expect(played.missed).toEqual([]);
    expect(played.wrong).toEqual([]);
    expect(played.rows.length).toBeGreaterThan(0);
    for (const row of played.rows) expect(row).toMatchObject({ rounding: "0", rest: "0" });
  });

  test("has a missing-settlement for each lost bet by default", async () => {
    const { wrong } = await playField(database, { style });
    expect(wrong.filter(({ kind }) => kind === "missing-settlement").length).toBeGreaterThan(10);
  });
});

describe("an operator that keeps two decimals of what a sender computes in floating point", () => {
  const style = "two-decimals";

  test("has no false difference with a tolerance of a cent, every real one, and a statement that adds up", async () => {
    const played = await playField(database, { style, diff: { tolerance: { EUR: "0.01" } } });
    expect(played.planted.length).toBeGreaterThan(5);
    expect(played.missed).toEqual([]);
    expect(played.wrong).toEqual([]);
    const [row] = played.rows;
    expect(row).toMatchObject({ currency: "EUR", rest: "0" });
    expect(row?.rounding).toMatch(/^-?0\.\d{3,}$/);
  });

  test("has differences below a cent by default: every digit counts", async () => {
    const { wrong } = await playField(database, { style });
    expect(wrong.filter(({ kind }) => kind === "stake-differs").length).toBeGreaterThan(10);
  });
});

describe("an operator whose own relation is followed", () => {
  // The relation has the name of the next operator's.
  const own = useDatabase();

  test("has no false difference, every real one, and a statement that adds up", async () => {
    const played = await playField(own, { style: "odd", ledger: "relation" });
    expect(played.planted.length).toBeGreaterThan(5);
    expect(played.missed).toEqual([]);
    expect(played.wrong).toEqual([]);
    for (const row of played.rows) expect(row).toMatchObject({ rest: "0" });
  });
});

describe("an operator that updates rows in place", () => {
  const style = "odd";

  test("has no false difference with rowsChange replace, every real one, and a statement that adds up", async () => {
    const played = await playField(database, { style, ledger: "changing" });
    expect(played.planted.length).toBeGreaterThan(5);
    expect(played.missed).toEqual([]);
    expect(played.wrong).toEqual([]);
    for (const row of played.rows) expect(row).toMatchObject({ rest: "0" });
    expect(await sql`select count(*) > 5 as kept from entry_versions`).toEqual([{ kept: true }]);
  });
});

describe("a wrong ledger has real mismatches", () => {
  /** Plays a world without a fault for an operator that writes plain rows, and keeps only some of them. */
  async function playKeeping(keeps: (entry: CallbackEntry) => boolean) {
    const dropped = new Set<string>();
    const kept = new Set<string>();
    const { wrong: opened } = await playField(database, {
      style: "table",
      ledger: "insert",
      hasFaults: false,
      keeps: (entry) => {
        const isKept = keeps(entry);
        (isKept ? kept : dropped).add(entry.txnId);
        return isKept;
      },
    });
    expect(dropped.size).toBeGreaterThan(20);
    expect(kept.size).toBeGreaterThan(20);
    return { dropped, opened };
  }

  test("a ledger that keeps only the first item of each request differs in each bet that lost an item, and in no other", async () => {
    const requests = new Set<string>();
    // One request settles all of a player's bets of the round that end at that moment.
    const { dropped, opened } = await playKeeping(({ callback, username, roundId, occurredAt }) => {
      const request = `${callback}|${username}|${roundId}|${occurredAt}`;
      const isFirst = !requests.has(request);
      requests.add(request);
      return isFirst;
    });
    expect(new Set(opened.map(({ betId }) => betId))).toEqual(dropped);
    expect(new Set(opened.map(({ kind }) => kind))).toEqual(new Set(["missing-settlement"]));
  });

  test("a ledger with a unique index on the round differs in each bet except a round's first, and in no other", async () => {
    const firstOf = new Map<string | null, string>();
    const { dropped, opened } = await playKeeping(({ roundId, txnId }) => {
      const first = firstOf.get(roundId) ?? txnId;
      firstOf.set(roundId, first);
      return first === txnId;
    });
    expect(new Set(opened.map(({ betId }) => betId))).toEqual(dropped);
    expect(new Set(opened.map(({ kind }) => kind))).toEqual(new Set(["missing-in-ledger"]));
  });
});

describe("a table as operators have it", () => {
  const contextOf = (relation: string) => ({
    sql,
    config: parseConfig({ products: [{ productId: "P1" }], ledger: { relation } }),
    clock: createTestClock(NOON),
    log: silentLog,
  });

  test("with times without a zone is refused, and no zone is suggested", async () => {
    await makeTable();
    const refused = checkLedger(contextOf("field_wallet"));
    await expect(refused).rejects.toThrow(/received_at is timestamp without time zone/);
    await expect(refused).rejects.toThrow(/Find out the zone of the clock that writes the column/);
    await expect(refused).rejects.not.toThrow(/UTC|Bangkok/);
  });

  test("with amounts as DOUBLE and no currency is refused, and each column is named", async () => {
    await makeTable();
    const refused = checkLedger(contextOf("field_wallet"));
    await expect(refused).rejects.toThrow(/bet_amount is double precision, but must be numeric: a floating/);
    await expect(refused).rejects.toThrow(/the column currency is missing/);
  });

  test("can be used through a view that gives zone, amounts, currency and names", async () => {
    await makeTable();
    await sql`
      create view field_ledger as select entry_id, callback, request_id, product_id, lower(username) as username,
        'THB'::text as currency, txn_id, round_id, status, round(bet_amount::numeric, 2) as bet_amount,
        round(payout_amount::numeric, 2) as payout_amount, transaction_type, skip_balance_update,
        round(moved::numeric, 2) as moved, null::numeric as balance_before, null::numeric as balance_after,
        occurred_at at time zone 'Asia/Bangkok' as occurred_at, received_at at time zone 'Asia/Bangkok' as received_at
      from field_wallet`;
    await sql`
      insert into field_wallet values ('e1', 'placeBets', 'q1', 'P1', 'ANNA', 't1', 'r1', 'OPEN', 0.1 + 0.2, null, null,
        false, -0.3, '2026-11-20 19:00:00', '2026-11-20 19:00:00')`;
    await followLedger(contextOf("field_ledger"), new AbortController().signal);
    expect(
      await sql`select username, currency, bet_amount::text as stake, received_at as at from callback_entries`,
    ).toEqual([{ username: "anna", currency: "THB", stake: "0.30", at: NOON }]);
  });

  async function makeTable(): Promise<void> {
    await emptyTables(sql);
    await sql`drop table if exists field_wallet cascade`;
    await sql`
      create table field_wallet (
        entry_id text, callback text, request_id text, product_id text, username text, txn_id text, round_id text,
        status text, bet_amount double precision, payout_amount double precision, transaction_type text,
        skip_balance_update boolean, moved double precision, occurred_at timestamp, received_at timestamp)`;
  }
});
