/**
 * What tests of comparisons share: a database, a clock, and short forms of what both sides report. The products have the
 * default graces.
 */

import { beforeEach } from "vitest";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { Query, Sql } from "../../../src/db/client.ts";
import { type CompareProductResult, compareProduct } from "../../../src/flows/compare/compare-product.ts";
import type { CompareLimits } from "../../../src/flows/compare/comparison-context.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { type Log, silentLog } from "../../../src/log.ts";
import { listMismatches, readHistory } from "../../../src/mismatches/store.ts";
import { advanceWindow, recordGap } from "../../../src/sync/leased-window-store.ts";
import { writeRecords } from "../../../src/sync/record-store.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import type { TimeRange } from "../../../src/window.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import {
  amount,
  exampleEntry,
  exampleRecord,
  exampleSettle,
  HOUR_MS,
  MINUTE_MS,
  NOON,
} from "../../support/examples.ts";
import { leaseNextWindow } from "../../support/lease-window.ts";

/** 15 minutes for callbacks, an hour for the provider, 5 minutes of overlap. */
const PRODUCTS = [{ productId: "P1" }, { productId: "P2" }, { productId: "SINGLE", singleState: true }];

export interface DiffOptions {
  readonly product?: string;
  readonly through?: Sql;
  readonly settings?: Record<string, unknown>;
  readonly signal?: AbortSignal;
  readonly log?: Log;
  readonly limits?: CompareLimits;
}

/** Minutes after noon. */
export const minute = (minutes: number): Instant => NOON + minutes * MINUTE_MS;
export const iso = (minutes: number) => new Date(minute(minutes)).toISOString();

/** A bet that was placed at 11:55 and settled at 11:56, as callbacks. */
export const callbacksOf = (payout: string, fields: Partial<CallbackEntry> = {}): CallbackEntry[] => [
  exampleEntry(fields),
  exampleSettle({ payoutAmount: amount(payout), ...fields }),
];
/** The same bet as the provider lists it. */
export const recordOf = (payout: string, fields: Partial<BetRecord> = {}): BetRecord =>
  exampleRecord({ payout: amount(payout), payoutStatus: payout === "0" ? "LOSE" : "WIN", ...fields });

/** Call at the top of a test file. Each test begins at noon, with empty tables. */
export function useDiffWorld() {
  const { sql, url } = useDatabase();
  const clock = createTestClock(NOON);

  beforeEach(async () => {
    await emptyTables(sql);
    clock.set(NOON);
  });

  async function diff({
    product = "P1",
    through = sql,
    settings = {},
    signal,
    log = silentLog,
    limits,
  }: DiffOptions = {}): Promise<CompareProductResult> {
    const config = parseConfig({ products: PRODUCTS, ...settings });
    const context = { sql: through, config, clock, log };
    const options = limits === undefined ? {} : { limits };
    return await compareProduct(context, product, signal ?? new AbortController().signal, options);
  }

  async function diffAt(minutes: number, options: DiffOptions = {}): Promise<CompareProductResult> {
    clock.set(minute(minutes));
    return await diff(options);
  }

  async function receive(...entries: CallbackEntry[]): Promise<void> {
    await appendEntries(sql, entries);
  }

  /** Writes a row of the player anna as another program does, by plain SQL. The round, bet and time have defaults. */
  async function insertRow(row: Readonly<Record<string, unknown>>): Promise<void> {
    const given = {
      product_id: "P1",
      username: "anna",
      currency: "THB",
      txn_id: "bet-1",
      round_id: "round-1",
      request_id: row["entry_id"],
      status: "OPEN",
      skip_balance_update: false,
      occurred_at: iso(-5),
      received_at: row["occurred_at"] ?? iso(-5),
      ...row,
    };
    await sql`insert into callback_entries ${sql(given)}`;
  }

  /** Fetches a page of one window, requested now. */
  async function listed(...records: BetRecord[]): Promise<void> {
    const times = { requestedAt: clock.now(), now: clock.now() };
    for (const [productId, ofProduct] of Map.groupBy(records, (record) => record.productId)) {
      await sql.begin((tx) => writeRecords(tx, productId, ofProduct, times));
    }
  }

  /** Fetches what is planned, now. Ranges for which `isGap` is true cannot be fetched. */
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

  /** Compares at each of these times, and does the confirm fetches that it plans. */
  async function settle(...times: number[]): Promise<void> {
    for (const minutes of times) {
      await diffAt(minutes);
      await fetchPlanned();
    }
  }

  async function readAll() {
    const filter = { kind: null, productId: null, username: null, limit: 1000, after: null };
    const statuses = ["open", "acknowledged", "resolved", "ignored"] as const;
    return (await listMismatches(sql, { ...filter, statuses })).mismatches;
  }

  /** Every mismatch that ever existed: "payout-differs of bet-1 is open". */
  async function mismatches(): Promise<string[]> {
    const all = await readAll();
    return all
      .map((one) => `${one.kind} of ${one.transactionId ?? one.betId ?? one.roundId} is ${one.status}`)
      .sort();
  }

  async function changesOf(id: string): Promise<string[]> {
    return (await readHistory(sql, id)).map(({ fromStatus, toStatus }) => `${fromStatus} -> ${toStatus}`);
  }

  /** A tip long before noon, so that the ledger has begun. */
  const ledgerBegins = () => {
    const at = { occurredAt: NOON - 30 * 24 * HOUR_MS, receivedAt: NOON - 30 * 24 * HOUR_MS };
    return receive(
      exampleEntry({ callback: "placeTips", username: "zoe", txnId: "long-ago", roundId: "long-ago", ...at }),
    );
  };

  return {
    sql,
    url,
    clock,
    diff,
    diffAt,
    settle,
    receive,
    insertRow,
    listed,
    fetchPlanned,
    fetchRange,
    readAll,
    mismatches,
    changesOf,
    ledgerBegins,
  };
}

/** A database in which another client commits once, right before the first statement of a transaction with `text`. */
export function interrupted(real: Sql, text: string, meanwhile: () => Promise<void>): Sql {
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
