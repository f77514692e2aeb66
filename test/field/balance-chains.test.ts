/** A ledger that has every movement of its players (`ledger.balances: "complete"`), as plain SQL writes it. */

import { describe, expect, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import { readMismatchEvidence } from "../../src/flows/read/mismatch-evidence.ts";
import { readMismatchStory } from "../../src/flows/read/read-mismatch.ts";
import { silentLog } from "../../src/log.ts";
import { tellStory } from "../../src/ops/dashboard/mismatches/tell-story.ts";
import { iso, useDiffWorld } from "../flows/compare/comparison-world.ts";

const { diffAt, insertRow, readAll, ledgerBegins, sql, clock } = useDiffWorld();

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

/** A request of a bet of its own that moved an amount. Its balances as "100 > 90"; "?" is null. */
const move = async (
  id: string,
  minutes: number,
  amount: number,
  balances: string,
  more: Record<string, unknown> = {},
) => {
  const [before, after] = balances.split(" > ").map((text) => (text === "?" ? null : text));
  const sides = amount < 0 ? { bet_amount: -amount } : { payout_amount: amount };
  await insertRow({
    entry_id: id,
    callback: amount < 0 ? "placeBets" : "winRewards",
    txn_id: id,
    round_id: `round ${id}`,
    ...sides,
    moved: amount,
    balance_before: before,
    balance_after: after,
    occurred_at: iso(minutes),
    ...more,
  });
};

describe("what is unknown hides no difference", () => {
  const unknown = { moved: null };
  test.each([
    { name: "the balance before", balances: "? > 80", more: {} },
    { name: "the balance after", balances: "90 > ?", more: {} },
    { name: "both balances", balances: "? > ?", more: {} },
    { name: "both balances, and what was moved", balances: "? > ?", more: unknown },
  ])("if $name of the request before is null", async ({ balances, more }) => {
    await ledgerBegins();
    await move("a", -9, -10, "100 > 90");
    await move("b", -8, -10, balances, more);
    await move("c", -7, -10, "80 > 70");
    await move("d", -6, -10, balances.replace("90", "70").replace("80", "60"), more);
    await move("e", -5, -10, "40 > 30");
    await compareAt(30);
    expect(await found()).toEqual(["P1 e 20 open"]);
    const [one] = await readAll();
    expect(one?.reason).toMatch(
      balances === "? > ?"
        ? /e was 40.00 THB, but the placeBets request c of P1, the player's last one with a balance, left 70.00 THB at 2026-11-20 11:53:00Z, and after it a request without a balance moved -10.00 THB, which leaves 60.00 THB/
        : /e was 40.00 THB, but the placeBets request d of P1, the player's last one, left 60.00 THB/,
    );
  });

  test("if the balance before is known by what the request moved only", async () => {
    await ledgerBegins();
    await move("a", -9, -10, "100 > 90");
    await move("b", -8, -10, "? > 60");
    await compareAt(30);
    expect(await found()).toEqual(["P1 b 20 open"]);
    expect((await readAll())[0]?.reason).toMatch(
      /b was 70.00 THB \(it left 60.00 THB and moved -10.00 THB\)/,
    );
  });

  test("if a bet that was placed long before gives back its stake without a word about amounts", async () => {
    await ledgerBegins();
    await move("old", -100, -10, "500 > 490");
    for (let number = 0; number < 30; number += 1)
      await move(`z${number}`, -90 + number, -10, `${490 - number * 10} > ${480 - number * 10}`);
    const cancel = { callback: "cancelBets", status: "REFUND", payout_amount: null, moved: null };
    await move("cancel", -20, 0, "? > ?", { ...cancel, txn_id: "old", round_id: "round old" });
    await move("next", -19, -10, "200 > 190");
    await move("last", -18, -10, "170 > 160");
    await compareAt(30);
    expect(await found()).toEqual(["P1 last 20 open"]);
  });
});

describe("a request that contradicts itself", () => {
  test.each([
    { name: "does not break what follows its balance after", balances: "90 > 85", next: "85 > 80" },
    { name: "does not break what follows what it moved", balances: "90 > 85", next: "80 > 75" },
    {
      name: "does not break what follows, if its balance before is wrong",
      balances: "95 > 80",
      next: "80 > 75",
    },
  ])("$name", async ({ balances, next }) => {
    await ledgerBegins();
    await move("a", -9, -10, "100 > 90");
    await move("b", -8, -10, balances);
    await move("c", -7, -5, next);
    await compareAt(30);
    expect(await found()).toEqual(["P1 b 5 open"]);
  });

  test("hides no other difference behind it", async () => {
    await ledgerBegins();
    await move("a", -9, -10, "100 > 90");
    await move("b", -8, -10, "90 > 85");
    await move("c", -7, -5, "50 > 45");
    await move("d", -6, -5, "45 > 40");
    await compareAt(30);
    expect(await found()).toEqual(["P1 b 5 open", "P1 c 35 open"]);
  });
});

describe("a request that came before, and moves nothing now", () => {
  test.each(["90 > 90", "100 > 100", "100 > 90", "? > ?", "70 > 70"])(
    "may be answered with %s",
    async (balances) => {
      await ledgerBegins();
      await move("a", -9, -10, "100 > 90");
      await move("zero", -8, 0, "90 > 90");
      await move("b", -7, -20, "90 > 70");
      const again = { txn_id: "a", round_id: "round a", bet_amount: 10, payout_amount: null };
      const placement = { ...again, callback: "placeBets" };
      await move("a2", -6, 0, balances, { ...placement, request_id: "a" });
      await move("a3", -5, 0, balances, placement);
      await move("zero2", -4, 0, "90 > 90", { txn_id: "zero", round_id: "round zero", request_id: "zero" });
      await move("c", -3, -10, "70 > 60");
      await compareAt(30);
      expect(await found()).toEqual([]);
    },
  );

  test("differs if its balances say that it was debited again", async () => {
    await ledgerBegins();
    await move("a", -9, -10, "100 > 90");
    const again = { txn_id: "a", round_id: "round a", bet_amount: 10, payout_amount: null };
    await move("a2", -6, 0, "90 > 80", { ...again, callback: "placeBets", request_id: "a" });
    await move("c", -3, -10, "80 > 70");
    await compareAt(30);
    expect(await found()).toEqual(["P1 a 10 open"]);
  });

  test("is compared if it is the first of its kind", async () => {
    await ledgerBegins();
    await move("a", -9, -10, "100 > 90");
    await move("zero", -8, 0, "70 > 70");
    await compareAt(30);
    expect(await found()).toEqual(["P1 zero 20 open"]);
  });

  test("resolves its mismatch if the first one arrives late", async () => {
    await ledgerBegins();
    await move("a", -9, -10, "100 > 90");
    await move("b", -8, -20, "90 > 70");
    await move("zero2", -7, 0, "90 > 90", { txn_id: "zero", round_id: "round zero", request_id: "zero" });
    await compareAt(30);
    expect(await found()).toEqual(["P1 zero 20 open"]);
    await move("zero", -8.5, 0, "90 > 90");
    await compareAt(31);
    expect(await found()).toEqual(["P1 zero 20 resolved"]);
  });
});

test("a later repeat under the same request id does not resolve the mismatch of the first one", async () => {
  await ledgerBegins();
  await move("a", -600, -10, "100 > 90");
  await move("b", -599, -10, "50 > 40");
  await compareAt(30);
  expect(await found()).toEqual(["P1 b 40 open"]);
  for (let number = 0; number < 30; number += 1) await move(`z${number}`, -90 + number, 0, "40 > 40");
  const again = {
    callback: "placeBets",
    txn_id: "b",
    round_id: "round b",
    bet_amount: 10,
    payout_amount: null,
  };
  await move("b2", -50, 0, "40 > 40", { ...again, request_id: "b" });
  await compareAt(31);
  expect(await found()).toEqual(["P1 b 40 open"]);
});

test("a row that is deleted takes its mismatch with it", async () => {
  await ledgerBegins();
  await move("a", -9, -10, "100 > 90");
  await move("b", -8, -10, "50 > 40");
  await move("c", -7, -10, "40 > 30");
  await compareAt(30);
  expect(await found()).toEqual(["P1 b 40 open"]);
  await sql`insert into ledger_settings values (1, 'replace') on conflict (id) do update set rows_change = 'replace'`;
  await sql`delete from callback_entries where entry_id = 'b'`;
  await compareAt(31);
  expect(await found()).toEqual(["P1 b 40 resolved", "P1 c 50 open"]);
});

test("items of one request are one answer, whenever each was written, and whichever has the balances", async () => {
  await ledgerBegins();
  const request = { request_id: "both", occurred_at: iso(-9) };
  await move("a", -9, -10, "100 > 80", { ...request, received_at: iso(-9) });
  await move("b", -9, -10, "100 > 80", { ...request, received_at: iso(-8.9) });
  const halves = { request_id: "halves", occurred_at: iso(-7) };
  await move("c", -7, -10, "80 > 60", halves);
  await move("d", -7, -10, "? > ?", halves);
  await move("e", -5, -10, "60 > 50");
  await compareAt(30);
  expect(await found()).toEqual([]);
});

test("a skipped update that moved money all the same is part of the chain", async () => {
  await ledgerBegins();
  await move("a", -9, -10, "100 > 90");
  await move("b", -8, -10, "90 > 80", { skip_balance_update: true });
  await move("skipped", -7, -10, "3 > 3", { skip_balance_update: true, moved: 0 });
  await move("c", -6, -10, "80 > 70");
  await compareAt(30);
  expect(await found()).toEqual([]);
});

test("equal ids of two products are two bets, whose amounts are not mixed up", async () => {
  await ledgerBegins();
  const unsaid = { moved: null, txn_id: "same", round_id: "same" };
  await move("a", -9, -10, "100 > ?", unsaid);
  await move("b", -8, -10, "90 > ?", { ...unsaid, product_id: "P2" });
  await move("c", -7, -10, "80 > ?", unsaid);
  await compareAt(30);
  expect(await found()).toEqual([]);
});

describe("what an operator sees of two requests that do not follow each other", () => {
  const context = () => ({
    sql,
    config: parseConfig({ products: [{ productId: "P1" }] }),
    clock,
    log: silentLog,
  });
  const shown = (one: { readonly requestId: string | null; readonly balanceBefore: string | null }) =>
    `${one.requestId} from ${one.balanceBefore}`;

  test("are the callbacks of both, with their times, also if they have several items or another product", async () => {
    await ledgerBegins();
    await move("old", -90, -10, "110 > 100");
    const first = { request_id: "first", product_id: "P2", balance_before: "100", balance_after: "80" };
    await move("a1", -5, -10, "100 > 80", first);
    await move("a2", -5, -10, "100 > 80", first);
    await move("b1", -4, -10, "100 > 80", { request_id: "second" });
    await move("b2", -4, -10, "100 > 80", { request_id: "second" });
    await compareAt(30);
    const [one] = await readAll();
    expect(one?.reason).toBe(
      "the balance before the placeBets request second was 100.00 THB, but the placeBets request first of P2, the player's last one, left 80.00 THB at 2026-11-20 11:55:00Z",
    );
    const story = await readMismatchStory(context(), one?.id ?? "");
    const both = ["first from 100", "first from 100", "second from 100", "second from 100"];
    expect(story.timeline.map(shown)).toEqual(both);
    expect(story.ledger).not.toHaveProperty("previous");
    expect(tellStory(story).says).toBe(
      "The balance before a callback is not the balance after the player's previous callback.",
    );
    const evidence = await readMismatchEvidence(context(), story);
    expect(evidence.entries.map(shown)).toEqual(both);
    expect(evidence.ledger).not.toHaveProperty("previous");
  });

  test("are all items of one request that contradicts itself", async () => {
    await ledgerBegins();
    await move("a1", -5, -10, "100 > 70", { request_id: "wrong" });
    await move("a2", -5, -10, "100 > 70", { request_id: "wrong" });
    await compareAt(30);
    const [one] = await readAll();
    const story = await readMismatchStory(context(), one?.id ?? "");
    expect(story.timeline.map(shown)).toEqual(["wrong from 100", "wrong from 100"]);
    expect(tellStory(story).says).toMatch(/balance after a callback is not/);
  });
});
