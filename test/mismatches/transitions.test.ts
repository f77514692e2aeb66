import { describe, expect, test } from "vitest";
import type { LedgerSide, MismatchContent, MismatchStatus, ProviderSide } from "../../src/mismatch.ts";
import {
  decideTransitions,
  type KnownMismatch,
  type SeenDifference,
} from "../../src/mismatches/transitions.ts";
import { exampleFinding, exampleLedgerSide, exampleProviderSide } from "./findings.ts";

const known = (fields: Partial<KnownMismatch> = {}): KnownMismatch => ({
  id: 1,
  subject: "bet:bet-1",
  kind: "payout-differs",
  status: "open",
  resolvedBy: null,
  hasCeased: false,
  provider: exampleProviderSide(),
  ledger: exampleLedgerSide(),
  ...fields,
});
const seen = (
  confirmed: boolean,
  fields: Partial<MismatchContent> = {},
  subjects?: string[],
): SeenDifference => {
  const content = exampleFinding(fields);
  return { content, subjects: subjects ?? [content.subject], confirmed };
};
const decide = (before: readonly KnownMismatch[], found: readonly SeenDifference[]) =>
  decideTransitions(before, found).map((one) =>
    one.change === "open" ? `open ${one.content.kind}` : `${one.change} ${one.id}`,
  );

type State = MismatchStatus | "unknown" | "resolved by a reviewer";
const stateOf = (state: State): KnownMismatch[] => {
  if (state === "unknown") return [];
  if (state === "resolved") return [known({ status: "resolved", resolvedBy: "recon" })];
  if (state === "resolved by a reviewer") return [known({ status: "resolved", resolvedBy: "olga" })];
  return [known({ status: state, resolvedBy: state === "ignored" ? "olga" : null })];
};

describe("a difference, with the known values", () => {
  test.each<[State, string[], string[], string[]]>([
    // the transition of a difference that is gone, unconfirmed, confirmed
    ["unknown", [], [], ["open payout-differs"]],
    ["open", ["resolve 1"], ["refresh 1"], ["refresh 1"]],
    ["acknowledged", ["resolve 1"], ["refresh 1"], ["refresh 1"]],
    ["resolved", [], [], ["reopen 1"]],
    ["resolved by a reviewer", ["cease 1"], [], []],
    ["ignored", ["cease 1"], [], []],
  ])("%s: gone %j, unconfirmed %j, confirmed %j", (state, gone, unconfirmed, confirmed) => {
    const before = stateOf(state);
    expect(decide(before, [])).toEqual(gone);
    expect(decide(before, [seen(false)])).toEqual(unconfirmed);
    expect(decide(before, [seen(true)])).toEqual(confirmed);
  });
});

describe("a resolved or ignored mismatch stays so until a compared value changes", () => {
  const changed: [string, { provider?: Partial<ProviderSide>; ledger?: Partial<LedgerSide> }][] = [
    ["the provider's status", { provider: { status: "VOID" } }],
    ["the provider's stake", { provider: { stake: "11" } }],
    ["the provider's payout", { provider: { payout: "26" } }],
    ["the provider's currency", { provider: { currency: "USD" } }],
    ["the ledger's status", { ledger: { status: "open" } }],
    ["the ledger's stake", { ledger: { stake: "11" } }],
    ["the ledger's payout", { ledger: { payout: "21" } }],
    ["what moved", { ledger: { moved: "11" } }],
  ];
  const withValues = (values: (typeof changed)[number][1]): Partial<MismatchContent> => ({
    provider: exampleProviderSide(values.provider),
    ledger: exampleLedgerSide(values.ledger),
  });

  test.each(changed)("%s", (_, values) => {
    for (const state of ["resolved by a reviewer", "ignored"] as const) {
      expect(decide(stateOf(state), [seen(true, withValues(values))])).toEqual(["reopen 1"]);
      expect(decide(stateOf(state), [seen(false, withValues(values))])).toEqual([]);
    }
  });

  test("a side that appears or disappears counts as a change", () => {
    expect(decide(stateOf("ignored"), [seen(true, { provider: null })])).toEqual(["reopen 1"]);
    expect(decide(stateOf("ignored"), [seen(true, { ledger: null })])).toEqual(["reopen 1"]);
  });

  test("another time or name in the record is no change", () => {
    const later = {
      provider: exampleProviderSide({
        id: "rec-9",
        updatedDate: "2026-11-20T12:30:00.000Z",
        accountingDate: null,
      }),
      ledger: exampleLedgerSide({ lastEntryAt: "2026-11-20T12:30:00.000Z" }),
      reason: "said otherwise",
    };
    for (const state of ["resolved by a reviewer", "ignored"] as const) {
      expect(decide(stateOf(state), [seen(true, later)])).toEqual([]);
    }
  });
});

