/** Bets of a product that is not in the settings stay, and are named; with transfer wallets only, they age like all others. */

import { beforeEach, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { findOtherProducts } from "../../../src/diff/outside-store.ts";
import { readStatusForPeople } from "../../../src/flows/read/read-status.ts";
import { dropClosed } from "../../../src/flows/retention/drop-closed.ts";
import { measureStorage } from "../../../src/flows/retention/measure-storage.ts";
import { silentLog } from "../../../src/log.ts";
import { HOUR_MS, NOON } from "../../support/examples.ts";
import { callbacksOf, minute, recordOf, useDiffWorld } from "../compare/comparison-world.ts";

const { sql, clock, diff, receive, listed, ledgerBegins } = useDiffWorld();
const DAY_MS = 24 * HOUR_MS;
const never = new AbortController().signal;

const contextOf = (...products: object[]) => ({
  sql,
  config: parseConfig({
    products,
    pull: { resweepAfter: ["P1D"] },
    retain: { records: "P30D", entries: "P30D" },
  }),
  clock,
  log: silentLog,
});
const removed = contextOf({ productId: "P2" });
const ending = contextOf({ productId: "P2" }, { productId: "P1", walletMode: "transfer" });

const left = async () => {
  const [row] = await sql<{ records: number; entries: number }[]>`
    select (select count(*) from bet_records where product_id = 'P1') as records,
      (select count(*) from callback_entries where product_id = 'P1' and txn_id <> 'long-ago') as entries`;
  return row;
};
/** The number of rows of each table that are due, after a new measurement. */
async function due(context: ReturnType<typeof contextOf>) {
  await measureStorage(context, null);
  const { storage } = (await readStatusForPeople(context)).work;
  return storage?.tables.find(({ table }) => table === "bet_records")?.due;
}

/** A bet that agrees and a bet that is open, 40 days ago; the days since are closed. */
beforeEach(async () => {
  await ledgerBegins();
  await receive(...callbacksOf("25", { txnId: "a", roundId: "round of a" }));
  await listed(recordOf("25", { betId: "a", id: "rec of a", roundId: "round of a" }));
  await receive(...callbacksOf("25", { txnId: "open", roundId: "round of open" }).slice(0, 1));
  clock.advance(2 * HOUR_MS);
  await diff();
  clock.advance(40 * DAY_MS);
  await sql`delete from closed_days`;
  await sql`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, statement)
    values ('2026-11-20', 'UTC', ${NOON - 1000 * DAY_MS}, ${minute(2 * 24 * 60)}, 1, ${clock.now()}, 'hash', '{}')`;
});

test("the bets of a product that left the settings stay, and are not due", async () => {
  expect(await due(removed)).toBe(0);
  expect(await dropClosed(removed, never)).toMatchObject({ records: 0, entries: 0 });
  expect(await left()).toEqual({ records: 1, entries: 3 });
  expect(await findOtherProducts(sql, ["P2"])).toEqual(["P1"]);
  expect(await findOtherProducts(sql, ["P0", "P1"])).toEqual([]);
});

test("with walletMode transfer they are due, and go by the same rules: an open bet stays", async () => {
  await dropClosed(removed, never);
  expect(await due(ending)).toBe(1);
  expect(await dropClosed(ending, never)).toMatchObject({ records: 1 });
  expect(await left()).toEqual({ records: 0, entries: 1 });
  expect(await due(ending)).toBe(0);
});

test("products that have entries and no record, or records and no entry, are named too", async () => {
  await receive(...callbacksOf("25", { productId: "E", txnId: "e", roundId: null }));
  await sql`update bet_records set product_id = 'R'`;
  expect(await findOtherProducts(sql, ["P2"])).toEqual(["E", "P1", "R"]);
});
