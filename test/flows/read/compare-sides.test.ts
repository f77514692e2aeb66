import { expect, test } from "vitest";
import { compareSides } from "../../../src/flows/read/compare-sides.ts";
import type { Mismatch } from "../../../src/mismatch.ts";
import { formatMoney, parseAmount } from "../../../src/money.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "../../support/findings.ts";

type Sides = Pick<Mismatch, "kind" | "provider" | "ledger">;
const SAME = { ...LEDGER_SIDE, payout: "30.00", moved: "20.00" };

/** The fields that differ, with both values. */
const differing = (sides: Sides) =>
  compareSides(sides)
    .filter(({ differs }) => differs === true)
    .map(({ name, provider, ledger, as }) => {
      const say = (text: string | null) =>
        as === "amount" && text !== null ? formatMoney(parseAmount(text, name), "").trimEnd() : text;
      return `${name}: ${say(provider)} / ${say(ledger)}`;
    });
const of = (fields: Partial<Sides> = {}): Sides => ({
  kind: "payout-differs",
  provider: PROVIDER_SIDE,
  ledger: SAME,
  ...fields,
});

test("equal values are not marked, however each side writes them", () => {
  expect(differing(of())).toEqual([]);
  expect(differing(of({ provider: { ...PROVIDER_SIDE, stake: "10", payout: "30.000" } }))).toEqual([]);
  expect(
    differing(
      of({
        provider: { ...PROVIDER_SIDE, status: "UNSETTLED" },
        ledger: { ...SAME, status: "open", payout: "0", moved: "-10" },
      }),
    ),
  ).toEqual([]);
});

test.each<[string, Partial<Sides>, string[]]>([
  [
    "a payout, and the money that the payout moved",
    { ledger: LEDGER_SIDE },
    ["Payout: 30.00 / 25.50", "Moved in the wallet: 20.00 / 15.50"],
  ],
  [
    "a debit twice",
    { kind: "net-differs", ledger: { ...SAME, moved: "10" } },
    ["Moved in the wallet: 20.00 / 10.00"],
  ],
  [
    "a status",
    { kind: "status-differs", ledger: { ...SAME, status: "void", moved: "20" } },
    ["Status: SETTLED / void"],
  ],
  ["a player", { kind: "username-differs", ledger: { ...SAME, username: "bo" } }, ["Player: anna / bo"]],
  [
    "a currency",
    { kind: "currency-differs", ledger: { ...SAME, currency: "USD" } },
    ["Currency: THB / USD", "Moved in the wallet: 0.00 / 20.00"],
  ],
  [
    "a void bet that was not paid back, whatever its stake",
    {
      kind: "net-differs",
      provider: { ...PROVIDER_SIDE, status: "VOID" },
      ledger: { ...SAME, status: "void", stake: "12", moved: "-10" },
    },
    ["Moved in the wallet: 0.00 / -10.00"],
  ],
  [
    "a bet that only the ledger has",
    { kind: "missing-at-provider", provider: null },
    ["Known: no / yes", "Moved in the wallet: 0.00 / 20.00"],
  ],
  ["a bet that only the provider has", { kind: "missing-in-ledger", ledger: null }, ["Known: yes / no"]],
  [
    "the sum of a session, but not sums of different things",
    {
      kind: "session-differs",
      provider: { ...PROVIDER_SIDE, status: null },
      ledger: { ...SAME, status: null, stake: "50", moved: "19" },
    },
    ["Moved in the wallet: 20.00 / 19.00"],
  ],
  ["no field without another side", { kind: "balance-differs", provider: null }, []],
  [
    "the amount of a transfer",
    {
      kind: "transfer-differs",
      provider: {
        status: "booked",
        amount: "9",
        currency: "THB",
        username: "anna",
        productId: "P1",
        at: "2026-11-20T12:00:00Z",
      },
      ledger: {
        status: "DEPOSIT",
        amount: "10",
        currency: "THB",
        username: "anna",
        productId: "P1",
        at: "2026-11-20T12:00:00Z",
      },
    },
    ["Amount: 9.00 / 10.00"],
  ],
])("the page marks %s", (_, fields, expected) => {
  expect(differing(of(fields))).toEqual(expected);
});

test("each value stands beside the value it is compared with, and a field that neither side has is left out", () => {
  const round = of({
    provider: { ...PROVIDER_SIDE, id: null, betId: null },
    ledger: { ...SAME, txnId: null },
  });
  expect(compareSides(round).map(({ name }) => name)).toEqual([
    "Player",
    "Currency",
    "Status",
    "Stake",
    "Payout",
    "Moved in the wallet",
    "First callback",
    "Last callback",
    "Accounted",
    "Updated",
  ]);
});
