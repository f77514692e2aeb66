/**
 * A year of bets of many products on both sides, as a worker leaves it: compared, closed, with windows and mismatches.
 * The database itself makes it. A shorter history has the last part of the same year.
 */

import type { Sql } from "../../src/db/client.ts";
import { BEGIN, HOUR_MS } from "./pages.ts";

const DAY_MS = 24 * HOUR_MS;
const DAYS = 365;
const PRODUCTS = 10;
/** Closing follows after two days. */
const OPEN_DAYS = 2;
/** Ops decide a mismatch within this time. */
const DECIDED_AFTER_DAYS = 10;
/** One bet in this many differs: in turn by its payout, its stake, what moved, or a missing side. */
const DIFFERS_EVERY = 1_000;
/** The age at which time is fetched again, in hours. */
const RESWEPT_AFTER = [1, 24, 72, 168, 720];

export const PRODUCT_IDS = Array.from({ length: PRODUCTS }, (_, index) => `P${index + 1}`);
/** The end of the year: the bets up to here are old. */
export const YEAR_END = BEGIN;
export const CLOSED_UP_TO = YEAR_END - OPEN_DAYS * DAY_MS;

export interface History {
  /** the bets of a whole year, which say how many an hour has */
  readonly ofYear: number;
  /** the number of the first bet; the year has the numbers from 0 on */
  readonly from: number;
  readonly count: number;
}

function instantOf({ ofYear }: Pick<History, "ofYear">, bet: number): number {
  return YEAR_END - DAYS * DAY_MS + bet * ((DAYS * DAY_MS) / ofYear);
}

/** The numbers of the bets of an hour after the end of the year. */
function betsOfHour({ ofYear }: Pick<History, "ofYear">, hour: number) {
  const perHour = ofYear / (DAYS * 24);
  const from = ofYear + Math.ceil(hour * perHour);
  return { ofYear, from, count: ofYear + Math.ceil((hour + 1) * perHour) - from };
}

/** Three in ten bets share their round with two others. A player plays several products, all the year. */
const betsText = ({ ofYear, from, count }: History) => `
  select g, 'P' || 1 + g / 3 % ${PRODUCTS} as product_id,
    'player-' || (g / 30 * 7919 + g / 3 % 7) % 20000 as username, 'bet-' || g as txn_id,
    'round-' || case when g / 30 % 10 < 3 then g / 3 * 3 else g end as round_id,
    (g % 500 + 1.25)::numeric as stake, case when g % 3 = 0 then (g % 900 + 2.50)::numeric else 0::numeric end as payout,
    to_timestamp(${(YEAR_END - DAYS * DAY_MS) / 1000} + g * ${(DAYS * DAY_MS) / 1000 / ofYear}::double precision) as at,
    case when g % ${DIFFERS_EVERY} = 0 then g / ${DIFFERS_EVERY} % 5 end as differs
  from generate_series(${from}::bigint, ${from + count - 1}::bigint) as g`;

const entriesText = (history: History) => `
  insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
    bet_amount, payout_amount, transaction_type, skip_balance_update, moved, balance_before, balance_after,
    occurred_at, received_at)
  select 'entry-' || g || '-' || step, callback, 'request-' || g || '-' || step, product_id, username,
    'THB', txn_id, round_id, status, bet_amount, payout_amount, case step when 2 then 'BY_TRANSACTION' end, false,
    moved, 1000000, 1000000 + moved, at + (step - 1) * interval '30.1 s', at + (step - 1) * interval '30.1 s'
  from (${betsText(history)}) bets cross join lateral (values
    (1, 'placeBets', 'OPEN', stake, null::numeric, case when differs is distinct from 2 then -stake else 0 end),
    (2, 'settleBets', 'SETTLED', null, payout, payout)
  ) as entry (step, callback, status, bet_amount, payout_amount, moved)
  where differs is distinct from 3`;

const recordsText = (history: History) => `
  insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
    bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
  select product_id, username, txn_id, 'tx-' || g, round_id, 'THB',
    stake + case when differs = 1 then 1 else 0 end, payout + case when differs = 0 then 1 else 0 end,
    'game-' || g % 40, 'Game number ' || g % 40, 'SETTLED', case when payout > 0 or differs = 0 then 'WIN' else 'LOSE' end,
    at + interval '30 s', at + interval '30 s', at + interval '30 min', at + interval '30 min'
  from (${betsText(history)}) bets where differs is distinct from 4`;

