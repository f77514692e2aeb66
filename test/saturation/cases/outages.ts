/** Outages of minutes, hours and days: what is asked meanwhile, and how many requests fetch what was lost. */

import { openDatabase } from "../../../src/db/client.ts";
import { type OutagePlan, runOutage } from "../../simulation/outage-run.ts";
import { openScratchDatabases } from "../../simulation/scratch-databases.ts";
import type { Check, SaturationCase } from "../case.ts";

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
  run: async () => {
    const databases = await openScratchDatabases();
    const checks: Check[] = [];
    try {
      for (const how of KINDS) {
        for (const [length, outageMs] of LENGTHS) {
          checks.push(
            ...(await runOne(databases, `${how}, ${length}`, { products: PRODUCTS, how, outageMs })),
          );
        }
      }
    } finally {
      await databases.close();
    }
    return checks;
  },
};

type Databases = Awaited<ReturnType<typeof openScratchDatabases>>;

async function runOne(databases: Databases, name: string, plan: OutagePlan): Promise<Check[]> {
  const result = await databases.use(1, async (url) => {
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
  // The first failures of each product, and then a few a minute of all together.
  const mostMeanwhile = PRODUCTS * 20 + (plan.outageMs / 3_600_000) * MOST_PER_HOUR;
  return [
    {
      what: `${name}: requests against the minimum (${requests} / ${minimum})`,
      value: Number(ratio.toFixed(3)),
      bar: "≤ 1.3",
      holds: ratio <= 1.3,
    },
    {
      what: `${name}: requests while it lasted`,
      value: requestsMeanwhile,
      bar: `≤ ${mostMeanwhile}`,
      holds: requestsMeanwhile <= mostMeanwhile,
    },
    {
      what: `${name}: seconds until every product is fresh, and until all is fetched (${caughtUpAfterMs / 1000})`,
      value: freshAfterMs / 1000,
      bar: "≤ 180",
      holds: freshAfterMs <= 180_000,
    },
    { what: `${name}: fetches of the same lost time`, value: mostFetches, bar: "1", holds: mostFetches <= 1 },
    {
      what: `${name}: products with something missing`,
      value: incomplete,
      bar: "0",
      holds: incomplete === 0,
    },
  ];
}
