/** Bets on both sides, made by the database itself. Most are equal on both sides; a few differ. */

import type { Sql } from "../../src/db/client.ts";
import { BEGIN, HOUR_MS } from "./pages.ts";

/** Consecutive bets, with a number for each hour. */
export interface BetRange {
  /** the number of the first bet */
  readonly from: number;
  readonly count: number;
}

export const BETS_PER_HOUR = 15_000;
/** One bet in this many differs: in turn by its payout, its stake, what moved, or a missing side. */
const DIFFERS_EVERY = 5_000;
/** The rows of a page of the provider, and of a batch of the ledger. */
const MARKS_PER_ROW = 1_000;

/** When a bet is placed. Its settlement comes half a minute later, its record half an hour later. */
export function instantOf(bet: number): number {
  return BEGIN + Math.floor((bet * HOUR_MS) / BETS_PER_HOUR);
}

/** Three in ten bets share their round with two others. Every player plays all the time. */
const BETS = `
  select g, 'player-' || (g / 3 * 7919) % 5000 as username, 'bet-' || to_char(g, 'FM0000000000') as txn_id,
    'round-' || to_char(case when g / 3 % 10 < 3 then g / 3 * 3 else g end, 'FM0000000000') as round_id,
    (g % 500 + 1.25)::numeric as stake, case when g % 3 = 0 then (g % 900 + 2.50)::numeric else 0::numeric end as payout,
    to_timestamp(${BEGIN / 1000} + g * ${HOUR_MS / 1000 / BETS_PER_HOUR}::double precision) as at,
    case when g % ${DIFFERS_EVERY} = 0 then g / ${DIFFERS_EVERY} % 5 end as differs
  from generate_series($1::bigint, $1::bigint + $2::bigint - 1) as g`;

const ENTRIES = `
  insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
    bet_amount, payout_amount, transaction_type, skip_balance_update, moved, balance_before, balance_after,
    occurred_at, received_at)
  select 'entry-' || to_char(g, 'FM0000000000') || '-' || step, callback, 'request-' || g || '-' || step, 'P1', username,
    'THB', txn_id, round_id, status, bet_amount, payout_amount, case step when 2 then 'BY_TRANSACTION' end, false,
    moved, 1000000, 1000000 + moved, at + (step - 1) * interval '30.1 s', at + (step - 1) * interval '30.1 s'
  from (${BETS}) bets cross join lateral (values
    (1, 'placeBets', 'OPEN', stake, null::numeric, case when differs is distinct from 2 then -stake else 0 end),
    (2, 'settleBets', 'SETTLED', null, payout, payout)
  ) as entry (step, callback, status, bet_amount, payout_amount, moved)
  where differs is distinct from 3`;

const RECORDS = `
  insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
    bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
  select 'P1', username, txn_id, 'tx-' || to_char(g, 'FM0000000000'), round_id, 'THB',
    stake + case when differs = 1 then 1 else 0 end, payout + case when differs = 0 then 1 else 0 end,
    'game-' || g % 40, 'Game number ' || g % 40, 'SETTLED', case when payout > 0 or differs = 0 then 'WIN' else 'LOSE' end,
    at + interval '30 s', at + interval '30 s', at + interval '30 min', at + interval '30 min'
  from (${BETS}) bets where differs is distinct from 4`;

/** The marks that a written page, or a batch of the ledger, leaves. */
const marksOf = (rows: string) => `
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  select 'P1', array_agg(username), array_agg(round_id), array_agg(null::text), max(due_at)
  from (
    select username, round_id, max(due_at) as due_at, page from (
      select username, round_id, due_at, (row_number() over (order by due_at, place) - 1) / ${MARKS_PER_ROW} as page
      from (${rows}) rows
    ) paged
    group by page, username, round_id
  ) marks
  group by page order by page`;

const MARKS_OF_ENTRIES = marksOf(
  `select username, round_id, received_at as due_at, entry_id as place from callback_entries
  where received_at >= $1::timestamptz and received_at < $2::timestamptz`,
);
const MARKS_OF_RECORDS = marksOf(
  `select username, round_id, version_seen_at as due_at, bet_id as place from bet_records
  where accounting_date >= $1::timestamptz and accounting_date < $2::timestamptz`,
);

