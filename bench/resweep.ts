/** resweep: the rows written when 100,000 unchanged records are fetched again. */

import type { Sql } from "../src/db/client.ts";
import { planWindows } from "../src/sync/window-store.ts";
import { fetchNextWindow, pullProduct } from "../test/support/pull-product.ts";
import { withDatabase } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import { openPull, startPageProvider } from "./support/page-provider.ts";
import { BEGIN, countRecords, HOUR_MS, type Volume } from "./support/pages.ts";

const VOLUME: Volume = { products: ["P1"], hours: 10, pagesPerHour: 10, pageSize: 1000 };

export async function measureResweep(): Promise<Figure[]> {
  return await withDatabase(async (sql) => {
    const server = await startPageProvider(VOLUME);
    const { context, close } = openPull(sql, VOLUME, server.url);
    const signal = new AbortController().signal;
    await pullProduct(context, "P1", signal);
    await sql`create table before as select username, bet_id, id, xmin::text as written_by, ctid as place from bet_records`;
    const marks = await countMarks(sql);

    const hours = Array.from({ length: VOLUME.hours }, (_, hour) => ({
      from: BEGIN + hour * HOUR_MS,
      to: BEGIN + (hour + 1) * HOUR_MS,
    }));
    await planWindows(sql, "P1", "resweep", hours);
    let fetched = 0;
    for (;;) {
      const outcome = await fetchNextWindow(context, "P1", ["resweep"], context.clock.now(), signal);
      if (outcome === null) break;
      if (outcome.outcome === "done") fetched += outcome.records;
    }
    close();
    server.stop();
    if (fetched !== countRecords(VOLUME)) throw new Error(`${fetched} records were fetched again`);
    const written = (await countRewritten(sql)) + (await countMarks(sql)) - marks;
    return [atMost("resweep", written, 0, `${fetched} unchanged records fetched again`)];
  });
}

/** The rows that were written since, replaced versions included. */
async function countRewritten(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select (select count(*) from bet_records r
        left join before b on b.username = r.username and b.bet_id = r.bet_id and b.id = r.id
          and b.written_by = r.xmin::text and b.place = r.ctid
        where b.id is null)
      + (select count(*) from bet_record_versions) as count`;
  return row?.count ?? Number.NaN;
}

async function countMarks(sql: Sql): Promise<number> {
  const [row] = await sql<
    { count: number }[]
  >`select coalesce(sum(cardinality(usernames)), 0)::int8 as count from diff_marks`;
  return row?.count ?? 0;
}
