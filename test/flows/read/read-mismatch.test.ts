import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { readMismatchStory } from "../../../src/flows/read/read-mismatch.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { silentLog } from "../../../src/log.ts";
import type { MismatchContent } from "../../../src/mismatch.ts";
import { writeTransitions } from "../../../src/mismatches/transition-store.ts";
import { writeRecords } from "../../../src/sync/record-store.ts";
import type { WindowKind } from "../../../src/sync/window-store.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import {
  amount,
  exampleEntry,
  exampleRecord,
  exampleSettle,
  MINUTE_MS,
  NOON,
} from "../../support/examples.ts";
import { exampleFinding, LEDGER_SIDE, PROVIDER_SIDE } from "../../support/findings.ts";

const { sql } = useDatabase();
const config = parseConfig({ products: [{ productId: "P1" }] });
const context = { sql, config, clock: createTestClock(NOON), log: silentLog };

beforeEach(async () => {
  await emptyTables(sql);
});

const hear = (...entries: CallbackEntry[]) => appendEntries(sql, entries);
const fetch = (record: BetRecord, seenAt: number) =>
  sql.begin((tx) => writeRecords(tx, record.productId, [record], { requestedAt: seenAt, now: seenAt }));
const timelineOf = async (fields: Partial<MismatchContent> = {}) => {
  await writeTransitions(sql, [{ change: "open", content: exampleFinding(fields) }], NOON);
  return (await readMismatchStory(context, "1")).timeline;
};
const said = (timeline: Awaited<ReturnType<typeof timelineOf>>) =>
  timeline.map(({ at, side, what, id }) => `${at.slice(11, 16)} ${side} ${what} ${id}`);

test("callback entries and record versions stand in one order of time, each with its content", async () => {
  await hear(exampleEntry({ requestId: "q-1", moved: amount("-10") }));
  await fetch(
    exampleRecord({ betStatus: "OPEN", updatedDate: "2026-11-20T11:55:30Z" }),
    NOON - 3 * MINUTE_MS,
  );
  await hear(exampleSettle({ requestId: "q-2", payoutAmount: amount("25.5"), receivedAt: NOON }));
  await fetch(exampleRecord({ payout: amount("30"), updatedDate: "2026-11-20T11:57:00Z" }), NOON);
  const timeline = await timelineOf();
  expect(said(timeline)).toEqual([
    "11:55 ledger placeBets OPEN bet-1",
    "11:55 provider record OPEN rec-1",
    "11:56 ledger settleBets SETTLED bet-1",
    "11:57 provider record SETTLED rec-1",
  ]);
  expect(timeline[1]).toEqual({
    at: "2026-11-20T11:55:30.000Z",
    seenAt: "2026-11-20T11:57:00.000Z",
    side: "provider",
    what: "record OPEN",
    id: "rec-1",
    betId: "bet-1",
    roundId: "round-1",
    username: "anna",
    currency: "THB",
    stake: "10",
    payout: "0",
    moved: null,
    balanceBefore: null,
    balanceAfter: null,
    requestId: null,
    replacedAt: "2026-11-20T12:00:00.000Z",
  });
  expect(timeline[0]).toMatchObject({
    stake: "10",
    payout: null,
    moved: "-10",
    requestId: "q-1",
    replacedAt: null,
  });
  expect(timeline[2]).toMatchObject({ payout: "25.5", moved: null, seenAt: "2026-11-20T12:00:00.000Z" });
});

describe("the reports shown with a mismatch", () => {
  beforeEach(async () => {
    await hear(
      exampleEntry(),
      exampleEntry({ txnId: "bet-2", occurredAt: NOON }),
      exampleEntry({
        txnId: "bet-3",
        callback: "cancelBets",
        transactionType: "BY_ROUND",
        occurredAt: NOON + 1,
      }),
      exampleEntry({ roundId: "round-2", txnId: "bet-9" }),
      exampleEntry({ username: "bo" }),
      exampleEntry({ productId: "P2" }),
    );
    await fetch(exampleRecord(), NOON);
    await fetch(exampleRecord({ betId: "bet-2", id: "rec-2" }), NOON);
    await fetch(exampleRecord({ username: "bo", id: "rec-bo" }), NOON);
  });

  test("of a bet are those about the bet, or about its whole round", async () => {
    expect(said(await timelineOf())).toEqual([
      "11:55 ledger placeBets OPEN bet-1",
      "11:59 provider record SETTLED rec-1",
      "12:00 ledger cancelBets OPEN BY_ROUND bet-3",
    ]);
  });

  test("of a round are those about the round", async () => {
    const round = {
      kind: "round-differs",
      subject: "round:round-1",
      betId: null,
      transactionId: null,
      provider: { ...PROVIDER_SIDE, id: null, betId: null },
      ledger: { ...LEDGER_SIDE, txnId: null },
    } as const;
    expect(said(await timelineOf(round)).map((line) => line.split(" ").at(-1))).toEqual([
      "bet-1",
      "rec-1",
      "rec-2",
      "bet-2",
      "bet-3",
    ]);
  });

  test("of a bet that another player has at the provider are those under both names", async () => {
    const other = {
      kind: "username-differs",
      provider: { ...PROVIDER_SIDE, username: "bo", id: "rec-bo" },
    } as const;
    expect(said(await timelineOf(other))).toContain("11:59 provider record SETTLED rec-bo");
  });

  test("of a session are those of its time", async () => {
    const adjust = { callback: "adjustBalance", roundId: null } as const;
    await hear(
      exampleEntry({ ...adjust, txnId: "ref-1", status: "DEBIT", occurredAt: NOON + 10 * MINUTE_MS }),
      exampleEntry({ ...adjust, txnId: "ref-2", status: "CREDIT", occurredAt: NOON + 20 * MINUTE_MS }),
      exampleEntry({ ...adjust, txnId: "ref-3", status: "DEBIT", occurredAt: NOON + 30 * MINUTE_MS }),
    );
    const session = {
      kind: "session-differs",
      betId: null,
      transactionId: null,
      roundId: null,
      provider: null,
      ledger: {
        ...LEDGER_SIDE,
        txnId: null,
        firstEntryAt: new Date(NOON + 10 * MINUTE_MS).toISOString(),
        lastEntryAt: new Date(NOON + 20 * MINUTE_MS).toISOString(),
      },
    } as const;
    expect(said(await timelineOf(session))).toEqual([
      "12:10 ledger adjustBalance DEBIT ref-1",
      "12:20 ledger adjustBalance CREDIT ref-2",
    ]);
  });

  test("of a transfer are none", async () => {
    expect(await timelineOf({ kind: "transfer-differs", transactionRef: "T-1" })).toEqual([]);
  });
});