/** Writes the bets on both sides without marks, as if they had been compared long ago. */
export async function writeBets(sql: Sql, { from, count }: BetRange): Promise<void> {
  await sql.unsafe(ENTRIES, [from, count]);
  await sql.unsafe(RECORDS, [from, count]);
  await dropMarks(sql);
}

/** The table of entries marks each of its rows by itself. */
async function dropMarks(sql: Sql): Promise<void> {
  await sql`truncate diff_marks`;
}

/** Marks the bets on both sides. */
export async function markBets(sql: Sql, { from, count }: BetRange): Promise<void> {
  const times = [instantOf(from), instantOf(from + count) + HOUR_MS];
  await sql.unsafe(MARKS_OF_ENTRIES, times);
  await sql.unsafe(MARKS_OF_RECORDS, times);
}

/** Writes windows as fetched after their end, so that no difference waits for a confirm fetch. */
export async function coverAll(sql: Sql, count: number): Promise<void> {
  const fetchedAt = instantOf(count) + 24 * HOUR_MS;
  await sql`
    insert into windows (product_id, kind, from_at, to_at, status, started_at, fetched_at)
    select 'P1', 'live', hour, hour + interval '1 hour', 'done', ${fetchedAt}, ${fetchedAt}
    from generate_series(${BEGIN - 24 * HOUR_MS}::timestamptz, ${fetchedAt}::timestamptz, interval '1 hour') as hour`;
}

/** The number of bets that differ. */
export function countDiffering({ from, count }: BetRange): number {
  return Math.floor((from + count - 1) / DIFFERS_EVERY) - Math.floor((from - 1) / DIFFERS_EVERY);
}

/** The bets of one statement. Two statements run at a time, one for each core of a small machine. */
const BETS_AT_ONCE = 100_000;
const STATEMENTS_AT_ONCE = 2;

/**
 * Writes a long history: first the rows, in order of time, and then the indexes.
 * @param tell called from time to time with the progress
 */
export async function loadBets(
  sql: Sql,
  { from, count }: BetRange,
  tell: (done: string) => void,
): Promise<void> {
  await withoutIndexes(sql, tell, async () => {
    const starts = Array.from(
      { length: Math.ceil(count / BETS_AT_ONCE) },
      (_, index) => from + index * BETS_AT_ONCE,
    );
    const statements = starts.flatMap((start) =>
      [ENTRIES, RECORDS].map((text) => ({
        text,
        start,
        count: Math.min(BETS_AT_ONCE, from + count - start),
      })),
    );
    let next = 0;
    const runStatements = async () => {
      for (let statement = statements[next++]; statement !== undefined; statement = statements[next++]) {
        await sql.unsafe(statement.text, [statement.start, statement.count]);
        if (next % 20 === 0) tell(`${statement.start} of ${from + count} bets written`);
      }
    };
    await Promise.all(Array.from({ length: STATEMENTS_AT_ONCE }, runStatements));
    await dropMarks(sql);
  });
}

/** Runs `work` without indexes on the tables of both sides, and then creates the indexes again. */
async function withoutIndexes(
  sql: Sql,
  tell: (done: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  const indexes = await sql<{ name: string; definition: string; constraint: string | null; table: string }[]>`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition,
      i.indrelid::regclass::text as table, pg_get_constraintdef(c.oid) as constraint
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype = 'p'
    where i.indrelid in ('bet_records'::regclass, 'callback_entries'::regclass)`;
  for (const { name, constraint, table } of indexes) {
    await sql.unsafe(
      constraint === null ? `drop index ${name}` : `alter table ${table} drop constraint ${name}`,
    );
  }
  await work();
  for (const { name, definition, constraint, table } of indexes) {
    await sql.unsafe(
      constraint === null ? definition : `alter table ${table} add constraint ${name} ${constraint}`,
    );
    tell(`index ${name} made`);
  }
  for (const table of ["bet_records", "callback_entries"]) await sql.unsafe(`vacuum analyze ${table}`);
}
