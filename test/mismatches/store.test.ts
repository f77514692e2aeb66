import { beforeEach, describe, expect, test } from "vitest";
import type { MismatchContent } from "../../src/mismatch.ts";
import { countOpenByProduct } from "../../src/mismatches/order-store.ts";
import {
  countByStatus,
  listMismatches,
  type MismatchFilter,
  readHistory,
  readKnown,
  readMismatch,
  type StoredMismatch,
} from "../../src/mismatches/store.ts";
import { writeTransitions } from "../../src/mismatches/transition-store.ts";
import type { Transition } from "../../src/mismatches/transitions.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { amount, MINUTE_MS, NOON } from "../support/examples.ts";
import { exampleFinding, exampleLedgerSide, exampleProviderSide } from "./findings.ts";

const { sql } = useDatabase();
const EVERYTHING: MismatchFilter = {
  statuses: ["open", "acknowledged", "resolved", "ignored"],
  kind: null,
  productId: null,
  username: null,
  limit: 100,
  after: null,
};

beforeEach(async () => {
  await emptyTables(sql, ["mismatches", "mismatch_events"]);
});

const write = (minutes: number, ...transitions: Transition[]) =>
  sql.begin((tx) => writeTransitions(tx, transitions, NOON + minutes * MINUTE_MS));
const open = (fields: Partial<MismatchContent> = {}): Transition => ({
  change: "open",
  content: exampleFinding(fields),
});
const list = async (filter: Partial<MismatchFilter> = {}) =>
  (await listMismatches(sql, { ...EVERYTHING, ...filter })).mismatches;
const readOnly = async (): Promise<StoredMismatch> => {
  const [only, ...others] = await list();
  expect(others).toEqual([]);
  return only as StoredMismatch;
};
/** Does what a command of a reviewer does. Only the effect matters here. */
const decideByHand = (status: string, by: string | null, at: number | null) =>
  sql`update mismatches set status = ${status}, resolved_by = ${by}, resolved_at = ${at}`;

test("a new mismatch is shown with every field, and null if a field does not apply", async () => {
  await write(0, open());
  expect(await readOnly()).toEqual({
    id: "1",
    kind: "payout-differs",
    status: "open",
    productId: "P1",
    username: "anna",
    currency: "THB",
    betId: "b-1",
    transactionId: "bet-1",
    roundId: "round-1",
    transactionRef: null,
    amountAtRisk: "5",
    effect: "-5",
    reason: "paid out 25.00 THB at the provider, 20.00 THB in the ledger",
    provider: exampleProviderSide(),
    ledger: exampleLedgerSide(),
    occurredAt: "2026-11-20T11:55:00.000Z",
    firstSeenAt: "2026-11-20T12:00:00.000Z",
    lastSeenAt: "2026-11-20T12:00:00.000Z",
    resolvedAt: null,
    resolvedBy: null,
    note: null,
    owner: null,
    ticket: null,
    withProvider: null,
    remindAt: null,
    otherCurrencies: [],
    countsAt: Date.parse("2026-11-20T11:59:00.000Z"),
  });
});

test("the JSON has the fields of each side, and null for a side without data", async () => {
  await write(0, open({ provider: null, betId: null, currency: null, roundId: null }));
  const { provider, ledger, betId, currency, roundId } = await readOnly();
  expect({ provider, betId, currency, roundId }).toEqual({
    provider: null,
    betId: null,
    currency: null,
    roundId: null,
  });
  expect(Object.keys(ledger ?? {}).sort()).toEqual(
    [
      "txnId",
      "status",
      "stake",
      "payout",
      "moved",
      "currency",
      "username",
      "firstEntryAt",
      "lastEntryAt",
    ].sort(),
  );
  await write(1, { change: "refresh", id: 1, content: exampleFinding({ ledger: null }) });
  const refreshed = await readOnly();
  expect(refreshed.ledger).toBeNull();
  expect(Object.keys(refreshed.provider ?? {}).sort()).toEqual(
    [
      "id",
      "betId",
      "status",
      "stake",
      "payout",
      "currency",
      "username",
      "updatedDate",
      "accountingDate",
    ].sort(),
  );
});

test("an amount keeps every digit, as plain decimal text", async () => {
  const risks = ["0.00000000000000000001", "123456789012345678901234567890.12", "0"];
  for (const [index, risk] of risks.entries()) {
    await write(0, open({ subject: `bet:${index}`, amountAtRisk: amount(risk) }));
  }
  expect((await list()).map(({ amountAtRisk }) => amountAtRisk)).toEqual(risks);
});

