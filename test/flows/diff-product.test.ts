import { beforeEach, describe, expect, test } from "vitest";
import type { BetRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import type { Instant } from "../../src/clock.ts";
import { parseConfig } from "../../src/config.ts";
import type { Query, Sql } from "../../src/db/client.ts";
import { type DiffResult, diffProduct } from "../../src/flows/diff-product.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { listMismatches, readHistory } from "../../src/mismatches/store.ts";
import { writeRecords, writeRejected } from "../../src/sync/record-store.ts";
import { advanceWindow, leaseNextWindow, planWindows, recordGap } from "../../src/sync/store.ts";
import type { TimeRange } from "../../src/window.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import {
  amount,
  exampleEntry,
  exampleRecord,
  exampleSettle,
  HOUR_MS,
  MINUTE_MS,
  NOON,
} from "../support/examples.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
/** The graces of the defaults: 15 minutes for callbacks, an hour for the provider, 5 minutes of overlap. */
const PRODUCTS = [{ productId: "P1" }, { productId: "P2" }, { productId: "SINGLE", singleState: true }];

beforeEach(async () => {
  await sql`truncate windows, bet_records, rejected_records, bet_record_versions, callback_entries, diff_marks, mismatches, mismatch_events
    restart identity`;
  clock.set(NOON);
});

const minute = (minutes: number): Instant => NOON + minutes * MINUTE_MS;
const iso = (minutes: number) => new Date(minute(minutes)).toISOString();

interface DiffOptions {
  readonly product?: string;
  readonly through?: Sql;
  readonly settings?: Record<string, unknown>;
  readonly signal?: AbortSignal;
}

async function diff({
  product = "P1",
  through = sql,
  settings = {},
  signal,
}: DiffOptions = {}): Promise<DiffResult> {
  const config = parseConfig({ products: PRODUCTS, ...settings });
  const context = { sql: through, config, clock, log: silentLog };
  return await diffProduct(context, product, signal ?? new AbortController().signal);
}

async function diffAt(minutes: number, options: DiffOptions = {}): Promise<DiffResult> {
  clock.set(minute(minutes));
  return await diff(options);
}

async function receive(...entries: CallbackEntry[]): Promise<void> {
  await appendEntries(sql, entries, clock.now());
}

/** A page of one window, asked for now. */
async function listed(...records: BetRecord[]): Promise<void> {
  const times = { requestedAt: clock.now(), now: clock.now() };
  for (const [productId, ofProduct] of Map.groupBy(records, (record) => record.productId)) {
    await sql.begin((tx) => writeRecords(tx, productId, ofProduct, times));
  }
}

/** Fetches what is planned, now; the ranges of which `isGap` holds cannot be fetched. */
async function fetchPlanned(isGap: (range: TimeRange) => boolean = () => false): Promise<TimeRange[]> {
  const fetched: TimeRange[] = [];
  for (;;) {
    const window = await leaseNextWindow(sql, "P1", clock.now());
    if (window === null) return fetched;
    if (isGap(window)) {
      const nextAttemptAt = clock.now() + MINUTE_MS;
      await recordGap(sql, window, { code: "provider-timeout", message: "too slow", nextAttemptAt });
      continue;
    }
    const counts = { records: 0, created: 0, changed: 0, unchanged: 0, rejected: 0, outOfRange: 0 };
    const page = { nextId: null, startedAt: clock.now(), now: clock.now(), counts };
    await sql.begin((tx) => advanceWindow(tx, window, page));
    fetched.push({ from: window.from, to: window.to });
  }
}

/** Fetches a range once, as live pulling does. */
async function fetchRange(from: Instant, to: Instant): Promise<void> {
  await planWindows(sql, "P1", "live", [{ from, to }]);
  await fetchPlanned();
}

async function readAll() {
  const filter = { kind: null, productId: null, username: null, limit: 1000, after: null };
  const statuses = ["open", "acknowledged", "resolved", "ignored"] as const;
  return (await listMismatches(sql, { ...filter, statuses })).mismatches;
}

/** Every mismatch there ever was: "payout-differs of bet-1 is open". */
async function mismatches(): Promise<string[]> {
  const all = await readAll();
  return all
    .map((one) => `${one.kind} of ${one.transactionId ?? one.betId ?? one.roundId} is ${one.status}`)
    .sort();
}

