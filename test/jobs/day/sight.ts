/** Looks at the database of a played day. */

import type { RequestUrgency } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import { MIDNIGHT, REFUSED, SINCE } from "./day-world.ts";

/** What is seen at a moment of the day. */
export interface Sight {
  readonly at: Instant;
  readonly heads: ReadonlyMap<string, Instant>;
  /** kinds of windows of which one is due, and not done */
  readonly due: ReadonlySet<RequestUrgency>;
  readonly hasLateRow: boolean;
  readonly hasBody: boolean;
  readonly isBackfillDone: boolean;
  readonly isRefusedFetched: boolean;
  readonly isDayWhole: boolean;
}

export async function see(sql: Sql, at: Instant, { entryId }: CallbackEntry): Promise<Sight> {
  const heads = await sql<{ productId: string; head: Instant }[]>`
    select product_id as "productId", head from pull_states`;
  const due = await sql<{ kind: RequestUrgency }[]>`
    select distinct kind from windows
    where status in ('planned', 'gap') and (next_attempt_at is null or next_attempt_at <= ${at})
    union all
    select 'verify' from transfers where next_verify_at <= ${at}`;
  const isFetched = (from: Instant, to: Instant, productId: string) => sql`
    tstzmultirange(tstzrange(${from}, ${to})) <@ (
      select range_agg(tstzrange(from_at, to_at)) from windows where status = 'done' and product_id = ${productId})`;
  const [seen] = await sql<Omit<Sight, "at" | "heads" | "due">[]>`
    select exists (select from callback_entries where entry_id = ${entryId}) as "hasLateRow",
      exists (select from callback_bodies where body = 'old') as "hasBody",
      exists (select from backfills where status = 'done') as "isBackfillDone",
      ${isFetched(REFUSED.from, REFUSED.to, "P2")} as "isRefusedFetched",
      ${isFetched(SINCE, MIDNIGHT, "P1")} and ${isFetched(SINCE, MIDNIGHT, "P2")} as "isDayWhole"`;
  if (seen === undefined) throw new Error("no row");
  return {
    ...seen,
    at,
    heads: new Map(heads.map(({ productId, head }) => [productId, head])),
    due: new Set(due.map(({ kind }) => kind)),
  };
}