test("text from outside is read as it was written", async () => {
  const text = `'; drop table mismatches; -- "ไฮโล" \\ {}`;
  await write(
    0,
    open({
      reason: text,
      username: text,
      subject: `bet:${text}`,
      provider: exampleProviderSide({ id: text }),
    }),
  );
  expect(await readOnly()).toMatchObject({ reason: text, username: text, provider: { id: text } });
});

describe("the history of a mismatch keeps its life", () => {
  const history = async () =>
    (await readHistory(sql, "1")).map(({ at, fromStatus, toStatus, by, reason }) => ({
      at: at.slice(11, 16),
      change: `${fromStatus} -> ${toStatus} by ${by}`,
      reason,
    }));
  const content = exampleFinding({ reason: "first" });
  const other = exampleFinding({
    reason: "second",
    amountAtRisk: amount("7"),
    ledger: exampleLedgerSide({ payout: "18" }),
    provider: exampleProviderSide({ id: "rec-2" }),
    currency: "USD",
    betId: "b-2",
    transactionId: "bet-2",
    roundId: "round-2",
  });

  test("a comparison that finds the same difference takes new values, and adds no event", async () => {
    await write(0, { change: "open", content });
    await write(5, { change: "refresh", id: 1, content: other });
    expect(await readOnly()).toMatchObject({
      status: "open",
      reason: "second",
      amountAtRisk: "7",
      currency: "USD",
      betId: "b-2",
      transactionId: "bet-2",
      roundId: "round-2",
      provider: { id: "rec-2" },
      ledger: { payout: "18" },
      firstSeenAt: "2026-11-20T12:00:00.000Z",
      lastSeenAt: "2026-11-20T12:05:00.000Z",
    });
    expect(await history()).toEqual([{ at: "12:00", change: "null -> open by recon", reason: "first" }]);
  });

  test("an acknowledged mismatch stays acknowledged while comparisons find it", async () => {
    await write(0, { change: "open", content });
    await decideByHand("acknowledged", null, null);
    await write(5, { change: "refresh", id: 1, content: other });
    expect(await readOnly()).toMatchObject({ status: "acknowledged", reason: "second" });
  });

  test("a mismatch that no longer holds is resolved, with the values it had", async () => {
    await write(0, { change: "open", content });
    await write(5, { change: "resolve", id: 1 });
    expect(await readOnly()).toMatchObject({
      status: "resolved",
      resolvedBy: "recon",
      resolvedAt: "2026-11-20T12:05:00.000Z",
      lastSeenAt: "2026-11-20T12:00:00.000Z",
      reason: "first",
      amountAtRisk: "5",
    });
    expect((await history())[1]).toEqual({
      at: "12:05",
      change: "open -> resolved by recon",
      reason: "first",
    });
  });

  test("a mismatch that holds again is open again, with its whole history", async () => {
    await write(0, { change: "open", content });
    await write(5, { change: "resolve", id: 1 });
    await write(9, { change: "reopen", id: 1, content: other });
    expect(await readOnly()).toMatchObject({
      id: "1",
      status: "open",
      resolvedAt: null,
      resolvedBy: null,
      firstSeenAt: "2026-11-20T12:00:00.000Z",
      reason: "second",
    });
    expect(await history()).toEqual([
      { at: "12:00", change: "null -> open by recon", reason: "first" },
      { at: "12:05", change: "open -> resolved by recon", reason: "first" },
      { at: "12:09", change: "resolved -> open by recon", reason: "second" },
    ]);
  });

  test("each event keeps the values of its moment", async () => {
    await write(0, { change: "open", content });
    await write(5, { change: "refresh", id: 1, content: other }, { change: "resolve", id: 1 });
    const events = await sql`
      select amount_at_risk as risk, provider->>'id' as listed, ledger->>'payout' as paid from mismatch_events order by id`;
    expect([...events]).toEqual([
      { risk: "5", listed: "rec-1", paid: "20" },
      { risk: "7", listed: "rec-2", paid: "18" },
    ]);
  });

  test("a change of kind is written whole or not at all", async () => {
    await write(0, { change: "open", content });
    const twice = [open({ kind: "status-differs" }), { change: "resolve", id: 1 } as const, open()];
    await expect(write(5, ...twice)).rejects.toThrow("mismatches_identity");
    expect(await readOnly()).toMatchObject({ kind: "payout-differs", status: "open" });
    expect(await history()).toHaveLength(1);
  });
});

