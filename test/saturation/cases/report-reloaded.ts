/** A browser reloads a long report twenty times while the worker pulls. */

import { setTimeout as pause } from "node:timers/promises";
import { withDatabase } from "../../../bench/support/database.ts";
import { startPageProvider } from "../../../bench/support/page-provider.ts";
import type { Sql } from "../../../src/db/client.ts";
import { none, type SaturationCase } from "../case.ts";
import { startRealWorker } from "../support/real-worker.ts";

const DAY_MS = 24 * 3_600_000;
const WARM_UP_MS = 8_000;
const RELOADS = 20;
const RELOAD_EVERY_MS = 600;
const LEAST = 0.8;

export const saturation: SaturationCase = {
  name: "report-reloaded",
  what: `a report of a long day is reloaded ${RELOADS} times while the worker pulls`,
  run: async (report) =>
    await withDatabase(async (sql, url) => {
      const since = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - 20 * DAY_MS);
      const volume = { products: ["P1"], hours: 0, pagesPerHour: 10, pageSize: 1_000 };
      const provider = await startPageProvider(volume);
      // The ledger began long before, so that the report compares all records.
      await sql`
        insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
          bet_amount, skip_balance_update, occurred_at, received_at)
        values ('tip', 'placeTips', 'tip', 'P1', 'zoe', 'THB', 'tip', 'TIPS', 1, false, now() - interval '90 d',
          now() - interval '90 d')`;
      const config = {
        products: [{ productId: "P1", since: since.toISOString() }],
        pull: { every: "PT1S", resweepAfter: [] },
        diff: { every: "PT10H" },
      };
      const worker = await startRealWorker(url, config, {
        PROVIDER_BASE_URL: provider.url,
        PROVIDER_USERNAME: "u",
        PROVIDER_PASSWORD: "p",
      });
      try {
        await pause(WARM_UP_MS);
        const lengthMs = RELOADS * RELOAD_EVERY_MS;
        const before = await pulledIn(sql, () => pause(lengthMs));
        const day = since.toISOString().slice(0, 10);
        const during = await pulledIn(sql, () => reload(`${worker.url}/report?day=${day}`));
        const after = await pulledIn(sql, () => pause(lengthMs));
        const [waiting] = await sql<{ count: number }[]>`
          select count(*) as count from pg_stat_activity
          where datname = current_database() and state <> 'idle' and query like '%activity%' and pid <> pg_backend_pid()`;
        const share = Math.round((during / ((before + after) / 2)) * 100) / 100;
        const alone = `${Math.round(before)} and ${Math.round(after)} records/s alone`;
        report(
          {
            what: `pulling beside it against pulling alone (${Math.round(during)} records/s, ${alone})`,
            value: share,
            bar: `≥ ${LEAST}`,
            holds: share >= LEAST,
          },
          none("reports that are still made in the database for nobody", waiting?.count ?? Number.NaN),
        );
      } finally {
        await worker.stop();
        provider.stop();
      }
    }),
};

/** Records per second during `meanwhile`. */
async function pulledIn(sql: Sql, meanwhile: () => Promise<unknown>): Promise<number> {
  const count = async () =>
    (await sql<{ count: number }[]>`select count(*) as count from bet_records`)[0]?.count ?? Number.NaN;
  const [before, startedAt] = [await count(), performance.now()];
  await meanwhile();
  return (((await count()) - before) * 1000) / (performance.now() - startedAt);
}

async function reload(url: string): Promise<void> {
  for (let reloads = 0; reloads < RELOADS; reloads += 1) {
    const leaving = new AbortController();
    const asked = fetch(url, { signal: leaving.signal }).catch(() => null);
    await pause(RELOAD_EVERY_MS);
    leaving.abort();
    await asked;
  }
}
