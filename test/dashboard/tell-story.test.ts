import { expect, test } from "vitest";
import { MISMATCH_KINDS } from "../../src/mismatch.ts";
import { type Told, tellStory } from "../../src/ops/dashboard/mismatches/tell-story.ts";
import { LEDGER_SIDE, PROVIDER_SIDE } from "../support/findings.ts";

const of = (fields: Partial<Told> = {}): Told => ({
  kind: "payout-differs",
  currency: "THB",
  provider: PROVIDER_SIDE,
  ledger: LEDGER_SIDE,
  timeline: [],
  ...fields,
});
const version = (payout: string, replacedAt: string | null) =>
  ({ side: "provider", stake: "10", payout, replacedAt }) as Told["timeline"][number];

test("the first sentence says what each side says", () => {
  expect(tellStory(of()).says).toBe(
    "The provider says: SETTLED, stake 10.00 THB, payout 30.00 THB, player anna; the ledger says: settled, stake 10.00 THB, payout 25.50 THB, and the wallet gave 15.50 THB to player anna.",
  );
  expect(tellStory(of({ kind: "missing-in-ledger", ledger: null })).says).toMatch(
    /; the ledger has no callback about it\.$/,
  );
  expect(tellStory(of({ kind: "missing-at-provider", provider: null })).says).toMatch(
    /^The provider has no record of it; the ledger says: .*/,
  );
  expect(tellStory(of({ ledger: { ...LEDGER_SIDE, moved: "0.00" } })).says).toContain(
    "the wallet moved nothing for player anna",
  );
  expect(tellStory(of({ ledger: { ...LEDGER_SIDE, moved: "-10" } })).says).toContain(
    "the wallet took 10.00 THB from player anna",
  );
});

test("every kind has a second sentence, with both sides and without either", () => {
  for (const kind of MISMATCH_KINDS) {
    for (const sides of [{}, { provider: null }, { ledger: null }]) {
      const { says, likely } = tellStory(of({ kind, ...sides }));
      expect(says).toMatch(/^[A-Z].*\.$/);
      expect(likely).toMatch(/^[A-Z].*\.$/);
    }
  }
});

test.each<[string, Partial<Told>, RegExp]>([
  [
    "a record that said the same as the ledger once was changed",
    { timeline: [version("25.5", "2026-11-20T12:00:00.000Z"), version("30", null)] },
    /^The provider agreed at first, but had changed its record by 2026-11-20T12:00:00\.000Z: most likely the callback of this change was lost\.$/,
  ],
  [
    "a record that always said so was not",
    { timeline: [version("30", null)] },
    /^Most likely a callback \(settlement\) was lost/,
  ],
  [
    "a void record has lost its cancel",
    { kind: "missing-settlement", provider: { ...PROVIDER_SIDE, status: "VOID" } },
    /callback of the cancel was lost/,
  ],
  [
    "a settled record has lost its settlement",
    { kind: "missing-settlement" },
    /callback of the settlement was lost/,
  ],
  [
    "an open record was opened again",
    { kind: "status-differs", provider: { ...PROVIDER_SIDE, status: "OPEN" } },
    /callback of the rollback was lost/,
  ],
  [
    "a cancelled bet was settled",
    { kind: "status-differs", ledger: { ...LEDGER_SIDE, status: "void" } },
    /settled the bet after the cancel/,
  ],
  [
    "a wallet that moved nothing never moved",
    { kind: "net-differs", ledger: { ...LEDGER_SIDE, moved: "0" } },
    /never moved the money/,
  ],
  [
    "a wallet that moved twice applied a callback twice",
    { kind: "net-differs", ledger: { ...LEDGER_SIDE, moved: "40" } },
    /applied a callback twice\.$/,
  ],
])("the second sentence says that %s", (_, fields, expected) => {
  expect(tellStory(of(fields)).likely).toMatch(expected);
});