describe("what a comparison writes", () => {
  const content = exampleFinding();
  const writtenTimes = async () =>
    (await sql<{ xmin: string }[]>`select xmin::text as xmin from mismatches`).map(({ xmin }) => xmin);

  test("is nothing if a mismatch still holds unchanged, except when it was last seen, once an hour", async () => {
    await write(0, { change: "open", content });
    const before = await writtenTimes();
    expect(await write(59, { change: "refresh", id: 1, content })).toEqual([]);
    expect(await writtenTimes()).toEqual(before);
    expect(await write(60, { change: "refresh", id: 1, content })).toEqual([]);
    expect(await readOnly()).toMatchObject({ lastSeenAt: "2026-11-20T13:00:00.000Z", status: "open" });
    expect(await readHistory(sql, "1")).toHaveLength(1);
  });

  test("is returned: which mismatch changed how, with how much money", async () => {
    const other = exampleFinding({ subject: "bet:2", kind: "stake-differs", currency: "USD" });
    const written = {
      kind: "payout-differs",
      productId: "P1",
      currency: "THB",
      amount: "5",
      occurredAt: content.occurredAt,
    };
    expect(await write(0, { change: "open", content }, { change: "open", content: other })).toEqual([
      { ...written, id: 1, change: "open", at: NOON },
      { ...written, id: 2, change: "open", at: NOON, kind: "stake-differs", currency: "USD" },
    ]);
    const more = { ...content, amountAtRisk: amount("6.50") };
    const at = NOON + MINUTE_MS;
    expect(await write(1, { change: "refresh", id: 1, content: more }, { change: "resolve", id: 2 })).toEqual(
      [
        { ...written, id: 1, change: "refresh", at, amount: "6.5" },
        { ...written, id: 2, change: "resolve", at, kind: "stake-differs", currency: "USD" },
      ],
    );
    expect(
      await write(1, { change: "reopen", id: 2, content: { ...other, amountAtRisk: amount("7") } }),
    ).toEqual([
      { ...written, id: 2, change: "reopen", at, kind: "stake-differs", currency: "USD", amount: "7" },
    ]);
  });

  test("leaves out mismatches that a reviewer decided about meanwhile", async () => {
    await write(0, open({ subject: "bet:1" }), open({ subject: "bet:2" }), open({ subject: "bet:3" }));
    await sql`update mismatches set status = 'ignored', resolved_by = 'olga', note = 'known' where id <= 2`;
    expect(
      await write(
        1,
        { change: "resolve", id: 1 },
        { change: "refresh", id: 2, content: { ...content, reason: "changed" } },
        { change: "reopen", id: 3, content: { ...content, reason: "changed" } },
      ),
    ).toEqual([]);
    const rows = (await list()).map(({ status, resolvedBy, note, reason }) => [
      status,
      resolvedBy,
      note,
      reason,
    ]);
    expect(rows).toEqual([
      ["ignored", "olga", "known", content.reason],
      ["ignored", "olga", "known", content.reason],
      ["open", null, null, content.reason],
    ]);
  });

  test("keeps an earlier note, whatever it changes", async () => {
    await write(0, { change: "open", content });
    await sql`update mismatches set status = 'acknowledged', note = 'asked the provider'`;
    await write(1, { change: "refresh", id: 1, content: { ...content, reason: "changed" } });
    await write(2, { change: "resolve", id: 1 });
    await write(3, { change: "reopen", id: 1, content });
    expect(await readOnly()).toMatchObject({ status: "open", note: "asked the provider" });
  });

  test("is as many mismatches as it found, in their order", async () => {
    const subjects = Array.from({ length: 1000 }, (_, index) => `bet:${index}`);
    await write(0, ...subjects.map((subject) => open({ subject, transactionId: subject })));
    const listed = await list({ limit: 1000 });
    expect(listed.map(({ transactionId }) => transactionId)).toEqual(subjects);
    expect(await sql`select from mismatch_events`).toHaveLength(1000);
    expect(
      await write(1, ...listed.map(({ id }) => ({ change: "resolve", id: Number(id) }) as const)),
    ).toHaveLength(1000);
  });
});

