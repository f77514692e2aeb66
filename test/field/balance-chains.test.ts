/** A ledger that has every movement of its players (`ledger.balances: "complete"`), as plain SQL writes it. */

import { expect, test } from "vitest";
import { iso, useDiffWorld } from "../flows/compare/comparison-world.ts";

const { diffAt, insertRow, readAll, ledgerBegins, sql } = useDiffWorld();

/** Anna's placement at a minute after noon; its balances as "100 > 90". */
const place = async (id: string, minutes: number, balances: string, more: Record<string, unknown> = {}) => {
  const [before = "", after = ""] = balances.split(" > ");
  await insertRow({
    entry_id: id,
    callback: "placeBets",
    txn_id: id,
    round_id: `round ${id}`,
    bet_amount: Number(before) - Number(after),
    moved: Number(after) - Number(before),
    balance_before: before,
    balance_after: after,
    occurred_at: iso(minutes),
    ...more,
  });
};
const compareAt = async (minutes: number, balances = "complete") => {
  for (const product of ["P1", "P2", "P1", "P2"])
    await diffAt(minutes, { product, settings: { ledger: { balances } } });
};
const found = async () =>
  (await readAll())
    .filter(({ kind }) => kind === "balance-differs")
    .map((one) => `${one.productId} ${one.transactionId} ${one.amountAtRisk} ${one.status}`)
    .sort();

test("two debits from the same balance are one mismatch after the grace, which names both, and counts in no statement", async () => {
  await ledgerBegins();
  await place("a", -5, "100 > 90");
  await place("b", -4, "100 > 80");
  await compareAt(5);
  expect(await found()).toEqual([]);
  await compareAt(30);
  expect(await found()).toEqual(["P1 b 10 open"]);
  const [one] = await readAll();
  expect(one).toMatchObject({ effect: null, countsAt: null });
  expect(one?.reason).toMatch(/request b .* request a /);
});

test("by default the ledger may lack movements, and nothing is found", async () => {
  await ledgerBegins();
  await place("a", -5, "100 > 90");
  await place("b", -4, "100 > 80");
  await compareAt(30, "partial");
  expect(await found()).toEqual([]);
});

test("a request of another product in between, which arrives late, resolves it", async () => {
  await ledgerBegins();
  await place("a", -5, "100 > 90");
  await place("c", -3, "70 > 60");
  await compareAt(30);
  expect(await found()).toEqual(["P1 c 20 open"]);
  await place("b", -4, "90 > 70", { product_id: "P2" });
  await compareAt(31);
  expect(await found()).toEqual(["P1 c 20 resolved"]);
});

test("a request of another product opens it, if what came later does not follow any more", async () => {
  await ledgerBegins();
  await place("a", -5, "100 > 90");
  await place("c", -3, "90 > 60");
  await compareAt(30);
  expect(await found()).toEqual([]);
  await place("b", -4, "90 > 70", { product_id: "P2" });
  await compareAt(31);
  expect(await found()).toEqual(["P1 c 20 open"]);
  expect(await sql`select from diff_marks where due_at <= ${Date.parse(iso(31))}`).toEqual([]);
});

test("rows of one second, read in any order, are no alarm", async () => {
  await ledgerBegins();
  for (const [id, balances] of [
    ["b", "90 > 70"],
    ["c", "70 > 60"],
    ["a", "100 > 90"],
  ] as const)
    await place(id, -5, balances);
  await place("d", -4, "60 > 50");
  await compareAt(30);
  expect(await found()).toEqual([]);
});

test("a player without a pause, whose requests overlap all that is loaded at first, is compared too", async () => {
  await ledgerBegins();
  for (let part = 0; part < 3; part += 1) {
    for (let number = part * 40; number < part * 40 + 40; number += 1) {
      const before = 1_000 - number - (number >= 60 ? 30 : 0);
      const at = number / 60;
      await place(`e${number}`, at, `${before} > ${before - 1}`, { received_at: iso(at + 2 / 60) });
    }
    await compareAt((part + 1) * 0.7);
  }
  await compareAt(40);
  expect(await found()).toEqual(["P1 e60 30 open"]);
});
