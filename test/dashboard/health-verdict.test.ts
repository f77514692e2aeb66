import { expect, test } from "vitest";
import type { ProductOverview, ProductState } from "../../src/flows/read/read-overview.ts";
import type { WorkReport } from "../../src/flows/read/read-work.ts";
import type { Risk } from "../../src/mismatches/risk-store.ts";
import { type JudgedOverview, judgeHealth } from "../../src/ops/dashboard/overview/health-verdict.ts";
import type { PresentBackfill } from "../../src/sync/backfill-store.ts";
import type { Stall } from "../../src/work/stall.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";

/** All work was done a moment ago. */
function goesOn(changes: Partial<WorkReport> = {}): WorkReport {
  return {
    comparing: {
      upTo: NOON - 30_000,
      isFarBehind: false,
      waiting: 0,
      setAside: 0,
      problem: null,
      stalls: [],
    },
    following: null,
    verifying: { behindMs: 5_000, isFarBehind: false, due: 0, problem: null, stalls: [] },
    alerting: { doneAt: NOON - 20_000, problem: null },
    resweeps: [],
    money: { outside: null, sums: null, problem: null, stalls: [] },
    stalls: [],
    stop: null,
    ...changes,
  };
}

const stall = (kind: Stall["kind"], what: string): Stall => ({
  kind,
  subject: "P1",
  productId: "P1",
  what,
  toDo: "",
  whatWhenOver: "",
  isWhole: false,
});

/** Two products that are up to date, a ledger that grows, and no work that waits. */
function allWell(changes: Partial<JudgedOverview> = {}): JudgedOverview {
  return {
    now: NOON,
    work: goesOn(),
    products: [product("P1", "current"), product("P2", "current")],
    risk: [],
    waiting: [],
    failingChannels: [],
    wrongClocks: [],
    isRedisShared: false,
    undelivered: 0,
    lastReceivedAt: NOON,
    emptied: 0,
    rejected: { records: 0, entries: 0 },
    backfills: [],
    storage: null,
    ...changes,
  };
}

function product(productId: string, state: ProductState, lagMs = 120_000): ProductOverview {
  const at = { head: NOON - lagMs, watermark: NOON - lagMs, lagMs, windowMs: HOUR_MS, stoppedUntil: null };
  const hasPulled = state !== "not-begun" && state !== "transfers-only";
  return {
    productId,
    state,
    pulled: hasPulled ? { ...at, gaps: [], hours: [], history: [] } : null,
    risk: [],
  };
}

const risk = (
  status: Risk["status"],
  count: number,
  amount: string,
  currency: string | null = "THB",
): Risk => ({
  productId: null,
  status,
  currency,
  count,
  amount,
});

const backfill = (status: PresentBackfill["status"]): PresentBackfill => ({
  id: 1,
  productId: "P1",
  from: NOON - HOUR_MS,
  to: NOON,
  status,
});

const states = (...wanted: ProductState[]) => ({
  products: wanted.map((state, index) => product(`P${index + 1}`, state, 3 * HOUR_MS)),
});

