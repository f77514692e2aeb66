/** Bet records in PostgreSQL: a whole page in one or two statements, with the versions it replaces. */

import type { BetRecord, RejectedRecord } from "../bet.ts";
import { type Instant, parseInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { formatAmount } from "../money.ts";
import type { PageCounts } from "./store.ts";

export interface PageTimes {
  /** when the page was asked for: of two contents with the same updatedDate the later asked for wins */
  readonly requestedAt: Instant;
  readonly now: Instant;
}

/**
 * Writes a page of one product's records: new ones, newer versions of known ones (the old version is kept),
 * nothing for known content. Every round or bet that changed is marked for the diff.
 * Runs in the page's own transaction; rows are written in key order, so that two pages cannot deadlock.
 */
export async function writeRecords(
  tx: Query,
  productId: string,
  records: readonly BetRecord[],
  times: PageTimes,
): Promise<Omit<PageCounts, "rejected" | "outOfRange">> {
  const newest = newestOfEach(records);
  if (newest.length === 0) return { records: 0, created: 0, changed: 0, unchanged: 0 };
  const rows = JSON.stringify(newest.map(toRow));
  const created = await insertNew(tx, productId, rows, times);
  const isOlderKnown = created < newest.length && (await hasOlder(tx, productId, rows, times));
  const changed = isOlderKnown ? await replaceOlder(tx, productId, rows, times) : 0;
  return {
    records: records.length,
    created,
    changed,
    unchanged: records.length - created - changed,
  };
}

/** Keeps each rejected record once, with its text. @returns how many were not known before */
export async function writeRejected(
  tx: Query,
  productId: string,
  rejected: readonly RejectedRecord[],
  now: Instant,
): Promise<number> {
  if (rejected.length === 0) return 0;
  const { count } = await tx`
    insert into rejected_records (product_id, raw, raw_digest, reason, first_seen_at)
    select ${productId}, raw, md5(raw), min(reason), ${now}
    from unnest(${rejected.map((r) => r.raw)}::text[], ${rejected.map((r) => r.reason)}::text[]) as t (raw, reason)
    group by raw
    order by md5(raw)
    on conflict (product_id, raw_digest) do nothing`;
  return count;
}

const INPUT = `
  select t.*, extra_text::jsonb as extra from jsonb_to_recordset($1::text::jsonb) as t (
    username text, bet_id text, id text, round_id text, currency text, stake numeric, payout numeric,
    game_code text, game_name text, bet_status text, payout_status text,
    accounting_date timestamptz, updated_date timestamptz, extra_text text)`;

const CONTENT = [
  "round_id",
  "currency",
  "stake",
  "payout",
  "game_code",
  "game_name",
  "bet_status",
  "payout_status",
  "accounting_date",
  "updated_date",
  "extra",
];

const MARK = (touched: string) => `
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  select $2, array_agg(username), array_agg(round), array_agg(bet), $4::timestamptz
  from (
    select distinct username, nullif(nullif(round_id, ''), 'UNKNOWN') as round,
      case when round_id in ('', 'UNKNOWN') then bet_id end as bet
    from ${touched}
  ) marks
  having count(*) > 0`;

/**
 * The commit of a page does not wait for the disk: should the server crash within that moment, its records and its
 * window's cursor are lost together, and the page is fetched again. Nothing that is told to anybody depends on it
 * before a later commit has waited for both.
 */
const WITHOUT_WAITING = "set_config('synchronous_commit', 'off', true)";

async function insertNew(tx: Query, productId: string, rows: string, times: PageTimes): Promise<number> {
  const [row] = await tx.unsafe<{ created: number }[]>(
    `with input as (${INPUT}),
    written as (
      insert into bet_records (product_id, username, bet_id, id, ${CONTENT.join(", ")}, version_seen_at, requested_at)
      select $2, username, bet_id, id, ${CONTENT.join(", ")}, $4::timestamptz, $3::timestamptz
      from input order by bet_id, username, id
      on conflict (product_id, username, bet_id, id) do nothing
      returning username, round_id, bet_id
    ),
    marked as (${MARK("written")})
    select count(*) as created, ${WITHOUT_WAITING} from written`,
    [rows, productId, times.requestedAt, times.now],
    { prepare: true },
  );
  return row?.created ?? 0;
}

const DIFFERS = `join bet_records r on r.product_id = $2
      and r.username = i.username and r.bet_id = i.bet_id and r.id = i.id
    where ${contentOf("i")} is distinct from ${contentOf("r")}
      and (i.updated_date > r.updated_date
        or (i.updated_date = r.updated_date and $3::timestamptz >= r.requested_at))`;

function contentOf(row: string): string {
  return `(${CONTENT.map((column) => `${row}.${column}`).join(", ")})`;
}

/** Most pages that come again bring nothing else: that is seen without preparing to write. */
async function hasOlder(tx: Query, productId: string, rows: string, times: PageTimes): Promise<boolean> {
  const [row] = await tx.unsafe<{ any: boolean }[]>(
    `select exists (select from (${INPUT}) i ${DIFFERS}) as any`,
    [rows, productId, times.requestedAt],
    { prepare: true },
  );
  return row?.any ?? false;
}

async function replaceOlder(tx: Query, productId: string, rows: string, times: PageTimes): Promise<number> {
  const [row] = await tx.unsafe<{ changed: number }[]>(
    `with input as (${INPUT}),
    old as (
      select r.* from input i ${DIFFERS}
      order by r.bet_id, r.username, r.id
      for update of r
    ),
    kept as (
      insert into bet_record_versions (product_id, username, bet_id, id, ${CONTENT.join(", ")},
        version_seen_at, requested_at, replaced_at)
      select product_id, username, bet_id, id, ${CONTENT.join(", ")}, version_seen_at, requested_at, $4::timestamptz
      from old
    ),
    written as (
      update bet_records r
      set ${CONTENT.map((column) => `${column} = i.${column}`).join(", ")},
        version_seen_at = $4::timestamptz, requested_at = $3::timestamptz
      from input i
      join old using (username, bet_id, id)
      where r.product_id = $2 and r.username = i.username and r.bet_id = i.bet_id and r.id = i.id
      returning r.username, r.round_id, r.bet_id
    ),
    touched as (
      select username, round_id, bet_id from written
      union
      select username, round_id, bet_id from old
    ),
    marked as (${MARK("touched")})
    select count(*) as changed from written`,
    [rows, productId, times.requestedAt, times.now],
    { prepare: true },
  );
  return row?.changed ?? 0;
}

/** A page may repeat a record; the newest of the repeats counts, of equally new ones the last. */
function newestOfEach(records: readonly BetRecord[]): BetRecord[] {
  const byKey = new Map<string, BetRecord>();
  for (const record of records) {
    // No part of a key can hold NUL: PostgreSQL could not store it.
    const key = `${record.username}\0${record.betId}\0${record.id}`;
    const known = byKey.get(key);
    if (known === undefined || !isOlder(record.updatedDate, known.updatedDate)) byKey.set(key, record);
  }
  return [...byKey.values()];
}

/** To the microsecond where both are written alike. */
function isOlder(a: string, b: string): boolean {
  const order = parseInstant(a, "updatedDate") - parseInstant(b, "updatedDate");
  return order === 0 ? a < b : order < 0;
}

function toRow(record: BetRecord): Record<string, string | null> {
  return {
    username: record.username,
    bet_id: record.betId,
    id: record.id,
    round_id: record.roundId,
    currency: record.currency,
    stake: formatAmount(record.stake),
    payout: formatAmount(record.payout),
    game_code: record.gameCode,
    game_name: record.gameName,
    bet_status: record.betStatus,
    payout_status: record.payoutStatus,
    accounting_date: record.accountingDate,
    updated_date: record.updatedDate,
    extra_text: record.extra,
  };
}

/** Per product, how many bet records are stored and how many were rejected. */
export async function countRecords(sql: Query): Promise<Map<string, { records: number; rejected: number }>> {
  const rows = await sql<{ productId: string; records: number; rejected: number }[]>`
    select product_id as "productId", sum(records)::bigint as records, sum(rejected)::bigint as rejected
    from (
      select product_id, count(*) as records, 0 as rejected from bet_records group by product_id
      union all
      select product_id, 0, count(*) from rejected_records group by product_id
    ) counted
    group by product_id`;
  return new Map(rows.map(({ productId, records, rejected }) => [productId, { records, rejected }]));
}