async function changesOf(id: string): Promise<string[]> {
  return (await readHistory(sql, id)).map(({ fromStatus, toStatus }) => `${fromStatus} -> ${toStatus}`);
}

/** Another bet, long before, so that the ledger has begun. */
const ledgerBegins = () => {
  const at = { occurredAt: NOON - 30 * 24 * HOUR_MS, receivedAt: NOON - 30 * 24 * HOUR_MS };
  return receive(exampleEntry({ username: "zoe", txnId: "long-ago", roundId: "long-ago", ...at }));
};

/** A bet that was placed at 11:55 and settled at 11:56, as the operator heard of it. */
const callbacksOf = (payout: string, fields: Partial<CallbackEntry> = {}): CallbackEntry[] => [
  exampleEntry(fields),
  exampleSettle({ payoutAmount: amount(payout), ...fields }),
];
/** The same bet as the provider lists it. */
const recordOf = (payout: string, fields: Partial<BetRecord> = {}): BetRecord =>
  exampleRecord({ payout: amount(payout), ...fields });

describe("a bet without callbacks", () => {
  beforeEach(ledgerBegins);

  test("is no mismatch before the callbacks' grace is over", async () => {
    await listed(recordOf("25"));
    for (const minutes of [0, 5, 14, 15 - 1 / 60_000]) {
      await diffAt(minutes);
      expect(await mismatches()).toEqual([]);
    }
    await diffAt(15);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({ amountAtRisk: "15", firstSeenAt: iso(15) });
  });

  test("is no mismatch, ever, where its callbacks come within that grace", async () => {
    await listed(recordOf("25"));
    await diffAt(14);
    await receive(...callbacksOf("25"));
    await diffAt(15);
    await diffAt(200);
    expect(await mismatches()).toEqual([]);
  });

  test("has its grace again when the provider changes its mind", async () => {
    await listed(recordOf("25"));
    clock.set(minute(10));
    await listed(recordOf("26", { updatedDate: iso(9) }));
    await diffAt(24);
    expect(await mismatches()).toEqual([]);
    await diffAt(25);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
  });

  test("is resolved by callbacks that come later still", async () => {
    await listed(recordOf("25"));
    await diffAt(15);
    await receive(...callbacksOf("25"));
    await diffAt(16);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is resolved"]);
    expect((await readAll())[0]).toMatchObject({ resolvedBy: "recon", resolvedAt: iso(16) });
    expect(await changesOf("1")).toEqual(["null -> open", "open -> resolved"]);
  });

  test("is no mismatch where it is void", async () => {
    await listed(recordOf("0", { betStatus: "VOID" }));
    await diffAt(60);
    expect(await mismatches()).toEqual([]);
  });
});