describe("the fetches shown with a mismatch", () => {
  const fetched = async (kind: WindowKind, from: string, to: string, at: string) => {
    const day = (time: string) => Date.parse(`2026-11-20T${time}:00Z`);
    await sql`
      insert into windows (product_id, kind, from_at, to_at, status, started_at, fetched_at, records)
      values ('P1', ${kind}, ${day(from)}, ${day(to)}, 'done', ${day(at)}, ${day(at) + MINUTE_MS}, 3)`;
  };
  const fetchesOf = async (fields: Partial<MismatchContent> = {}) => {
    await writeTransitions(sql, [{ change: "open", content: exampleFinding(fields) }], NOON);
    const { fetches } = await readMismatchStory(context, "1");
    return fetches.map(
      ({ kind, from, to, startedAt, isLateEnough }) =>
        `${kind} ${from.slice(11, 16)}-${to.slice(11, 16)} at ${startedAt.slice(11, 16)}${isLateEnough ? " confirms" : ""}`,
    );
  };

  test("are those of its callbacks' time and its record's dates, the latest first; a fetch that began too early confirms nothing", async () => {
    await hear(exampleEntry(), exampleSettle());
    await fetched("live", "11:00", "12:00", "12:03");
    await fetched("confirm", "11:00", "12:00", "12:56");
    await fetched("confirm", "12:00", "12:30", "12:55");
    await fetched("resweep", "10:00", "11:00", "13:30");
    await fetched("resweep", "12:56", "13:30", "13:40");
    await sql`insert into windows (product_id, kind, from_at, to_at, status) values ('P1', 'live', ${NOON}, ${NOON + 1}, 'planned')`;
    expect(await fetchesOf()).toEqual([
      "confirm 11:00-12:00 at 12:56 confirms",
      "confirm 12:00-12:30 at 12:55",
      "live 11:00-12:00 at 12:03",
    ]);
  });

  test("of a bet without callbacks are those of its record's dates", async () => {
    await fetched("live", "11:00", "11:59", "12:03");
    await fetched("backfill", "11:59", "12:00", "15:00");
    await fetched("live", "12:00", "12:30", "12:40");
    expect(await fetchesOf({ kind: "missing-in-ledger", ledger: null })).toEqual([
      "backfill 11:59-12:00 at 15:00 confirms",
      "live 11:00-11:59 at 12:03 confirms",
    ]);
  });

  test("have their number of records; a transfer has no fetches", async () => {
    await fetched("live", "11:00", "12:00", "12:03");
    await writeTransitions(sql, [{ change: "open", content: exampleFinding() }], NOON);
    expect((await readMismatchStory(context, "1")).fetches).toEqual([
      {
        kind: "live",
        from: "2026-11-20T11:00:00.000Z",
        to: "2026-11-20T12:00:00.000Z",
        startedAt: "2026-11-20T12:03:00.000Z",
        fetchedAt: "2026-11-20T12:04:00.000Z",
        records: 3,
        isLateEnough: true,
      },
    ]);
    const transfer = exampleFinding({ betId: "T", kind: "transfer-differs", transactionRef: "T-1" });
    await writeTransitions(sql, [{ change: "open", content: transfer }], NOON);
    expect((await readMismatchStory(context, "2")).fetches).toEqual([]);
  });
});

test.each(["2", "0", "none", "9".repeat(30)])("mismatch %s does not exist", async (id) => {
  await expect(readMismatchStory(context, id)).rejects.toMatchObject({
    code: "not-found",
    message: `there is no mismatch "${id}"`,
  });
});
