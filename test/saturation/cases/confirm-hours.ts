import { formatInstant, systemClock } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import { eventually } from "../../support/eventually.ts";
import { atMost, type SaturationCase } from "../case.ts";
import { productNames, underLoad } from "../pulling.ts";

const PRODUCTS = productNames(12);
const HOURS_OF_EACH = 60;
const HOUR_MS = 3_600_000;
const PLACES = 2;
const ANSWER_MS = 500;
const WATCHED_MS = 90_000;
/** Two rounds. */
const BAR = 2 * PRODUCTS.length;

export const saturation: SaturationCase = {
  name: "confirm-hours",
  what: `${2 * HOURS_OF_EACH} confirm hours of two products, ${PRODUCTS.length} products, ${PLACES} places`,
  run: async (report) => {
    const since = formatInstant(systemClock.now() - 60_000);
    const config = {
      products: PRODUCTS.map((productId) => ({ productId, since })),
      pull: { every: "PT5S", concurrency: PLACES, settleDelay: "PT0S", resweepAfter: [] },
    };
    const load = { config, workers: 1, queues: "Redis", answerMs: ANSWER_MS, prepare: askForHours } as const;
    await underLoad(load, async ({ asked }) => {
      const begin = Math.floor(systemClock.now() / HOUR_MS) * HOUR_MS;
      const isLive = ({ to }: { readonly to: number }) => to > begin;
      const firsts = () =>
        PRODUCTS.map((productId) => asked.findIndex((one) => isLive(one) && one.productId === productId));
      const isServed = await eventually(
        "every product got its live request",
        () => !firsts().includes(-1),
        WATCHED_MS,
      ).catch(() => false);
      const value = isServed ? Math.max(...firsts()) + 1 : Number.POSITIVE_INFINITY;
      report(atMost("requests until every product had got its live one", value, BAR));
    });
  },
};

/** Asks for hours as comparisons do. */
async function askForHours(sql: Sql): Promise<void> {
  const end = Math.floor(systemClock.now() / HOUR_MS) * HOUR_MS;
  for (const productId of PRODUCTS.slice(0, 2)) {
    for (let hour = 1; hour <= HOURS_OF_EACH; hour++) {
      await sql`
        insert into windows (product_id, kind, from_at, to_at)
        values (${productId}, 'confirm', ${end - hour * HOUR_MS}, ${end - (hour - 1) * HOUR_MS})`;
    }
  }
}