const closedBetsText = (history: History) => `
  insert into closed_bets (product_id, username, subject, bet_ref, day, currency, provider_bets, provider_stake,
    provider_payout, provider_net)
  select product_id, username, 'round:' || round_id, txn_id, (at + interval '30 s')::date, 'THB', 1, stake, payout,
    payout - stake
  from (${betsText(history)}) bets where at + interval '30 s' < to_timestamp(${CLOSED_UP_TO / 1000})`;

/** The tables with a row for each bet, each with its statement. */
const LARGE = {
  callback_entries: entriesText,
  bet_records: recordsText,
  closed_bets: closedBetsText,
} as const;

const mismatchesText = (history: History) => `
  insert into mismatches (product_id, username, subject, kind, status, currency, bet_id, transaction_id, round_id,
    amount_at_risk, reason, provider, ledger, occurred_at, first_seen_at, last_seen_at, resolved_at, resolved_by, note)
  select product_id, username, 'bet:' || txn_id,
    (array['payout-differs', 'stake-differs', 'net-differs', 'missing-in-ledger', 'missing-at-provider'])[differs + 1],
    status, 'THB', txn_id, txn_id, round_id, stake, 'the stake is ' || stake || ' at the provider',
    jsonb_build_object('id', 'tx-' || g, 'betId', txn_id, 'status', 'SETTLED', 'stake', stake::text, 'payout', '0',
      'currency', 'THB', 'username', username, 'updatedDate', at, 'accountingDate', at),
    jsonb_build_object('txnId', txn_id, 'status', 'settled', 'stake', stake::text, 'payout', '0', 'moved', '0',
      'currency', 'THB', 'username', username, 'firstEntryAt', at, 'lastEntryAt', at),
    at, at + interval '1 hour', at + interval '1 hour', case when status in ('resolved', 'ignored') then at + interval '1 day' end,
    case when status in ('resolved', 'ignored') then 'ann' end, case when status <> 'open' then 'Seen.' end
  from (${betsText(history)}) bets
  cross join lateral (select case
    when at > to_timestamp(${(YEAR_END - DECIDED_AFTER_DAYS * DAY_MS) / 1000}) then case g / ${DIFFERS_EVERY} % 3 when 0 then 'acknowledged' else 'open' end
    when g / ${DIFFERS_EVERY} % 4 = 0 then 'ignored' else 'resolved' end as status) as decided
  where differs is not null`;

const EVENTS = `
  insert into mismatch_events (mismatch_id, at, from_status, to_status, by, note, amount_at_risk, reason, provider, ledger)
  select id, first_seen_at, null, 'open', 'recon', null, amount_at_risk, reason, provider, ledger from mismatches
  union all
  select id, resolved_at, 'open', status, resolved_by, note, amount_at_risk, reason, provider, ledger from mismatches
  where resolved_at is not null`;

/** One incident for each day, product and kind, with the alerts of its beginning and end. */
const INCIDENTS = `
  with incident as (
    insert into incidents (product_id, kind, backfill_id, number, began_at, last_at, total, open, alerted_total, ended_at)
    select product_id, kind, 0, row_number() over (partition by product_id, kind order by min(first_seen_at)),
      min(first_seen_at), max(first_seen_at), count(*), count(*) filter (where resolved_at is null), count(*),
      case when bool_and(resolved_at is not null) then max(resolved_at) end
    from mismatches group by product_id, kind, first_seen_at::date
    returning *
  ), alerted as (
    insert into alerts (idempotency_key, kind, product_id, body, created_at, delivered_at)
    select 'bench-' || id || step, 'incident-' || step, product_id, '{}', began_at, began_at
    from incident, unnest(array['opened', 'over']) as step where step = 'opened' or ended_at is not null
    returning id, created_at
  ), delivered as (
    insert into alert_deliveries (alert_id, channel, attempts, delivered_at) select id, 'webhook', 1, created_at from alerted
  )
  insert into incident_members (mismatch_id, incident_id)
  select m.id, i.id from mismatches m
  join incident i on i.product_id = m.product_id and i.kind = m.kind and i.began_at::date = m.first_seen_at::date`;

