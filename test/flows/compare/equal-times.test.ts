/** Plain rows of a ledger that keeps whole seconds: nothing but the callbacks tells their order. */

import { describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import { amount } from "../../support/examples.ts";
import { iso, recordOf, useDiffWorld } from "./comparison-world.ts";

const { insertRow, settle, listed, mismatches, ledgerBegins } = useDiffWorld();

type Row = Readonly<Record<string, unknown>> & { readonly callback: string };

/** Inserts rows of one second by plain SQL. Their ids have the order of `order`. */
async function insert(rows: readonly Row[], ids: readonly string[], order: readonly number[], at = iso(-5)) {
  for (const [index, row] of rows.entries())
    await insertRow({ entry_id: ids[order[index] as number], occurred_at: at, ...row });
}

const place = (bet = 10, fields: object = {}): Row => ({
  callback: "placeBets",
  bet_amount: bet,
  moved: -bet,
  ...fields,
});
const settles = (payout: number, fields: object = {}): Row => ({
  callback: "settleBets",
  status: "SETTLED",
  payout_amount: payout,
  moved: payout,
  ...fields,
});
const adjust = (to: number, moved: number): Row => ({ callback: "adjustBets", bet_amount: to, moved });
const undo = (payout: number, bet: number, moved: number): Row => ({
  callback: "rollback",
  status: "ROLLBACK",
  payout_amount: payout,
  bet_amount: bet,
  transaction_type: "BY_TRANSACTION",
  moved,
});
const cancel = (moved: number): Row => ({ callback: "cancelBets", status: "REFUND", bet_amount: 10, moved });
const voids = (moved: number): Row => ({ callback: "voidSettled", payout_amount: 50, moved });
const byRound = { transaction_type: "BY_ROUND" };

interface Case {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly records: readonly BetRecord[];
}

const second = { txn_id: "bet-2" };
const CASES: readonly Case[] = [
  {
    name: "place, place, settle BY_ROUND",
    rows: [place(), place(10, second), settles(50, byRound)],
    records: [recordOf("50"), recordOf("0", { id: "rec-2", betId: "bet-2" })],
  },
  {
    name: "place, settle, void",
    rows: [place(), settles(50), voids(-40)],
    records: [recordOf("0", { betStatus: "VOID" })],
  },
  {
    name: "place, adjust, settle",
    rows: [place(), adjust(4, 6), settles(50)],
    records: [recordOf("50", { stake: amount("4") })],
  },
  {
    name: "place, settle, rollback, settle",
    rows: [place(), settles(50), undo(50, 0, -50), settles(30)],
    records: [recordOf("30")],
  },
  {
    name: "place, settle, rollback",
    rows: [place(), settles(50), undo(50, 0, -50)],
    records: [recordOf("0", { betStatus: "OPEN", payoutStatus: "UNKNOWN" })],
  },
  {
    name: "place, cancel, rollback, settle",
    rows: [place(), cancel(10), undo(0, 10, -10), settles(30)],
    records: [recordOf("30")],
  },
  {
    name: "place, part, settle",
    rows: [place(), settles(20, { end_round: false }), settles(30)],
    records: [recordOf("50")],
  },
];
const tips: Case = {
  name: "tip, cancelTip",
  rows: [
    { callback: "placeTips", status: "TIPS", bet_amount: 10, moved: -10 },
    { callback: "cancelTips", status: "REFUND", bet_amount: 10, moved: 10 },
  ],
  records: [],
};

function ordersOf(length: number): number[][] {
  if (length === 1) return [[0]];
  return ordersOf(length - 1).flatMap((order) =>
    Array.from({ length }, (_, at) => [...order.slice(0, at), length - 1, ...order.slice(at)]),
  );
}

const UUIDS = [
  "0a4b1f5e-22c1-4a53-9b1c-000000000000",
  "5c2f8a90-91d4-4f6e-8a77-000000000000",
  "a1b2c3d4-0f0f-4e4e-9d9d-000000000000",
  "f00dfeed-1111-4222-8333-000000000000",
];

describe.each(["given", "unknown"])("the money that moved is %s", (moved) => {
  const rowsOf = ({ rows }: Case): readonly Row[] =>
    moved === "given" ? rows : rows.map((row) => ({ ...row, moved: null }));

  test.each([...CASES, tips])("$name of one second raise no alarm, with any ids", async (one) => {
    await ledgerBegins();
    for (const [index, order] of ordersOf(one.rows.length).entries()) {
      const name = (id: unknown) => `${String(id)}-${index}`;
      const rows = rowsOf(one).map((row) => ({
        ...row,
        txn_id: name(row["txn_id"] ?? "bet-1"),
        round_id: name("round-1"),
      }));
      await insert(rows, UUIDS.map(name), order);
      await listed(
        ...one.records.map((record) => ({
          ...record,
          betId: name(record.betId),
          id: name(record.id),
          roundId: name("round-1"),
        })),
      );
    }
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual([]);
  });
});

test("serial ids count as numbers: w-9 comes before w-10", async () => {
  await ledgerBegins();
  const ids = ["w-9", "w-10", "w-11"];
  await insert(
    [place(), adjust(4, 6), adjust(7, -3)].map((row) => ({ ...row, moved: null })),
    ids,
    [0, 1, 2],
  );
  await listed(recordOf("0", { betStatus: "OPEN", payoutStatus: "UNKNOWN", stake: amount("7") }));
  await settle(20, 100, 200);
  expect(await mismatches()).toEqual([]);
});

describe("a BY_ROUND entry that came before its placements", () => {
  test.each([0, 500, 2_000])("ends bets that were placed %i ms later", async (later) => {
    await ledgerBegins();
    await insert([settles(50, byRound)], ["w-1"], [0], iso(-5));
    const at = new Date(Date.parse(iso(-5)) + later).toISOString();
    await insert([place(), place(10, second)], ["w-2", "w-3"], [0, 1], at);
    await listed(recordOf("50"), recordOf("0", { id: "rec-2", betId: "bet-2" }));
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual([]);
  });

  test("carries a payout of the round's own id to the earliest bet", async () => {
    await ledgerBegins();
    await insert([settles(50, { ...byRound, txn_id: "settle-7" })], ["w-1"], [0], iso(-5));
    const at = new Date(Date.parse(iso(-5)) + 1_500).toISOString();
    await insert([place()], ["w-2"], [0], at);
    await listed(recordOf("50"));
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual([]);
  });

  test("leaves open what was placed later than two seconds, or what another entry ends", async () => {
    await ledgerBegins();
    await insert([place(10, { txn_id: "bet-0" }), settles(50, byRound)], ["w-1", "w-2"], [0, 1], iso(-5));
    const at = (ms: number) => new Date(Date.parse(iso(-5)) + ms).toISOString();
    await insert([place()], ["w-3"], [0], at(2_001));
    await insert([place(10, second)], ["w-4"], [0], at(1_000));
    await insert([settles(70, second)], ["w-5"], [0], at(60_000));
    await listed(
      recordOf("50", { id: "rec-0", betId: "bet-0" }),
      recordOf("70", { id: "rec-2", betId: "bet-2" }),
      recordOf("0", { betStatus: "OPEN", payoutStatus: "UNKNOWN" }),
    );
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual([]);
  });
});

describe("a settlement after which others follow", () => {
  const part = settles(5, { end_round: false });
  const open = { betStatus: "OPEN", payoutStatus: "UNKNOWN" } as const;

  test("is no alarm with an open record", async () => {
    await ledgerBegins();
    await insert([place(), part], ["w-1", "w-2"], [0, 1]);
    await listed(recordOf("0", open));
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual([]);
  });

  test("is no alarm without a record", async () => {
    await ledgerBegins();
    await insert([place(), part], ["w-1", "w-2"], [0, 1]);
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual([]);
  });

  test("leaves the bet without its last part, if the provider has settled it", async () => {
    await ledgerBegins();
    await insert([place(), part], ["w-1", "w-2"], [0, 1]);
    await listed(recordOf("5"));
    await settle(20, 100, 200);
    expect(await mismatches()).toEqual(["missing-settlement of bet-1 is open"]);
  });
});

test("a request id that is used again with other content is another entry", async () => {
  await ledgerBegins();
  const same = { request_id: "bet-1" };
  await insert(
    [place(), settles(20, { end_round: false }), settles(30)].map((row) => ({
      ...row,
      ...same,
      moved: null,
    })),
    ["w-1", "w-2", "w-3"],
    [0, 1, 2],
  );
  await listed(recordOf("50"));
  await settle(20, 100, 200);
  expect(await mismatches()).toEqual([]);
});