test("the order of a side's fields is no change: PostgreSQL returns them in another one", () => {
  const turned = <Side extends object>(side: Side) =>
    Object.fromEntries(Object.entries(side).reverse()) as unknown as Side;
  const same = { provider: turned(exampleProviderSide()), ledger: turned(exampleLedgerSide()) };
  expect(Object.keys(same.ledger)).not.toEqual(Object.keys(exampleLedgerSide()));
  expect(decide(stateOf("ignored"), [seen(true, same)])).toEqual([]);
});

describe("a mismatch whose kind changes", () => {
  const settled = { kind: "status-differs" as const };

  test("stays until the new kind is confirmed, then both change in one step", () => {
    expect(decide([known()], [seen(false, settled)])).toEqual([]);
    expect(decide([known()], [seen(true, settled)])).toEqual(["open status-differs", "resolve 1"]);
  });

  test("does the same if the new kind has another subject", () => {
    const alone = known({ kind: "missing-in-ledger", subject: "bet:the-betId" });
    const matched = (confirmed: boolean) =>
      seen(confirmed, { kind: "stake-differs", subject: "bet:the-txn-id" }, [
        "bet:the-txn-id",
        "bet:the-betId",
      ]);
    expect(decide([alone], [matched(false)])).toEqual([]);
    expect(decide([alone], [matched(true)])).toEqual(["open stake-differs", "resolve 1"]);
  });

  test("ends at once if nothing differs any more", () => {
    expect(decide([known()], [])).toEqual(["resolve 1"]);
  });

  test("reopens a former kind that comes back", () => {
    const former = known({ id: 2, kind: "status-differs", status: "resolved", resolvedBy: "recon" });
    expect(decide([known(), former], [seen(true, settled)])).toEqual(["reopen 2", "resolve 1"]);
  });

  test("leaves what a reviewer decided about the old kind", () => {
    for (const state of ["resolved by a reviewer", "ignored"] as const) {
      expect(decide(stateOf(state), [seen(true, settled)])).toEqual(["open status-differs", "cease 1"]);
    }
  });
});

test("an unconfirmed difference of one bet keeps no mismatch of another bet open", () => {
  const other = seen(false, { subject: "bet:bet-2" });
  expect(decide([known()], [other])).toEqual(["resolve 1"]);
});

test("the same kind of another subject is another mismatch", () => {
  expect(decide([known()], [seen(true), seen(true, { subject: "bet:bet-2" })])).toEqual([
    "refresh 1",
    "open payout-differs",
  ]);
});

describe("a reviewer's decision", () => {
  const decided = known({ status: "ignored", resolvedBy: "olga" });

  test("stays when the difference no longer holds, and the history says so once", () => {
    expect(decide([decided], [])).toEqual(["cease 1"]);
    expect(decide([{ ...decided, hasCeased: true }], [])).toEqual([]);
  });

  test("ends when the difference holds again after it did not, although its values are the same", () => {
    expect(decide([decided], [seen(true)])).toEqual([]);
    expect(decide([{ ...decided, hasCeased: true }], [seen(false)])).toEqual([]);
    expect(decide([{ ...decided, hasCeased: true }], [seen(true)])).toEqual(["reopen 1"]);
  });
});
