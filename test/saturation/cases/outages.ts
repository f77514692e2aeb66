/** Outages of minutes, hours and days: the requests during the outage, and the requests that fetch what was lost. */

import { openDatabase } from "../../../src/db/client.ts";
import { type OutagePlan, runOutage } from "../../simulation/outage-run.ts";
import { withScratchDatabase } from "../../simulation/scratch-databases.ts";
import { atMost, type Check, none, type SaturationCase } from "../case.ts";

const MINUTE_MS = 60_000;
const PRODUCTS = 100;
const LENGTHS = [
  ["10 minutes", 10 * MINUTE_MS],
  ["6 hours", 6 * 60 * MINUTE_MS],
  ["3 days", 3 * 24 * 60 * MINUTE_MS],
] as const;
const KINDS: readonly OutagePlan["how"][] = ["refuses", "times-out", "worker-down"];

const MOST_PER_HOUR = 4 * 60;

export const saturation: SaturationCase = {
  name: "outages",
  what: `${PRODUCTS} products after outages of 10 minutes, 6 hours and 3 days: the provider refuses, does not answer, or the worker is down`,
  run: async (report) => {
    for (const [length, outageMs] of LENGTHS) {
      const runOne = async (how: OutagePlan["how"]) =>
        report(...(await measure(`${how}, ${length}`, { products: PRODUCTS, how, outageMs })));
      // No result depends on the speed of the machine.
      await Promise.all(KINDS.map(runOne));
    }
  },
};

async function measure(name: string, plan: OutagePlan): Promise<Check[]> {
  const result = await withScratchDatabase(async (url) => {
    const sql = openDatabase(url, 5);
    try {
      return await runOutage(sql, plan);
    } finally {
      await sql.end({ timeout: 5 });
    }
  });
  const { requests, minimum, requestsMeanwhile, freshAfterMs, caughtUpAfterMs, mostFetches, incomplete } =
    result;
  const ratio = requests / minimum;
  // A refusal may mean that the range is too long, so each product halves its newest six minutes down to windowMin: seven windows
  // with five attempts each, then ten probes. Afterwards a few requests a minute for all together.
  const mostMeanwhile = PRODUCTS * 50 + (plan.outageMs / 3_600_000) * MOST_PER_HOUR;
  const toFetchAll = `until all is fetched (${caughtUpAfterMs / 1000})`;
  return [
    atMost(`${name}: requests against the minimum (${requests} / ${minimum})`, Number(ratio.toFixed(3)), 1.3),
    atMost(`${name}: requests while it lasted`, requestsMeanwhile, mostMeanwhile),
    atMost(`${name}: seconds until every product is fresh, and ${toFetchAll}`, freshAfterMs / 1000, 180),
    atMost(`${name}: fetches of the same lost time`, mostFetches, 1),
    none(`${name}: products with something missing`, incomplete),
  ];
}
