import { beforeEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import type { Query, Sql } from "../../../src/db/client.ts";
import { openOverview } from "../../../src/flows/read/read-overview.ts";
import { appendEntries } from "../../../src/ledger/store.ts";
import { silentLog } from "../../../src/log.ts";
import { advanceWindow, recordGap } from "../../../src/sync/leased-window-store.ts";
import { ensurePullState, stopPulling } from "../../../src/sync/pull-state-store.ts";
import { writeRejected } from "../../../src/sync/rejected-store.ts";
import { planWindows, type WindowKind } from "../../../src/sync/window-store.ts";
import type { TimeRange } from "../../../src/window.ts";
import { createTestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { exampleEntry, HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { leaseNextWindow } from "../../support/lease-window.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const RANGE = {
  windowMs: HOUR_MS,
  ceilingMs: null,
  holdFor: 1,
  quickAnswers: 0,
  msPerHour: null,
  steadyMs: null,
};

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

const PRODUCTS = [{ productId: "P1" }, { productId: "P2" }, { productId: "WALLET", walletMode: "transfer" }];

function open(products: readonly object[] = PRODUCTS, through: Sql = sql) {
  return openOverview({ sql: through, clock, log: silentLog, config: parseConfig({ products }) });
}

async function product(productId: string) {
  const found = (await open()()).products.find((one) => one.productId === productId);
  if (found === undefined) throw new Error(`there is no ${productId}`);
  return found;
}

const hour = (before: number, length = 1): TimeRange => ({
  from: NOON - before * HOUR_MS,
  to: NOON - (before - length) * HOUR_MS,
});

/** Plans windows, and fetches each with so many records, or fails. */
async function pull(kind: WindowKind, ranges: readonly TimeRange[], records: number | "gap"): Promise<void> {
  await ensurePullState(sql, "P1", NOON - 6 * HOUR_MS, RANGE);
  await planWindows(sql, "P1", kind, ranges);
  for (;;) {
    const window = await leaseNextWindow(sql, "P1", NOON, [kind]);
    if (window === null) return;
    if (records === "gap") {
      const nextAttemptAt = NOON + MINUTE_MS;
      await recordGap(sql, window, { code: "provider-timeout", message: "too slow", nextAttemptAt });
      continue;
    }
    const counts = { records, created: records, changed: 0, unchanged: 0, rejected: 0, outOfRange: 0 };
    const page = { nextId: null, startedAt: NOON, now: NOON, counts };
    await sql.begin((tx) => advanceWindow(tx, window, page));
  }
}

const lateHours = (before: number) => Array.from({ length: before }, (_, index) => hour(before - index));

describe("a product", () => {
  test("has not begun before it is pulled, and one with transfers never begins", async () => {
    expect((await product("P1")).state).toBe("not-begun");
    expect((await product("WALLET")).state).toBe("transfers-only");
  });

  test("is current when it is fetched up to now, with the last hours in its history", async () => {
    await pull("live", lateHours(6), 120);
    const { state, pulled } = await product("P1");
    expect([state, pulled?.lagMs, pulled?.head]).toEqual(["current", 0, NOON]);
    expect(pulled?.hours.map((one) => one.state)).toEqual([...Array(6).fill("fetched"), "future"]);
    const paces = pulled?.history.map(({ recordsPerMinute }) => recordsPerMinute);
    expect(paces?.slice(-26)).toEqual([null, ...Array(24).fill(2), null]);
    expect(pulled?.history.at(-2)?.longestMs).toBe(HOUR_MS);
  });

  test("is behind when it is fetched later than it should be", async () => {
    await pull("live", [hour(6), hour(5)], 1);
    expect(await product("P1")).toMatchObject({ state: "behind", pulled: { lagMs: 4 * HOUR_MS } });
  });

  test("is stalled while it has a gap, and complete only up to it", async () => {
    await pull("live", [hour(6), hour(5)], 1);
    await pull("live", [hour(4)], "gap");
    await pull("live", [hour(3), hour(2), hour(1)], 1);
    const { state, pulled } = await product("P1");
    expect([state, pulled?.head, pulled?.watermark]).toEqual(["stalled", NOON, NOON - 4 * HOUR_MS]);
    expect(pulled?.gaps).toEqual([
      expect.objectContaining({ ...hour(4), code: "provider-timeout", nextAttemptAt: NOON + MINUTE_MS }),
    ]);
    expect(pulled?.hours.slice(0, 4).map((one) => one.state)).toEqual([
      "fetched",
      "fetched",
      "gap",
      "fetched",
    ]);
  });

  test("has no gap if another window has fetched that time", async () => {
    await pull("live", [hour(2)], "gap");
    await pull("confirm", [hour(2)], 1);
    await pull("live", [hour(1)], 1);
    expect(await product("P1")).toMatchObject({ state: "current", pulled: { gaps: [] } });
  });

  test("is stopped while the credentials are refused, and none of its time is being fetched", async () => {
    await pull("live", lateHours(6).slice(0, 4), 1);
    await stopPulling(sql, "P1", NOON + HOUR_MS);
    const { state, pulled } = await product("P1");
    expect(state).toBe("stopped");
    expect(pulled?.hours.slice(3, 6).map(({ state, code }) => [state, code])).toEqual([
      ["fetched", null],
      ["gap", "provider-refused"],
      ["gap", "provider-refused"],
    ]);
  });
});

describe("the work that waits", () => {
  test("has its money at risk exactly, by product, status and currency, and in total", async () => {
    await sql`
      insert into mismatches (product_id, username, subject, kind, status, currency, amount_at_risk, reason,
        occurred_at, first_seen_at, last_seen_at)
      select product_id, 'anna', 'bet:' || row_number() over (), 'payout-differs', status, currency, amount, 'differs',
        ${NOON}, ${NOON}, ${NOON}
      from (values ('P1', 'open', 'THB', 0.1), ('P1', 'open', 'THB', 0.2), ('P2', 'open', 'THB', 1000000000000000.01),
        ('P1', 'acknowledged', 'USD', 5), ('P2', 'resolved', 'THB', 7), ('GONE', 'open', 'THB', 1)
      ) as given (product_id, status, currency, amount)`;
    const overview = await open()();
    expect(overview.risk).toEqual([
      { productId: null, status: "acknowledged", currency: "USD", count: 1, amount: "5" },
      { productId: null, status: "open", currency: "THB", count: 4, amount: "1000000000000001.31" },
    ]);
    expect(overview.products[0]?.risk).toEqual([
      { productId: "P1", status: "acknowledged", currency: "USD", count: 1, amount: "5" },
      { productId: "P1", status: "open", currency: "THB", count: 2, amount: "0.3" },
    ]);
  });

  test("includes transfers, backfills and the state of the ledger", async () => {
    const entry = exampleEntry({ receivedAt: NOON - 5 * MINUTE_MS });
    await appendEntries(sql, [entry]);
    await sql`
      insert into transfers (transaction_ref, product_id, username, currency, type, amount, status, sent_at, handed_at)
      select 'ref-' || status || n, 'WALLET', 'anna', 'THB', 'DEPOSIT', 1, status, ${NOON}, ${NOON}
      from (values ('pending', 1), ('pending', 2), ('inconclusive', 1), ('accepted', 1)) as given (status, n)`;
    await sql`
      insert into backfills (product_id, from_at, to_at, status, requested_at, ended_at)
      select 'P1', ${NOON - HOUR_MS}, ${NOON}, status, ${NOON}, ended
      from (values ('running', null), ('failed', ${NOON - HOUR_MS}::timestamptz)) as given (status, ended)`;
    const { waiting, findings } = await open()();
    expect(waiting).toEqual([
      { kind: "transfer", status: "inconclusive", count: 1 },
      { kind: "transfer", status: "pending", count: 2 },
    ]);
    expect(findings.map(({ kind, subject }) => `${kind}: ${subject}`)).toContain(
      "backfill-failed: backfill 2",
    );
    expect(findings.map(({ kind }) => kind)).not.toContain("ledger-empty");
  });
});

test("rows that cannot be used are counted", async () => {
  expect((await open()()).rejected).toEqual({ records: 0, entries: 0 });
  await sql`insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      payout_amount, skip_balance_update, occurred_at, received_at)
    values ('e-1', 'payBets', 'q-1', 'P1', 'anna', 'THB', 'bet-1', 'OPEN', 5000, false, ${NOON}, ${NOON})`;
  await writeRejected(sql, "P1", [{ raw: "{}", reason: "id is missing" }], NOON);
  expect((await open()()).rejected).toEqual({ records: 1, entries: 1 });
});

test("fifty products take as many statements as one, and a second reading takes fewer", async () => {
  const many = Array.from({ length: 50 }, (_, index) => ({ productId: `P${index}` }));
  const counts: number[] = [];
  for (const products of [[{ productId: "P1" }], many]) {
    const counted = countStatements(sql);
    const read = open(products, counted.sql);
    await read();
    counts.push(counted.count());
    await read();
    counts.push(counted.count());
  }
  const [one, oneAgain, fifty, fiftyAgain] = counts as [number, number, number, number];
  expect(fifty).toBe(one);
  expect(one).toBeLessThanOrEqual(13);
  expect(oneAgain - one).toBe(one - 1);
  expect(fiftyAgain).toBe(oneAgain);
});

/** The same pool, with a count of its statements. */
function countStatements(real: Sql): { readonly sql: Sql; count(): number } {
  let statements = 0;
  const counting = new Proxy(real, {
    apply: (target, self, args) => {
      if (Array.isArray(args[0]) && "raw" in args[0]) statements += 1;
      return Reflect.apply(target as unknown as (...parts: unknown[]) => Query, self, args);
    },
  });
  return { sql: counting, count: () => statements };
}
