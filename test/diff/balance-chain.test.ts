import { describe, expect, test } from "vitest";
import type { CallbackEntry } from "../../src/callback.ts";
import { findBrokenLinks } from "../../src/diff/balance-chain.ts";
import { formatAmount } from "../../src/money.ts";
import { amount, exampleEntry, NOON } from "../support/examples.ts";

/** A request at a second after noon, which was answered within `took` seconds. */
const request = (
  requestId: string,
  second: number,
  [before, after]: readonly [string | null, string | null],
  fields: Partial<CallbackEntry> = {},
  took = 0,
) =>
  exampleEntry({
    requestId,
    moved: before === null || after === null ? null : amount(after).minus(amount(before)),
    balanceBefore: before === null ? null : amount(before),
    balanceAfter: after === null ? null : amount(after),
    occurredAt: NOON + second * 1000,
    receivedAt: NOON + (second + took) * 1000,
    ...fields,
  });
const broken = (
  entries: readonly CallbackEntry[],
  tolerance = new Map(),
  cut = { before: false, after: false },
) =>
  findBrokenLinks(entries, { asked: new Map(), tolerance, cut }).broken.map(
    ({ content: { subject, amountAtRisk } }) =>
      `${JSON.parse(subject.slice("chain:".length))[1]} ${formatAmount(amountAtRisk)}`,
  );

describe("a balance that is not the player's last one", () => {
  test("is broken, and names both requests", () => {
    const chain = [
      request("a", 0, ["100", "90"]),
      request("b", 1, ["95", "80"]),
      request("c", 2, ["80", "70"]),
    ];
    expect(broken(chain)).toEqual(["b 5"]);
    const cut = { before: false, after: false };
    const [one] = findBrokenLinks(chain, { asked: new Map(), tolerance: new Map(), cut }).broken;
    expect(one?.content.reason).toBe(
      "the balance before the placeBets request b was 95.00 THB, but the placeBets request a of P1, the player's last one, left 90.00 THB at 2026-11-20 12:00:00Z",
    );
  });

  test.each([
    { name: "one after the other", times: [0, 1] },
    { name: "in the same moment", times: [0, 0] },
  ])(
    "is found of two debits that start from the same balance $name, once",
    ({ times: [first = 0, second = 0] }) => {
      for (const next of ["90", "80"])
        expect(
          broken([
            request("a", first, ["100", "90"]),
            request("b", second, ["100", "80"]),
            request("c", 5, [next, "0"]),
          ]),
        ).toEqual(["b 10"]);
    },
  );

  test("is not looked for before the first request, after an unknown balance, or across currencies", () => {
    expect(broken([request("a", 0, ["100", "90"])])).toEqual([]);
    expect(
      broken([request("a", 0, ["100", "90"]), request("b", 1, [null, null]), request("c", 2, ["50", "40"])]),
    ).toEqual([]);
    expect(
      broken([request("a", 0, ["100", "90"]), request("b", 1, ["7", "6"], { currency: "USD" })]),
    ).toEqual([]);
  });

  test("is not that of a request that contradicts itself, which is a mismatch already", () => {
    const wrong = request("b", 1, ["90", "85"], { moved: amount("-10") });
    expect(broken([request("a", 0, ["100", "90"]), wrong, request("c", 2, ["80", "70"])])).toEqual([]);
  });

  test("is not that of a skipped update or a replay", () => {
    const skipped = request("b", 1, ["3", "3"], { skipBalanceUpdate: true });
    const replay = request("a", 2, ["100", "90"], { moved: amount("0") });
    expect(broken([request("a", 0, ["100", "90"]), skipped, replay, request("c", 3, ["90", "70"])])).toEqual(
      [],
    );
  });

  test("crosses products, and may differ by a tolerance", () => {
    const chain = [request("a", 0, ["100", "90"]), request("b", 1, ["90.01", "80"], { productId: "P2" })];
    expect(broken(chain)).toEqual(["b 0.01"]);
    expect(broken(chain, new Map([["THB", amount("0.01")]]))).toEqual([]);
  });

  test("shares the balances of all items of a request", () => {
    const items = ["bet-1", "bet-2"].map((txnId) =>
      request("a", 0, ["100", "80"], { txnId, moved: amount("-10") }),
    );
    expect(broken([...items, request("b", 1, ["80", "70"])])).toEqual([]);
  });

  test("is not judged if entries may be missing", () => {
    const chain = [request("a", 0, ["100", "90"]), request("b", 1, ["95", "80"])];
    expect(broken(chain, new Map(), { before: true, after: false })).toEqual([]);
    expect(broken(chain, new Map(), { before: false, after: true })).toEqual([]);
  });
});

describe("requests whose times overlap", () => {
  const orders = <Item>(items: readonly Item[]): Item[][] =>
    items.length < 2
      ? [[...items]]
      : items.flatMap((one, at) => orders(items.toSpliced(at, 1)).map((rest) => [one, ...rest]));

  test("fit in any order of their rows, and what comes next follows", () => {
    const moment = [
      request("a", 1, ["100", "90"]),
      request("b", 1, ["90", "120"]),
      request("c", 1, ["120", "90"]),
    ];
    for (const order of orders(moment))
      expect(broken([request("z", 0, ["110", "100"]), ...order, request("y", 2, ["90", "80"])])).toEqual([]);
    for (const order of orders(moment))
      expect(broken([request("z", 0, ["110", "100"]), ...order, request("y", 2, ["85", "80"])])).toEqual([
        "y 5",
      ]);
  });

  test("include one that was sent first and received last", () => {
    const late = request("late", 0, ["90", "80"], {}, 10);
    expect(broken([late, request("a", 1, ["100", "90"]), request("b", 12, ["80", "70"])])).toEqual([]);
  });

  test("that only circle among themselves do not follow from the balance before", () => {
    const circle = [request("a", 1, ["50", "40"]), request("b", 1, ["40", "50"])];
    expect(broken([request("z", 0, ["110", "100"]), ...circle])).toEqual(["a 50"]);
    expect(broken([request("z", 0, ["60", "50"]), ...circle, request("y", 2, ["40", "0"])])).toEqual([
      "y 10",
    ]);
  });
});
