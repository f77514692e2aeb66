/** Closed days with a session that a lone record was counted with, until the record's own entries arrived. */

import { beforeEach, expect, test } from "vitest";
import { actOnMismatches } from "../../../src/flows/mismatches/act-on-mismatches.ts";
import { readReport } from "../../../src/flows/reports/read-report.ts";
import { exampleAdjustment, MINUTE_MS, NOON } from "../../support/examples.ts";
import { iso, recordOf, useDiffWorld } from "../compare/comparison-world.ts";
import { DAY_MS, TODAY, useClosing } from "./closing-world.ts";

const SETTINGS = { products: [{ productId: "P1", settlement: "session" }] };
const { sql, clock, diffAt, receive, listed, fetchPlanned, readAll, ledgerBegins } = useDiffWorld();
const { context, fetched, close, correct, expectInvariant } = useClosing(sql, clock, SETTINGS);

const shot = (payout: string, minutes: number) =>
  recordOf(payout, {
    betId: `b ${minutes}`,
    id: `r ${minutes}`,
    accountingDate: iso(minutes),
    updatedDate: iso(minutes),
  });
async function compare(...times: number[]): Promise<void> {
  for (const minutes of times) {
    await diffAt(minutes, { settings: SETTINGS });
    await fetchPlanned();
  }
}

beforeEach(async () => {
  await ledgerBegins();
  await fetched(TODAY - DAY_MS, TODAY + 5 * DAY_MS);
});

test.each([
  { status: "open", late: 600 },
  { status: "ignored", late: 600 },
  { status: "pending", late: 600 },
  { status: "open", late: 780 },
  { status: "ignored", late: 780 },
  { status: "pending", late: 780 },
])(
  "add up when the record leaves the session $late minutes later, of a mismatch that is $status",
  async ({ status, late }) => {
    await receive(exampleAdjustment("DEBIT", "100", 0), exampleAdjustment("CREDIT", "85", 30));
    await listed(shot("0", 10), shot("30", late));
    if (status !== "pending") await compare(late + 70, late + 130, late + 131);
    if (status === "ignored") {
      const ids = (await readAll()).filter((one) => one.amountAtRisk === "25").map(({ id }) => id);
      await actOnMismatches(context(), {
        action: "ignore",
        target: { ids },
        note: "n",
        by: "mia",
        expected: null,
        adjustment: null,
      });
    }
    clock.set(TODAY + 2 * DAY_MS + 3 * 60 * MINUTE_MS);
    for (const day of ["2026-11-20", "2026-11-21"]) expect(await close(day)).toHaveProperty("closed");
    await receive(exampleAdjustment("DEBIT", "10", late - 10), exampleAdjustment("CREDIT", "30", late + 10));
    const now = (clock.now() - NOON) / MINUTE_MS;
    await compare(now + 10, now + 100, now + 200, now + 201);
    expect(await correct()).toBeGreaterThan(1);
    await expectInvariant();
    const { rows } = await readReport(context(), {
      day: "2026-11-20",
      zone: "UTC",
      from: TODAY,
      to: TODAY + DAY_MS,
    });
    expect(rows.map(({ difference, rest }) => ({ difference, rest }))).toEqual([
      { difference: "5", rest: "0" },
    ]);
  },
);
