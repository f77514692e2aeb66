import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adviceOf, correctionOf, sayEffect } from "../src/advice.ts";
import { assessPairs } from "../src/diff/assess.ts";
import { askedByState, expectedOf } from "../src/diff/money-moved.ts";
import { movedBy } from "../src/diff/sums.ts";
import { effectOf } from "../src/effect.ts";
import { MISMATCH_KINDS, type Mismatch, type MismatchContent } from "../src/mismatch.ts";
import { formatAmount } from "../src/money.ts";
import { bet, record, SETTINGS } from "./diff/sides.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "./support/findings.ts";

type Fields = Pick<Mismatch, "kind" | "amountAtRisk" | "provider" | "ledger">;
const shown = (amount: ReturnType<typeof effectOf>) => (amount === null ? null : formatAmount(amount));
const ledger = (fields: object) => ({ ...LEDGER_SIDE, username: "anna", ...fields });
const provider = (fields: object) => ({ ...PROVIDER_SIDE, username: "anna", ...fields });
const TRANSFER = { status: null, amount: "10", currency: "THB", username: "anna", productId: "P1", at: "" };

/** A bet of 100.00, and what each kind says about it: the effect, and the money in the advice. */
const EXAMPLES: readonly (readonly [Fields["kind"], Partial<Fields>, string | null, RegExp])[] = [
  [
    "username-differs",
    {
      amountAtRisk: "0",
      provider: provider({ username: "bo", stake: "100", payout: "0" }),
      ledger: ledger({ stake: "100", payout: "0", moved: "-100" }),
    },
    "0",
    /if the provider's name is right, give 100\.00 THB to anna and take 100\.00 THB back from bo\.$/,
  ],
  [
    "currency-differs",
    { amountAtRisk: "100", provider: provider({ currency: "USD" }), ledger: ledger({ moved: "-100" }) },
    "-100",
    /If it was played as the provider says, give 100\.00 THB to anna\.$/,
  ],
  [
    "missing-in-ledger",
    { amountAtRisk: "100", provider: provider({ stake: "100", payout: "0" }), ledger: null },
    "100",
    /Or take 100\.00 THB back from anna by hand/,
  ],
  [
    "missing-at-provider",
    { amountAtRisk: "3000", provider: null, ledger: ledger({ stake: "100", payout: "3100", moved: "3000" }) },
    "3000",
    /never played there, take 3\u202f000\.00 THB back from anna\.$/,
  ],
  [
    "vanished-at-provider",
    { amountAtRisk: "100", provider: null, ledger: ledger({ stake: "100", payout: "0", moved: "-100" }) },
    "-100",
    /a cancel was lost: give 100\.00 THB to anna\.$/,
  ],
  [
    "missing-placement",
    {
      amountAtRisk: "100",
      provider: provider({ stake: "100", payout: "150" }),
      ledger: ledger({ stake: "0", payout: "150", moved: "150" }),
    },
    "100",
    /If the provider is right, take 100\.00 THB back from anna\.$/,
  ],
  [
    "missing-settlement",
    {
      amountAtRisk: "150",
      provider: provider({ stake: "100", payout: "150" }),
      ledger: ledger({ status: "open", stake: "100", payout: "0", moved: "-100" }),
    },
    "-150",
    /Or give 150\.00 THB to anna by hand/,
  ],
  [
    "status-differs",
    {
      amountAtRisk: "150",
      provider: provider({ status: "VOID", stake: "100", payout: "0" }),
      ledger: ledger({ stake: "100", payout: "250", moved: "150" }),
    },
    "150",
    /If the provider is right, take 150\.00 THB back from anna\.$/,
  ],
  [
    "stake-differs",
    {
      amountAtRisk: "100",
      provider: provider({ stake: "200", payout: "0" }),
      ledger: ledger({ stake: "100", payout: "0", moved: "-100" }),
    },
    "100",
    /or you take 100\.00 THB back from anna and record/,
  ],
  [
    "payout-differs",
    { amountAtRisk: "4.50", provider: provider({}), ledger: ledger({}) },
    "-4.5",
    /or you give 4\.50 THB to anna and record/,
  ],
  [
    "round-differs",
    {
      amountAtRisk: "5",
      provider: provider({ status: "OPEN", stake: "20", payout: "15" }),
      ledger: ledger({ stake: "20", payout: "20", moved: "0" }),
    },
    "5",
    /If the provider is right, take 5\.00 THB back from anna\.$/,
  ],
  [
    "net-differs",
    {
      amountAtRisk: "100",
      provider: provider({ stake: "100", payout: "0" }),
      ledger: ledger({ stake: "100", payout: "0", moved: "-200" }),
    },
    "-100",
    /another amount\. Give 100\.00 THB to anna\.$/,
  ],
  [
    "session-differs",
    {
      amountAtRisk: "25",
      provider: provider({ status: null, stake: "100", payout: "75" }),
      ledger: ledger({ status: null, stake: "100", payout: "100", moved: "0" }),
    },
    "25",
    /If the provider is right, take 25\.00 THB back from anna\.$/,
  ],
  [
    "stuck-open",
    {
      amountAtRisk: "100",
      provider: null,
      ledger: ledger({ status: "open", stake: "100", payout: "0", moved: "-100" }),
    },
    "-100",
    /If not, give 100\.00 THB to anna\.$/,
  ],
  ["balance-differs", { provider: null }, null, /Something else moved money/],
  ["provider-inconsistent", { amountAtRisk: "0", ledger: null }, null, /^Report the record/],
  ["transfer-inconclusive", { provider: TRANSFER, ledger: TRANSFER }, null, /provider's statement/],
  ["transfer-differs", { provider: TRANSFER, ledger: TRANSFER }, null, /Or correct your side/],
  ["transfer-late-success", { provider: TRANSFER, ledger: TRANSFER }, null, /undo that/],
  ["top-up-rejected", { provider: TRANSFER, ledger: TRANSFER }, null, /Reverse the move/],
  ["top-up-inconclusive", { provider: TRANSFER, ledger: TRANSFER }, null, /provider's statement/],
  ["top-up-differs", { provider: TRANSFER, ledger: TRANSFER }, null, /Or correct your side/],
  ["top-up-late-success", { provider: TRANSFER, ledger: TRANSFER }, null, /undo that/],
];

describe("the effect and the advice", () => {
  const mismatch = (kind: Fields["kind"], fields: Partial<Fields>) => ({
    kind,
    username: "anna",
    currency: "THB",
    amountAtRisk: "10",
    provider: provider({}),
    ledger: ledger({}),
    ...fields,
  });

  test("have an example of every kind", () => {
    expect(EXAMPLES.map(([kind]) => kind)).toEqual([...MISMATCH_KINDS]);
  });

  test.each(EXAMPLES)("of %s follow its sides", (kind, fields, effect, advice) => {
    const one = mismatch(kind, fields);
    expect(shown(effectOf(one))).toBe(effect);
    expect(adviceOf(one)).toMatch(advice);
    if (effect === null) expect([sayEffect(one), correctionOf(one)]).toEqual([null, null]);
  });

  test.each(EXAMPLES.filter(([, , effect]) => effect !== null && effect !== "0"))(
    "of %s say the same amount in one direction",
    (kind, fields, effect) => {
      const one = mismatch(kind, fields);
      const isTooMuch = !effect?.startsWith("-");
      expect(correctionOf(one)).toMatch(isTooMuch ? /^take .* back from anna$/ : /^give .* to anna$/);
      expect(sayEffect(one)).toMatch(isTooMuch ? /^anna has .* too much$/ : /^anna has .* too little$/);
    },
  );

  test.each([
    ["a void bet whose money was given back twice", "void", null, "100", "100", "100"],
    ["a void bet whose money was not given back", "void", null, "-100", "100", "-100"],
    ["a tip that was taken twice", "settled", null, "-200", "100", "-100"],
    ["a tip that was never taken", "settled", null, "0", "100", "100"],
    ["a running bet that was taken twice", "open", "OPEN", "-200", "100", "-100"],
    ["a bet with a paid part that was never paid out", "open", "UNSETTLED", "-100", "40", "-40"],
  ])("of a net that differs know %s", (_, status, theirs, moved, amountAtRisk, effect) => {
    const paid = status === "open" && theirs === "UNSETTLED" ? "40" : "0";
    const one = mismatch("net-differs", {
      amountAtRisk,
      provider: theirs === null ? null : provider({ status: theirs, stake: "100", payout: "0" }),
      ledger: ledger({ status, stake: "100", payout: paid, moved }),
    });
    expect(shown(effectOf(one))).toBe(effect);
  });

  test("are silent about money that is right, and say so", () => {
    const one = mismatch("missing-settlement", {
      amountAtRisk: "0",
      provider: provider({ stake: "100", payout: "0" }),
      ledger: ledger({ status: "open", stake: "100", payout: "0", moved: "-100" }),
    });
    expect(shown(effectOf(one))).toBe("0");
    expect([sayEffect(one), correctionOf(one)]).toEqual([null, null]);
    expect(adviceOf(one)).toBe(
      "Ask the provider to send the callback again. The balance of anna is right: move no money.",
    );
  });

  test("are unknown if no expected amount explains the amount at risk, and name no direction", () => {
    const one = mismatch("round-differs", {
      amountAtRisk: "7",
      provider: provider({ status: "OPEN", stake: "20", payout: "15" }),
      ledger: ledger({ stake: "20", payout: "20", moved: "1" }),
    });
    expect([effectOf(one), sayEffect(one), correctionOf(one)]).toEqual([null, null, null]);
    expect(adviceOf(one)).toMatch(/If the provider is right, correct the player's balance\.$/);
  });
});

test("the effect of what the comparison finds is moved − expected, with its sign", () => {
  const money = fc.integer({ min: 0, max: 30 }).map(String);
  const someRecord = fc.record({
    betId: fc.constantFrom("bet-1", "bet-2"),
    betStatus: fc.constantFrom("OPEN", "SETTLED", "SETTLED", "UNSETTLED", "VOID"),
    stake: money,
    payout: money,
  });
  const betFields = {
    txnId: fc.constantFrom("bet-1", "bet-2"),
    status: fc.constantFrom("open", "settled", "settled", "void"),
    stake: money,
    payout: money,
    moved: fc.integer({ min: -60, max: 60 }).map(String),
    tip: fc.constantFrom(false, false, false, true),
    placed: fc.constantFrom(true, true, true, false),
  };
  // Without `moved`, the bet has moved what its state asks for.
  const someBet = fc.record(betFields, {
    requiredKeys: ["txnId", "status", "stake", "payout", "tip", "placed"],
  });
  const listed = fc.uniqueArray(someRecord, { maxLength: 2, selector: ({ betId }) => betId });
  const held = fc.uniqueArray(someBet, { maxLength: 2, selector: ({ txnId }) => txnId });
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(listed, held, fc.boolean(), (records, bets, openBetsListed) => {
      const pairs = assessPairs(
        records.map((one) => record({ ...one, id: `rec-${one.betId}` })),
        bets.map((one) => bet({ ...one, placed: one.placed || one.tip })),
        { ...SETTINGS, openBetsListed },
      );
      for (const { pair, pending } of pairs) {
        const finding: MismatchContent | undefined = pending?.content;
        if (finding === undefined) continue;
        const { kind, provider, ledger } = finding;
        const expected = kind === "net-differs" ? askedByState(pair) : expectedOf(pair);
        const effect = effectOf({
          kind,
          provider,
          ledger,
          amountAtRisk: formatAmount(finding.amountAtRisk),
          foundEffect: finding.effect === undefined ? null : formatAmount(finding.effect),
        });
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
        expect([kind, provider, ledger, shown(effect)]).toEqual([
          kind,
          provider,
          ledger,
          formatAmount(movedBy(pair.bets).minus(expected)),
        ]);
      }
    }),
    { numRuns: 1_500, seed: 1 },
  );
  expect([...seen.keys()].sort()).toEqual([
    "missing-at-provider",
    "missing-in-ledger",
    "missing-placement",
    "missing-settlement",
    "net-differs",
    "payout-differs",
    "round-differs",
    "stake-differs",
    "status-differs",
    "stuck-open",
  ]);
});