test.each<[tone: string, text: string, changes: Partial<JudgedOverview>]>([
  ["good", "All is well: everything is fetched, and both sides agree", {}],
  ["good", "All is well", { waiting: [{ kind: "transfer", status: "pending", count: 3 }] }],
  ["good", "All is well", { backfills: [backfill("running"), backfill("queued"), backfill("paused")] }],
  ["good", "All is well", { undelivered: 4 }],
  ["good", "All is well", { ...states("transfers-only"), lastReceivedAt: null }],
  ...(
    [
      "product-stalled",
      "resweep-behind",
      "comparing-stalled",
      "comparing-set-aside",
      "ledger-unreadable",
      "verifying-stalled",
      "closing-stalled",
      "entries-vanished",
      "money-outside",
      "unknown-product",
      "books-wrong",
      "queue-unserved",
    ] as const
  ).map((kind): [string, string, Partial<JudgedOverview>] => [
    "bad",
    `${kind} since noon`,
    { work: goesOn({ stalls: [stall(kind, `${kind} since noon`)] }) },
  ]),
  [
    "bad",
    "no alert is sent",
    { work: goesOn({ alerting: { doneAt: NOON - HOUR_MS, problem: "no alert is sent" } }) },
  ],
  [
    "unknown",
    "no worker has looked yet",
    { work: goesOn({ alerting: { doneAt: null, problem: "no worker has looked yet" } }) },
  ],
  [
    "unknown",
    "P1 has not been compared yet",
    {
      work: goesOn({
        comparing: {
          upTo: null,
          isFarBehind: false,
          waiting: 0,
          setAside: 0,
          problem: "P1 has not been compared yet",
          stalls: [],
        },
      }),
    },
  ],
  [
    "unknown",
    "nothing has been verified yet",
    {
      work: goesOn({ verifying: { behindMs: null, isFarBehind: false, due: 0, problem: null, stalls: [] } }),
    },
  ],
  [
    "warn",
    "comparing is 20 min behind",
    {
      work: goesOn({
        comparing: {
          upTo: NOON - 20 * MINUTE_MS,
          isFarBehind: true,
          waiting: 9,
          setAside: 0,
          problem: null,
          stalls: [],
        },
      }),
    },
  ],
  [
    "warn",
    "verifying is 20 min behind: 9 are due",
    {
      work: goesOn({
        verifying: { behindMs: 20 * MINUTE_MS, isFarBehind: true, due: 9, problem: null, stalls: [] },
      }),
    },
  ],
  ["unknown", "P2: nothing has been fetched yet", states("current", "not-begun")],
  ["unknown", "2 products: nothing has been fetched yet", states("not-begun", "not-begun")],
  ["unknown", "the ledger has no entries yet: nothing is compared", { lastReceivedAt: null }],
  ["bad", "callback_entries is empty, although 1 entry was accepted", { lastReceivedAt: null, emptied: 1 }],
  ["warn", "P1 is 3 h behind", states("behind", "current")],
  ["warn", "2 mismatches are acknowledged, 5.00 THB at risk", { risk: [risk("acknowledged", 2, "5.00")] }],
  ["warn", "1 entry is rejected, and in no comparison", { rejected: { records: 0, entries: 1 } }],
  [
    "warn",
    "1 record and 2 entries are rejected, and in no comparison",
    { rejected: { records: 1, entries: 2 } },
  ],
  ["warn", "1 backfill has failed", { backfills: [backfill("failed")] }],
  ["bad", "P2 is stalled", states("current", "stalled")],
  ["bad", "2 products are stalled", states("stalled", "stalled")],
  ["bad", "the provider refuses the credentials: 2 products are stopped", states("stopped", "stopped")],
  ["bad", "1 mismatch is open", { risk: [risk("open", 1, "0", null)] }],
  [
    "bad",
    "1 transfer is inconclusive",
    { waiting: [{ kind: "transfer", status: "inconclusive", count: 1 }] },
  ],
  ["bad", "2 top-ups are inconclusive", { waiting: [{ kind: "top-up", status: "inconclusive", count: 2 }] }],
  ["bad", "webhook does not accept alerts: 7 wait", { failingChannels: ["webhook"], undelivered: 7 }],
  [
    "bad",
    "the clock of the worker 12 on host is wrong: correct the clock, and work there resumes",
    { wrongClocks: ["worker 12 on host"] },
  ],
])("the line is %s if %s", (tone, text, changes) => {
  const verdict = judgeHealth(allWell(changes));
  expect(verdict.tone).toBe(tone);
  expect(verdict.findings).toEqual([expect.objectContaining({ tone, text: expect.stringContaining(text) })]);
});

test("the worst line comes first, and each line links to the page that shows it", () => {
  const verdict = judgeHealth(
    allWell({
      ...states("not-begun", "behind", "stalled", "stalled"),
      risk: [risk("open", 1498, "1240.50"), risk("acknowledged", 1, "2.00"), risk("open", 2, "0.10", "USDT")],
      lastReceivedAt: null,
    }),
  );
  expect(verdict.tone).toBe("bad");
  expect(verdict.findings.map(({ tone, text, href }) => `${tone}: ${text} (${href})`)).toEqual([
    "bad: 2 products are stalled (/#products)",
    "bad: 1\u202f500 mismatches are open, 1\u202f240.50 THB and 0.10 USDT at risk (/mismatches?status=open)",
    "warn: P2 is 3 h behind (/#products)",
    "warn: 1 mismatch is acknowledged, 2.00 THB at risk (/mismatches?status=acknowledged)",
    "unknown: P1: nothing has been fetched yet (/#products)",
    "unknown: the ledger has no entries yet: nothing is compared (/health)",
  ]);
});
