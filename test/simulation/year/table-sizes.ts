/** The sizes of tables: after the retention periods they must level off. */

import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";

/** Tables that keep a row for each closed day, each correction, or each deleted bet. */
const GROW: ReadonlySet<string> = new Set(["closed_days", "corrections", "deleted_bets"]);
/** The later of two months may be larger by this factor: chance decides how much is played. */
const MOST_GROWTH = 1.5;
/** A table of so few rows is no burden. */
const FEW_ROWS = 400;

export type TableSizes = ReadonlyMap<string, number>;

export async function countRows(sql: Sql): Promise<TableSizes> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`;
  const sizes = new Map<string, number>();
  for (const { name } of tables) {
    const [row] = await sql<{ rows: number }[]>`select count(*)::integer as rows from ${sql(name)}`;
    sizes.set(name, row?.rows ?? 0);
  }
  return sizes;
}

/** @param sizes of each month, from the first one after the retention periods on */
export function findGrowth(sizes: readonly TableSizes[], kept: readonly number[]): string[] {
  const [first, last] = [sizes[0], sizes.at(-1)];
  if (first === undefined || last === undefined || sizes.length < 3) return [];
  const added = (kept.at(-1) ?? 0) - (kept[0] ?? 0);
  return [...last].flatMap(([name, rows]) => {
    const before = first.get(name) ?? 0;
    const most = Math.max(FEW_ROWS, before * MOST_GROWTH) + added;
    if (GROW.has(name) || rows <= most) return [];
    return [`the table ${name} grew from ${before} to ${rows} rows; ${added} more rows had to stay`];
  });
}

/** How long rows are kept, in milliseconds. */
export interface Kept {
  readonly records: number;
  readonly entries: number;
  readonly mismatches: number;
  readonly windows: number;
  /** rows that may go are gone at most this long afterwards: a late change of a bet keeps all of it */
  readonly slack: number;
}

interface OldRow {
  readonly name: string;
  readonly names: readonly (string | null)[];
  /** null: unknown */
  readonly at: Instant | null;
  readonly productId: string;
  readonly username: string;
}

/** Old rows that stayed without a reason: no mismatch names their bet or round, none of its bets runs, and all its rows are old. */
export async function findLeftovers(
  sql: Sql,
  now: Instant,
  keep: Kept,
  open: ReadonlySet<string>,
): Promise<string[]> {
  const before = (ms: number) => now - ms - keep.slack;
  const both = Math.max(keep.records, keep.entries);
  const isOver = (names: ReturnType<Sql>) => sql`
    -- A bet that runs on either side keeps its round.
    not exists (select from bet_records r where r.product_id = t.product_id and r.username = t.username
      and r.round_id = t.round_id and r.bet_status in ('OPEN', 'UNSETTLED'))
    and not exists (select from callback_entries e where e.product_id = t.product_id and e.username = t.username
      and e.round_id = t.round_id and (e.callback = 'rollback' or not exists (select from callback_entries x
        where x.product_id = e.product_id and x.username = e.username and x.txn_id = e.txn_id
          and x.callback not in ('placeBets', 'adjustBets'))))
    -- A bet that ran for long has young rows too, and stays whole.
    and not exists (select from bet_records r where r.product_id = t.product_id and r.username = t.username
      and (r.round_id = t.round_id or r.bet_id in (${names}))
      and greatest(r.accounting_date, r.version_seen_at) >= ${before(both)})
    and not exists (select from callback_entries e where e.product_id = t.product_id and e.username = t.username
      and (e.round_id = t.round_id or e.txn_id in (${names}))
      and greatest(e.occurred_at, e.received_at) >= ${before(both)})`;
  const named = (names: ReturnType<Sql>) => sql`
    not exists (select from mismatches m where m.product_id = t.product_id
      and (m.username = t.username or m.provider ->> 'username' = t.username)
      and (m.subject like 'session:%' or m.bet_id in (${names}) or m.transaction_id in (${names})
        or m.round_id = t.round_id))
    and ${isOver(names)}`;
  const rows = await sql<OldRow[]>`
    select 'bet_records' as name, array[t.bet_id, t.id, t.round_id] as names, accounting_date as at,
      product_id as "productId", username
    from bet_records t
    where greatest(accounting_date, version_seen_at) < ${before(both)} and ${named(sql`t.bet_id, t.id`)}
    union all
    select 'callback_entries', array[t.txn_id, t.round_id], occurred_at, product_id, username
    from callback_entries t
    where greatest(occurred_at, received_at) < ${before(both)} and ${named(sql`t.txn_id`)}
    union all
    select 'closed_bets', array[t.bet_ref, t.subject], null, product_id, username
    from closed_bets t
    where t.day < ${new Date(before(both)).toISOString()}::timestamptz::date and t.bet_ref <> ''
      and not exists (select from bet_records r where r.product_id = t.product_id and r.username = t.username
        and (r.bet_id = t.bet_ref or r.id = t.bet_ref or t.subject = 'sessions'))
      and not exists (select from callback_entries e where e.product_id = t.product_id and e.username = t.username
        and (e.txn_id = t.bet_ref or t.subject = 'sessions'))
    union all
    select 'windows', array[t.id::text], to_at, product_id, ''
    -- What lies before the first closed day stays for ever (decision 216); nobody plays there.
    from windows t where to_at < ${before(keep.windows)} and coalesce(fetched_at, to_at) < ${before(keep.windows)}
      and from_at >= (select min(d.from_at) from closed_days d)
      -- A late difference has the time around it fetched again, however old that is.
      and not (kind = 'confirm' and status = 'planned')
    union all
    select 'mismatches', array[t.id::text, t.bet_id, t.transaction_id, t.round_id], occurred_at, product_id, username
    from mismatches t
    where status in ('resolved', 'ignored') and last_seen_at < ${before(both)} and occurred_at < ${before(both)}
      and coalesce(resolved_at, last_seen_at) < ${before(both)}
      and not exists (select from adjustments a where a.mismatch_id = t.id)
      -- What ops decided explains the difference of a bet as long as that stays.
      and (resolved_by = 'recon' or ${isOver(sql`t.bet_id, t.transaction_id`)})`;
  return rows
    .filter(
      ({ productId, username, names }) => !names.some((name) => open.has(`${productId} ${username} ${name}`)),
    )
    .map(
      ({ name, names, at, productId, username }) =>
        `an old row stayed in ${name}: ${productId} ${username} ${names.join(" ")} of ${at === null ? "unknown time" : new Date(at).toISOString()}`,
    );
}