/** One bet in a hundred: a transfer with the answer that accepted it, a former version of a record, a player's callback. */
const transfersText = (history: History) => `
  with added as (
    insert into transfers (transaction_ref, product_id, username, currency, type, amount, status, sent_at, handed_at,
      attempts, decided_at)
    select 'transfer-' || g, product_id, username, 'THB', 'DEPOSIT', stake, 'accepted', at, at, 1, at
    from (${betsText(history)}) bets where g % 100 = 0 returning id, sent_at)
  insert into transfer_answers (of_id, attempt, asked_at, took_ms, says, code, message, raw, status, is_decisive)
  select id, 1, sent_at, 50, 'booked', '0', 'Success', '{}', 'accepted', true from added`;

const versionsText = (history: History) => `
  insert into bet_record_versions (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code,
    game_name, bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at, replaced_at)
  select product_id, username, txn_id, 'tx-' || g, round_id, 'THB', stake, 0, 'game', 'Game', 'OPEN', 'UNKNOWN', at, at, at,
    at, at + interval '1 hour'
  from (${betsText(history)}) bets where g % 100 = 0`;

/** Each hour was fetched once live, and again by each resweep that is due. */
const windowsText = (from: number) => `
  insert into windows (product_id, kind, from_at, to_at, status, started_at, fetched_at, pages, records)
  select 'P' || product, case when age = 0 then 'live' else 'resweep' end, hour, hour + interval '1 hour', 'done',
    hour + (age + 1) * interval '1 hour', hour + (age + 1) * interval '1 hour', 1, 200
  from generate_series(to_timestamp(${from / 1000}), to_timestamp(${(YEAR_END - HOUR_MS) / 1000}), interval '1 hour') as hour,
    unnest(array[0, ${RESWEPT_AFTER}]) as age, generate_series(1, ${PRODUCTS}) as product
  where hour + (age + 1) * interval '1 hour' <= to_timestamp(${YEAR_END / 1000})
  order by hour + age * interval '1 hour'`;

const statesText = (from: number) => `
  insert into pull_states (product_id, begin, head, window_ms)
  select 'P' || product, to_timestamp(${from / 1000}), to_timestamp(${YEAR_END / 1000}), ${HOUR_MS}
  from generate_series(1, ${PRODUCTS}) as product`;

/** Closed days without a right hash: nothing here checks the chain. */
const closedDaysText = (from: number) => `
  insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, previous_hash, statement)
  select day::date, 'UTC', day, day + interval '1 day', number, day + interval '3 days', 'hash-' || number,
    case when number > 1 then 'hash-' || number - 1 end,
    jsonb_build_object('corrections', '[]'::jsonb, 'rows', (select jsonb_agg(jsonb_build_object(
      'productId', 'P' || product, 'currency', 'THB', 'provider', side, 'ledger', side, 'difference', '0', 'mismatches', '0',
      'adjustments', '0', 'pending', '0', 'rounding', '0', 'rest', '0', 'complete', true))
      from generate_series(1, ${PRODUCTS}) as product,
        jsonb_build_object('bets', 5000, 'stake', '1000.00', 'payout', '900.00', 'net', '-100.00') as side))
  from generate_series(date_trunc('day', to_timestamp(${from / 1000}) + interval '23:59:59'),
    to_timestamp(${(CLOSED_UP_TO - DAY_MS) / 1000}), interval '1 day') with ordinality as d (day, number)`;

/** The bets of one statement. */
const BETS_AT_ONCE = 500_000;

/**
 * Writes the history into an empty database: first the rows, each table in order of time, and then the indexes.
 * @param sql a client without limits of time, with a connection for each table
 * @param report called from time to time with the progress
 */
