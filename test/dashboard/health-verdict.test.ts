import { expect, test } from "vitest";
import { type Finding, type FindingKind, notice, type Severity } from "../../src/health/finding.ts";
import type { Risk } from "../../src/mismatches/risk-store.ts";
import { type JudgedOverview, judgeHealth } from "../../src/ops/dashboard/overview/health-verdict.ts";

const found = (kind: FindingKind, severity: Severity, what: string, subject = ""): Finding => ({
  ...notice(kind, severity, what),
  subject,
});

function allWell(changes: Partial<JudgedOverview> = {}): JudgedOverview {
  return { findings: [], risk: [], waiting: [], rejected: { records: 0, entries: 0 }, ...changes };
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

test.each<[tone: string, text: string, changes: Partial<JudgedOverview>]>([
  ["good", "All is well: everything is fetched, and both sides agree", {}],
  ["good", "All is well", { waiting: [{ kind: "transfer", status: "pending", count: 3 }] }],
  ["bad", "no alert is sent", { findings: [found("alerting-stalled", "bad", "no alert is sent")] }],
  ["warn", "P1 is 3 h behind", { findings: [found("product-behind", "warn", "P1 is 3 h behind")] }],
  ["unknown", "nothing is known", { findings: [found("money-unknown", "unknown", "nothing is known")] }],
  [
    "bad",
    "P1 is stalled (and 1 more product)",
    {
      findings: ["P1", "P2"].map((one) => found("product-stalled", "bad", `${one} is stalled`, one)),
    },
  ],
  [
    "warn",
    "backfill 1 has failed (and 2 more backfills)",
    {
      findings: [1, 2, 3].map((id) => found("backfill-failed", "warn", `backfill ${id} has failed`, `${id}`)),
    },
  ],
  ["warn", "2 mismatches are acknowledged, 5.00 THB at risk", { risk: [risk("acknowledged", 2, "5.00")] }],
  ["warn", "1 entry is rejected, and not compared", { rejected: { records: 0, entries: 1 } }],
  ["warn", "1 record and 2 entries are rejected, and not compared", { rejected: { records: 1, entries: 2 } }],
  ["bad", "1 mismatch is open", { risk: [risk("open", 1, "0", null)] }],
  [
    "bad",
    "1 transfer is inconclusive",
    { waiting: [{ kind: "transfer", status: "inconclusive", count: 1 }] },
  ],
  ["bad", "2 top-ups are inconclusive", { waiting: [{ kind: "top-up", status: "inconclusive", count: 2 }] }],
])("the line is %s if %s", (tone, text, changes) => {
  const verdict = judgeHealth(allWell(changes));
  expect(verdict.tone).toBe(tone);
  expect(verdict.findings).toEqual([expect.objectContaining({ tone, text: expect.stringContaining(text) })]);
});

test("the worst line comes first, and each line links to the page that shows it", () => {
  const verdict = judgeHealth(
    allWell({
      findings: [
        found("ledger-empty", "unknown", "the ledger has no entries yet"),
        found("disk-full", "warn", "the database's disk: 29 days"),
        found("product-stalled", "bad", "P3 is stalled", "P3"),
        found("comparing-stalled", "bad", "P1 has not been compared", "P1"),
        found("comparing-stalled", "bad", "P2 has not been compared", "P2"),
      ],
      risk: [risk("open", 1498, "1240.50"), risk("acknowledged", 1, "2.00"), risk("open", 2, "0.10", "USDT")],
    }),
  );
  expect(verdict.tone).toBe("bad");
  expect(verdict.findings.map(({ tone, text, href }) => `${tone}: ${text} (${href})`)).toEqual([
    "bad: P3 is stalled (/health)",
    "bad: P1 has not been compared (/health)",
    "bad: P2 has not been compared (/health)",
    "bad: 1\u202f500 mismatches are open, 1\u202f240.50 THB and 0.10 USDT at risk (/mismatches?status=open)",
    "warn: the database's disk: 29 days (/health#database)",
    "warn: 1 mismatch is acknowledged, 2.00 THB at risk (/mismatches?status=acknowledged)",
    "unknown: the ledger has no entries yet (/health)",
  ]);
});