test("the mismatches of subjects are found by product and player, whatever their status", async () => {
  await write(
    0,
    open(),
    open({ kind: "status-differs" }),
    open({ subject: "bet:bet-2" }),
    open({ username: "bob" }),
    open({ productId: "P2" }),
  );
  await write(1, { change: "resolve", id: 2 });
  const known = await sql.begin((tx) => readKnown(tx, "P1", "anna", ["bet:bet-1", "round:bet-2"]));
  expect([...known]).toEqual([
    {
      id: 1,
      username: "anna",
      subject: "bet:bet-1",
      kind: "payout-differs",
      status: "open",
      resolvedBy: null,
      hasCeased: false,
      provider: exampleProviderSide(),
      ledger: exampleLedgerSide(),
    },
    {
      id: 2,
      username: "anna",
      subject: "bet:bet-1",
      kind: "status-differs",
      status: "resolved",
      resolvedBy: "recon",
      hasCeased: false,
      provider: exampleProviderSide(),
      ledger: exampleLedgerSide(),
    },
  ]);
});

describe("the list", () => {
  beforeEach(async () => {
    await write(
      0,
      open({ subject: "bet:1" }),
      open({ subject: "bet:2", kind: "stake-differs" }),
      open({ subject: "bet:3", username: "bob" }),
      open({ subject: "bet:4", productId: "P2" }),
      open({ subject: "bet:5" }),
    );
    await write(1, { change: "resolve", id: 5 });
    await sql`update mismatches set status = 'acknowledged' where id = 2`;
    await sql`update mismatches set status = 'ignored' where id = 3`;
  });
  const idsOf = async (filter: Partial<MismatchFilter>) => (await list(filter)).map(({ id }) => id).join(" ");

  test.each<[string, Partial<MismatchFilter>, string]>([
    ["open and acknowledged mismatches, if no status is given", { statuses: [] }, "1 2 4"],
    ["one status", { statuses: ["resolved"] }, "5"],
    ["several statuses", { statuses: ["ignored", "acknowledged"] }, "2 3"],
    ["one kind", { kind: "stake-differs" }, "2"],
    ["one product", { productId: "P2" }, "4"],
    ["one player", { username: "bob" }, "3"],
    ["those first seen from a time on", { from: NOON + 1 }, ""],
    ["those first seen at exactly that time", { from: NOON }, "1 2 3 4 5"],
    ["those first seen before a time", { to: NOON }, ""],
    ["those first seen before a later time", { to: NOON + 1 }, "1 2 3 4 5"],
    ["those with so much at risk", { minAmount: "5.00" }, "1 2 3 4 5"],
    ["those with more at risk", { minAmount: "5.0000000000000000001" }, ""],
    ["several filters at once", { kind: "payout-differs", productId: "P1", username: "anna" }, "1 5"],
    ["nothing, if nothing matches", { kind: "stake-differs", username: "bob" }, ""],
  ])("shows %s", async (_, filter, expected) => {
    expect(await idsOf(filter)).toBe(expected);
  });

  test("continues after a page although mismatches on the page have changed meanwhile", async () => {
    const open = { ...EVERYTHING, statuses: [], limit: 1 };
    const { next } = await listMismatches(sql, open);
    await write(2, { change: "resolve", id: 1 });
    expect((await listMismatches(sql, { ...open, after: next })).mismatches).toMatchObject([{ id: "2" }]);
  });

  test("is counted by status, with 0 if there is none", async () => {
    expect(await countByStatus(sql)).toEqual({ open: 2, acknowledged: 1, resolved: 1, ignored: 1 });
    await emptyTables(sql, ["mismatches", "mismatch_events"]);
    expect(await countByStatus(sql)).toEqual({ open: 0, acknowledged: 0, resolved: 0, ignored: 0 });
  });

  test("is counted by product, as far as mismatches need attention", async () => {
    expect(await countOpenByProduct(sql)).toEqual(
      new Map([
        ["P1", 2],
        ["P2", 1],
      ]),
    );
  });
});

test("a mismatch is found by its id, and a malformed id finds nothing", async () => {
  await write(0, open());
  expect(await readMismatch(sql, "1")).toEqual(await readOnly());
  for (const id of ["2", "0", "-1", "1.5", "one", "", "9".repeat(30)])
    expect(await readMismatch(sql, id)).toBeNull();
});