describe("a bet without a record", () => {
  /** Received at 11:56, so that the provider is asked again from 12:56 on, from 11:50 to 12:56. */
  beforeEach(() => receive(...callbacksOf("25")));

  test("is a mismatch once a late fetch of all its time has not brought it", async () => {
    expect(await diffAt(55)).toMatchObject({ wantsFetch: false });
    expect(await fetchPlanned()).toEqual([]);
    expect(await diffAt(56)).toMatchObject({ wantsFetch: true });
    expect(await mismatches()).toEqual([]);
    expect(await fetchPlanned()).toEqual([
      { from: minute(-60), to: minute(0) },
      { from: minute(0), to: minute(56) },
    ]);
    await diffAt(57);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({ amountAtRisk: "15", provider: null });
  });

  test("is no mismatch where the late fetch brings it", async () => {
    await diffAt(56);
    await listed(recordOf("25"));
    await fetchPlanned();
    await diffAt(57);
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("is no mismatch while a part of its time is a gap", async () => {
    await diffAt(56);
    await fetchPlanned(({ from }) => from < NOON);
    for (const minutes of [57, 120, 1000]) {
      await diffAt(minutes);
      expect(await mismatches()).toEqual([]);
    }
    await fetchPlanned();
    await diffAt(1001);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test.each([
    { name: "that began too early", from: -60, to: 60, at: 55 },
    { name: "that lacks its beginning", from: -9, to: 60, at: 56 },
    { name: "that lacks its end", from: -60, to: 55, at: 56 },
  ])("is no mismatch after a fetch $name", async ({ from, to, at }) => {
    clock.set(minute(at));
    await fetchRange(minute(from), minute(to));
    await diffAt(56);
    expect(await mismatches()).toEqual([]);
  });

  test("needs no fetch of its own where any other was late enough", async () => {
    clock.set(minute(56));
    await fetchRange(minute(-10), minute(20));
    await fetchRange(minute(20), minute(56));
    expect(await diff()).toMatchObject({ wantsFetch: false });
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("asks for one fetch, however often it is looked at", async () => {
    for (const minutes of [56, 56.1, 56.2]) {
      await receive(exampleEntry({ username: "bob" }));
      await diffAt(minutes);
    }
    const hours = (await fetchPlanned()).map(({ from }) => from);
    expect(hours.filter((from) => from === minute(-60))).toHaveLength(1);
  });

  test("is resolved by a record that comes later still", async () => {
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    await listed(recordOf("25"));
    await diffAt(58);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is resolved"]);
  });

  test.each([
    { name: "as text", raw: '{"id":"rec-1","betId":"bet-1","username":"anna","stake":"ten"}' },
    { name: "as a number", raw: '{"id":7,"betId":77,"username":"anna","stake":null}', txnId: "77" },
  ])("is no mismatch where a record that cannot be used names it $name", async ({ raw, txnId = "bet-1" }) => {
    await sql`update callback_entries set txn_id = ${txnId}`;
    await diffAt(56);
    await sql.begin((tx) =>
      writeRejected(tx, "P1", [{ raw, reason: "stake must be a number" }], clock.now()),
    );
    await fetchPlanned();
    await diffAt(57);
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("is a mismatch although records of others cannot be used", async () => {
    const ofOthers = [
      '{"betId":"bet-11","username":"anna"}',
      '{"betId":"bet-1","username":"bob"}',
      '"\\u0000"',
      "undefined",
    ];
    const rejected = ofOthers.map((raw) => ({ raw, reason: "unusable" }));
    await sql.begin((tx) => writeRejected(tx, "P1", rejected, clock.now()));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["missing-at-provider of bet-1 is open"]);
  });

  test("is no mismatch while it is open", async () => {
    await sql`delete from callback_entries where callback = 'settleBets'`;
    await diffAt(56);
    await fetchPlanned();
    await diffAt(120);
    expect(await mismatches()).toEqual([]);
  });
});

describe("a bet without a record in a round that goes on", () => {
  const ofSecond = { txnId: "bet-2" };
  const settledAt = (minutes: number): CallbackEntry =>
    exampleSettle({ ...ofSecond, occurredAt: minute(minutes), receivedAt: minute(minutes) });

  test("waits for the end of the round, and for the record that this end may bring", async () => {
    await receive(...callbacksOf("0"), exampleEntry(ofSecond));
    await diffAt(90);
    await fetchRange(minute(-60), minute(90));
    await diffAt(100);
    await receive(settledAt(100));
    await diffAt(101);
    await diffAt(130);
    expect(await mismatches()).toEqual([]);
    await listed(recordOf("0", { stake: amount("20"), updatedDate: iso(130), accountingDate: iso(100) }));
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("is a mismatch when the time after that end has passed too", async () => {
    await receive(...callbacksOf("0"), exampleEntry(ofSecond));
    clock.set(minute(100));
    await receive(settledAt(100));
    await diffAt(160);
    await fetchPlanned();
    await diffAt(161);
    expect(await mismatches()).toEqual([
      "missing-at-provider of bet-1 is open",
      "missing-at-provider of bet-2 is open",
    ]);
  });

  test("stays in the list when another bet of the round begins", async () => {
    await receive(...callbacksOf("0"));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    await receive(exampleEntry({ ...ofSecond, occurredAt: minute(57), receivedAt: minute(57) }));
    await diffAt(58);
    expect(await changesOf("1")).toEqual(["null -> open"]);
  });
});

describe("a bet that both sides have", () => {
  test("differs once the callbacks' grace is over, where our copy of the record is fresh", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(14);
    expect(await mismatches()).toEqual([]);
    await diffAt(15);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    expect((await readAll())[0]).toMatchObject({
      amountAtRisk: "5",
      provider: { payout: "25" },
      ledger: { payout: "20", moved: "10" },
    });
  });

  test("does not differ where the record is older than the bet's last entry, and changes with a late fetch", async () => {
    await receive(...callbacksOf("20"));
    const open = { betStatus: "OPEN", updatedDate: iso(-5), accountingDate: iso(-5) } as const;
    await listed(recordOf("0", open));
    await diffAt(55);
    expect(await fetchPlanned()).toEqual([]);
    await diffAt(56);
    expect(await mismatches()).toEqual([]);
    await listed(recordOf("20", { updatedDate: iso(-4) }));
    await fetchPlanned();
    await diffAt(57);
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("differs where a late fetch did not change the record either", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("0", { betStatus: "OPEN", updatedDate: iso(-5), accountingDate: iso(-5) }));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["status-differs of bet-1 is open"]);
  });

  test("is not fetched again and again because its record is dated ahead of time", async () => {
    await receive(exampleEntry());
    await listed(
      recordOf("0", {
        betStatus: "OPEN",
        stake: amount("11"),
        updatedDate: iso(-6),
        accountingDate: iso(9000),
      }),
    );
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["stake-differs of bet-1 is open"]);
    await diffAt(58);
    expect(await fetchPlanned()).toEqual([]);
  });

  test.each(["9999-12-31T23:59:59.9999999Z", "0001-01-01T00:00:00+07:00", "0001-01-01T00:00:00Z"])(
    "is compared although its record is dated %s, as if it had no date",
    async (accountingDate) => {
      await listed(recordOf("25", { accountingDate }));
      await receive(...callbacksOf("20", { receivedAt: minute(1) }));
      await diffAt(61);
      expect((await fetchPlanned()).length).toBeLessThan(5);
      await diffAt(62);
      expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    },
  );

  test("ends as a mismatch when it agrees, and begins again with its history when it differs again", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(15);
    await listed(recordOf("20", { updatedDate: iso(14) }));
    await diffAt(16);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is resolved"]);
    clock.set(minute(20));
    await listed(recordOf("25", { updatedDate: iso(19) }));
    await diffAt(34);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is resolved"]);
    await diffAt(35);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
    expect(await changesOf("1")).toEqual(["null -> open", "open -> resolved", "resolved -> open"]);
  });

  test("stays as a person left it until a compared value changes", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(15);
    await sql`update mismatches set status = 'ignored', resolved_by = 'olga'`;
    clock.set(minute(20));
    await listed(recordOf("25", { updatedDate: iso(19), gameName: "renamed" }));
    await diffAt(100);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is ignored"]);
    await listed(recordOf("26", { updatedDate: iso(99) }));
    await diffAt(200);
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is open"]);
  });
});

describe("a mismatch whose kind changes", () => {
  test("is replaced in one look when the new kind is certain, and never missing from the list before", async () => {
    await ledgerBegins();
    await listed(recordOf("25", { id: "t1", betId: "b1" }));
    await diffAt(15);
    await receive(...callbacksOf("20", { txnId: "t1", occurredAt: minute(-4), receivedAt: minute(16) }));
    for (const minutes of [16, 20, 30]) {
      await diffAt(minutes);
      expect(await mismatches()).toEqual(["missing-in-ledger of b1 is open"]);
    }
    clock.set(minute(31));
    await fetchRange(minute(-60), minute(30));
    await diffAt(32);
    expect(await mismatches()).toEqual([
      "missing-in-ledger of b1 is resolved",
      "payout-differs of t1 is open",
    ]);
    const [first, second] = await readAll();
    expect(first?.resolvedAt).toBe(second?.firstSeenAt);
  });

  test("is replaced by the mismatch of its round where only their sums can be compared", async () => {
    await receive(...callbacksOf("0", { txnId: "t1" }));
    await diffAt(56);
    await fetchPlanned();
    await diffAt(57);
    expect(await mismatches()).toEqual(["missing-at-provider of t1 is open"]);
    await listed(
      recordOf("3", { id: "other", betId: "other", updatedDate: iso(57), accountingDate: iso(57) }),
    );
    await diffAt(58);
    expect(await mismatches()).toEqual(["missing-at-provider of t1 is open"]);
    await diffAt(73);
    await fetchPlanned();
    await diffAt(74);
    expect(await mismatches()).toEqual([
      "missing-at-provider of t1 is resolved",
      "round-differs of round-1 is open",
    ]);
  });
});

describe("the same world ends in the same list", () => {
  const bet = (name: string, fields: Partial<CallbackEntry> = {}) => ({
    txnId: name,
    roundId: `round-${name}`,
    ...fields,
  });
  const row = (name: string, fields: Partial<BetRecord> = {}) => ({
    betId: name,
    id: `r-${name}`,
    roundId: `round-${name}`,
    ...fields,
  });
  const entries: CallbackEntry[] = [
    ...callbacksOf("7", bet("agrees")),
    ...callbacksOf("7", bet("pays-less")),
    ...callbacksOf("7", bet("unlisted")),
    exampleEntry(bet("unsettled")),
    exampleEntry(bet("void")),
    exampleEntry(
      bet("void", {
        callback: "cancelBets",
        status: "REFUND",
        betAmount: null,
        occurredAt: minute(-4),
        receivedAt: minute(-4),
      }),
    ),
    ...callbacksOf("7", bet("in-dollars", { currency: "USD" })),
    ...callbacksOf("7", bet("of-round", { roundId: "shared" })),
    exampleEntry(bet("tip", { callback: "placeTips", status: "TIPS", roundId: "shared" })),
  ];
  const records: BetRecord[] = [
    recordOf("7", row("agrees")),
    recordOf("8", row("pays-less")),
    recordOf("7", row("unknown")),
    recordOf("7", row("unsettled")),
    recordOf("7", row("void")),
    recordOf("7", row("in-dollars")),
    recordOf("7", row("nobody", { roundId: "shared", stake: amount("11") })),
  ];
  const sides: Record<string, (() => Promise<void>)[]> = {
    "entries first": [() => receive(...entries), () => listed(...records)],
    "records first": [() => listed(...records), () => receive(...entries)],
    "one by one": [...entries.map((one) => () => receive(one)), ...records.map((one) => () => listed(one))],
    "one by one, backwards": [
      ...records.map((one) => () => listed(one)),
      ...entries.toReversed().map((one) => () => receive(one)),
    ],
  };

  test.each(Object.entries(sides))("%s", async (_, steps) => {
    for (const [index, step] of steps.entries()) {
      await step();
      await diffAt(index / 10);
    }
    for (const minutes of [20, 61, 62]) {
      await diffAt(minutes);
      await fetchPlanned();
    }
    await diffAt(63);
    expect(await mismatches()).toEqual([
      "currency-differs of in-dollars is open",
      "missing-at-provider of unlisted is open",
      "missing-in-ledger of unknown is open",
      "missing-settlement of unsettled is open",
      "payout-differs of pays-less is open",
      "round-differs of shared is open",
      "status-differs of void is open",
    ]);
  });
});

describe("nobody else's bets disturb", () => {
  test("the same ids of other players and products are other bets", async () => {
    await receive(
      ...callbacksOf("1"),
      ...callbacksOf("2", { username: "bob" }),
      ...callbacksOf("3", { productId: "P2" }),
      ...callbacksOf("4", { productId: "nobody knows" }),
    );
    await listed(recordOf("1"), recordOf("2", { username: "bob" }), recordOf("3", { productId: "P2" }));
    await diffAt(300);
    await diffAt(300, { product: "P2" });
    expect(await mismatches()).toEqual([]);
  });

  test("each has mismatches of its own under the same ids", async () => {
    await receive(
      ...callbacksOf("1"),
      ...callbacksOf("1", { username: "bob" }),
      ...callbacksOf("1", { productId: "P2" }),
    );
    await listed(recordOf("2"), recordOf("2", { username: "bob" }), recordOf("2", { productId: "P2" }));
    await diffAt(15);
    await diffAt(15, { product: "P2" });
    expect((await readAll()).map(({ productId, username }) => `${productId} ${username}`).sort()).toEqual([
      "P1 anna",
      "P1 bob",
      "P2 anna",
    ]);
    await listed(recordOf("1", { updatedDate: iso(14) }));
    await diffAt(16);
    expect((await readAll()).map(({ status }) => status).sort()).toEqual(["open", "open", "resolved"]);
  });

  test("money taken along into a game is no bet", async () => {
    await receive(
      exampleEntry({ callback: "adjustBalance", status: "DEBIT", txnId: "ref-1", roundId: null }),
    );
    expect(await diff()).toMatchObject({ looked: 0 });
    await receive(
      exampleEntry({ callback: "adjustBalance", status: "CREDIT", txnId: "bet-1", roundId: null }),
      ...callbacksOf("1"),
    );
    await listed(recordOf("1"));
    for (const minutes of [1, 61, 62, 300]) {
      await diffAt(minutes);
      await fetchPlanned();
    }
    expect(await mismatches()).toEqual([]);
  });

  test("products whose bets are not compared are left alone", async () => {
    const settings = {
      products: [
        { productId: "P1", walletMode: "transfer" },
        { productId: "P2", settlement: "session" },
      ],
    };
    await ledgerBegins();
    await listed(recordOf("1"), recordOf("1", { productId: "P2" }));
    expect(await diffAt(300, { settings })).toEqual({ looked: 0, wantsFetch: false });
    expect(await diffAt(300, { settings, product: "P2" })).toEqual({ looked: 0, wantsFetch: false });
    expect(await mismatches()).toEqual([]);
  });
});

describe("where the ledger begins", () => {
  test("nothing is compared while it is empty, and nothing is forgotten", async () => {
    await listed(recordOf("25"));
    expect(await diffAt(500)).toMatchObject({ looked: 0 });
    await ledgerBegins();
    await diffAt(501);
    expect(await mismatches()).toEqual(["missing-in-ledger of bet-1 is open"]);
  });

  test("what the provider accounted before its first entry is not missing", async () => {
    await receive(exampleEntry({ username: "zoe", occurredAt: minute(-1), receivedAt: minute(-1) }));
    await listed(
      recordOf("25", { accountingDate: iso(-1.01) }),
      recordOf("25", { betId: "later", accountingDate: iso(-1) }),
    );
    await diffAt(60);
    expect(await mismatches()).toEqual(["missing-in-ledger of later is open"]);
  });

  test("what ended before the day it is set to is not compared, whichever side has it", async () => {
    const settings = { ledger: { since: iso(0) } };
    const running = { txnId: "running", roundId: "round-2" };
    await receive(
      ...callbacksOf("1"),
      exampleEntry(running),
      exampleSettle({ ...running, occurredAt: minute(0), receivedAt: minute(0) }),
    );
    for (const minutes of [59, 60, 61]) {
      await diffAt(minutes, { settings });
      await fetchPlanned();
    }
    await diffAt(62, { settings });
    expect(await mismatches()).toEqual(["missing-at-provider of running is open"]);
  });

  test("a settlement that needs no placement has a stake from the first day on", async () => {
    const single = { productId: "SINGLE" };
    await receive(exampleSettle({ ...single, betAmount: amount("10"), payoutAmount: amount("3") }));
    await listed(recordOf("3", { ...single, stake: amount("9") }));
    await diffAt(15, { product: "SINGLE" });
    expect(await mismatches()).toEqual(["stake-differs of bet-1 is open"]);
  });
});

describe("a look", () => {
  test("of several at once opens each mismatch once", async () => {
    await ledgerBegins();
    const records = Array.from({ length: 40 }, (_, index) =>
      recordOf("1", { betId: `b${index}`, id: `r${index}`, roundId: `round-${index % 8}` }),
    );
    await listed(...records);
    clock.set(minute(15));
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([diff(), diff(), diff(), receive(exampleEntry({ username: "bob" })), diff()]);
    }
    const opened = await readAll();
    expect(opened.map(({ betId }) => betId).sort()).toEqual(records.map(({ betId }) => betId).sort());
    expect(await sql`select from mismatch_events`).toHaveLength(40);
  });

  test("reaches everything that was touched, however much it was", async () => {
    await ledgerBegins();
    await listed(
      ...Array.from({ length: 510 }, (_, index) =>
        recordOf("1", { betId: `b${index}`, id: `r${index}`, roundId: `round-${index}` }),
      ),
    );
    await diffAt(15);
    expect(await readAll()).toHaveLength(510);
  });

  test("takes up only what was touched, or whose grace has ended", async () => {
    await ledgerBegins();
    await diff();
    await listed(recordOf("1"));
    expect(await diffAt(1)).toMatchObject({ looked: 1 });
    expect(await diffAt(2)).toMatchObject({ looked: 0 });
    expect(await diffAt(15)).toMatchObject({ looked: 1 });
    expect(await diffAt(100)).toMatchObject({ looked: 0 });
  });

  test("that was told to stop leaves everything for the next", async () => {
    await ledgerBegins();
    await listed(recordOf("1"));
    expect(await diffAt(15, { signal: AbortSignal.abort() })).toMatchObject({ looked: 0 });
    await diff();
    expect(await mismatches()).toHaveLength(1);
  });

  test("sees one moment: a page that is written meanwhile makes no bet missing", async () => {
    await receive(...callbacksOf("25"));
    clock.set(minute(56));
    let pages = 0;
    const writePage = async () => {
      pages += 1;
      await listed(recordOf("25"));
      await fetchRange(minute(-60), minute(56));
    };
    await diff({ through: interrupted(sql, "from windows", writePage) });
    expect(pages).toBe(1);
    expect(await mismatches()).toEqual([]);
    await diffAt(58);
    await fetchPlanned();
    await diffAt(300);
    expect(await mismatches()).toEqual([]);
  });

  test("begins again where a person decides about a mismatch meanwhile", async () => {
    await receive(...callbacksOf("20"));
    await listed(recordOf("25"));
    await diffAt(15);
    await listed(recordOf("20", { updatedDate: iso(14) }));
    const decide = async () => {
      await sql`update mismatches set status = 'acknowledged'`;
    };
    await diffAt(16, { through: interrupted(sql, "from mismatches", decide) });
    expect(await mismatches()).toEqual(["payout-differs of bet-1 is resolved"]);
    const events = await sql`select from_status as "from" from mismatch_events order by id`;
    expect(events.map(({ from }) => from)).toEqual([null, "acknowledged"]);
  });
});

describe("rounds that form an endless chain", () => {
  /** Each bet is settled in the round in which the next one is placed. */
  const linkOf = (index: number, payout: string): CallbackEntry[] => {
    const at = { occurredAt: minute(index), receivedAt: minute(index), txnId: `t${index}` };
    return [
      exampleEntry({ ...at, roundId: `round-${index}` }),
      exampleSettle({ ...at, roundId: `round-${index + 1}`, payoutAmount: amount(payout) }),
    ];
  };
  const rowOf = (index: number): BetRecord =>
    recordOf("5", {
      betId: `t${index}`,
      id: `r${index}`,
      roundId: `round-${index}`,
      updatedDate: iso(index),
      accountingDate: iso(index),
    });

  test("are judged near what was touched, without a false alarm at the far end and without a difference hidden", async () => {
    for (let index = 0; index < 30; index += 1) {
      clock.set(minute(index));
      await receive(...linkOf(index, index % 10 === 3 ? "4" : "5"));
      await listed(rowOf(index));
      await diff();
    }
    for (const minutes of [60, 100, 200]) {
      await diffAt(minutes);
      await fetchPlanned();
    }
    expect(await mismatches()).toEqual([13, 23, 3].map((index) => `payout-differs of t${index} is open`));
    expect(await sql`select from mismatch_events`).toHaveLength(3);
  });
});

/** A database in which something else commits once, right before the first statement of a transaction with `text`. */
function interrupted(real: Sql, text: string, meanwhile: () => Promise<void>): Sql {
  let waits = true;
  const interruptedQuery = (tx: Query) =>
    new Proxy(tx, {
      apply: (target, self, args) => {
        const run = () => Reflect.apply(target as never, self, args) as unknown;
        if (!waits || !String(args[0]).includes(text)) return run();
        waits = false;
        return meanwhile().then(run);
      },
    });
  return new Proxy(real, {
    get: (target, name, receiver) => {
      if (name !== "begin") return Reflect.get(target, name, receiver);
      return (options: string, work: (tx: Query) => Promise<unknown>) =>
        target.begin(options, (tx) => work(interruptedQuery(tx)));
    },
  });
}