export async function writeHistory(
  sql: Sql,
  history: History,
  report: (done: string) => void,
): Promise<void> {
  const from = instantOf(history, history.from);
  const tables = Object.keys(LARGE) as (keyof typeof LARGE)[];
  const made = await dropIndexes(sql, tables);
  // The marks of that many rows would be compared one by one.
  await sql.unsafe("alter table callback_entries disable trigger user");
  await Promise.all(tables.map((table) => fill(sql, table, history, report)));
  await inLanes(made, async (statement) => {
    await sql.unsafe(statement);
    report(statement.slice(0, 90));
  });
  // It looks for each day by index. Before, it read the whole table for each of 365 days.
  await sql.unsafe("select recon_watch_entries()");
  for (const text of [mismatchesText, transfersText, versionsText]) await sql.unsafe(text(history));
  for (const text of [EVENTS, INCIDENTS, windowsText(from), statesText(from), closedDaysText(from)]) {
    await sql.unsafe(text);
  }
  await sql.unsafe("insert into top_up_states select product_id, pg_current_xact_id() from pull_states");
  await inLanes(tables, (table) => sql.unsafe(`vacuum analyze ${table}`));
  await sql.unsafe("vacuum analyze");
  report(`${history.count} bets written`);
}

/** In one transaction with `truncate` PostgreSQL writes no log of the rows (`wal_level` minimal). */
async function fill(
  sql: Sql,
  table: keyof typeof LARGE,
  history: History,
  report: (done: string) => void,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(`truncate ${table}`);
    for (let done = 0; done < history.count; done += BETS_AT_ONCE) {
      const count = Math.min(BETS_AT_ONCE, history.count - done);
      await tx.unsafe(LARGE[table]({ ...history, from: history.from + done, count }));
      if ((done / BETS_AT_ONCE) % 10 === 9) report(`${table}: ${done + count} of ${history.count} bets`);
    }
  });
}

/** Drops the indexes of tables. @returns the statements that make them again */
async function dropIndexes(sql: Sql, tables: readonly string[]): Promise<string[]> {
  const indexes = await sql<{ name: string; definition: string; key: string | null; table: string }[]>`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition,
      i.indrelid::regclass::text as table, pg_get_constraintdef(c.oid) as key
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype = 'p'
    where i.indrelid = any(${tables as string[]}::regclass[]) order by i.indrelid, i.indexrelid`;
  for (const { name, key, table } of indexes) {
    await sql.unsafe(key === null ? `drop index ${name}` : `alter table ${table} drop constraint ${name}`);
  }
  return indexes.map(({ name, definition, key, table }) =>
    key === null ? definition : `alter table ${table} add constraint ${name} ${key}`,
  );
}

const LANES = 2;

/** Works on two items at a time, one for each core of a small machine. */
async function inLanes<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  let next = 0;
  const run = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, run));
}

/** Writes the bets of an hour after the year, with their marks and the windows that fetched them. */
export async function writeHour(sql: Sql, ofYear: number, hour: number): Promise<void> {
  const bets = betsOfHour({ ofYear }, hour);
  await sql.unsafe(entriesText(bets));
  await sql.unsafe(recordsText(bets));
  await sql.unsafe(`
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select product_id, array_agg(username), array_agg(round_id), array_agg(null::text), max(at) + interval '30 min'
    from (select distinct on (product_id, username, round_id) * from (${betsText(bets)}) bets) marked group by product_id`);
}

/** Fetches the days after the year, so that no difference waits for a confirm fetch. */
export async function coverNextDays(sql: Sql, days: number, fetchedAt: number): Promise<void> {
  await sql.unsafe(`
    insert into windows (product_id, kind, from_at, to_at, status, started_at, fetched_at)
    select 'P' || product, 'live', hour, hour + interval '1 hour', 'done', to_timestamp(${fetchedAt / 1000}),
      to_timestamp(${fetchedAt / 1000})
    from generate_series(to_timestamp(${(YEAR_END - DAY_MS) / 1000}), to_timestamp(${(YEAR_END + (days * 24 - 1) * HOUR_MS) / 1000}),
      interval '1 hour') as hour, generate_series(1, ${PRODUCTS}) as product`);
}

/** The number of bets of an hour that differ. */
export function countDiffering({ ofYear }: Pick<History, "ofYear">, hour: number): number {
  const { from, count } = betsOfHour({ ofYear }, hour);
  return Math.floor((from + count - 1) / DIFFERS_EVERY) - Math.floor((from - 1) / DIFFERS_EVERY);
}
