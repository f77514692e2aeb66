/** Callback entries in PostgreSQL. */

import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { requestIdSql } from "../db/request-id.ts";
import { ENTRIES_WALK } from "../db/retention-store.ts";
import { rowCountsText } from "../db/row-counts.ts";
import { takeTime } from "../db/transactions.ts";
import { type Amount, formatAmount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";

/** A row as PostgreSQL gives it: amounts are decimal text. */
type EntryRow = Omit<CallbackEntry, AmountField> & Record<AmountField, string | null>;
type AmountField = "betAmount" | "payoutAmount" | "moved" | "balanceBefore" | "balanceAfter";

/**
 * Appends entries. Skips entries whose entryId is known. The triggers of the table write the marks.
 * @returns the number of new entries
 */
export async function appendEntries(sql: Query, entries: readonly CallbackEntry[]): Promise<number> {
  if (entries.length === 0) return 0;
  const [row] = await sql.unsafe<{ added: number }[]>(
    `with added as (
      insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id,
        status, bet_amount, payout_amount, transaction_type, skip_balance_update, moved, balance_before,
        balance_after, occurred_at, received_at, single_state, end_round)
      select * from jsonb_to_recordset($1::text::jsonb) as t (
        entry_id text, callback text, request_id text, product_id text, username text, currency text, txn_id text,
        round_id text, status text, bet_amount numeric, payout_amount numeric, transaction_type text,
        skip_balance_update boolean, moved numeric, balance_before numeric, balance_after numeric,
        occurred_at timestamptz, received_at timestamptz, single_state boolean, end_round boolean)
      order by entry_id
      on conflict (entry_id) do nothing
      returning entry_id
    )
    select count(*) as added from added`,
    [JSON.stringify(entries.map(toRow))],
    { prepare: true },
  );
  return row?.added ?? 0;
}

/** The most characters of a status, a transaction type or a currency to read. Valid values are shorter. */
const LONGEST_WORD = 100;

/** The keys of rounds and bets whose entries are read. */
export interface EntryKeys {
  /** [username, roundId] */
  readonly rounds: readonly (readonly [string, string])[];
  /** [username, txnId] */
  readonly bets: readonly (readonly [string, string])[];
}

/** @param most the most entries of one round, and of all keys together; null: no limit */
export async function readEntries(
  sql: Query,
  productId: string,
  keys: EntryKeys,
  most: { readonly ofRound: number | null; readonly inAll: number | null } = { ofRound: null, inAll: null },
): Promise<CallbackEntry[]> {
  const users = (of: EntryKeys["rounds"]) => of.map(([username]) => username);
  const ids = (of: EntryKeys["rounds"]) => of.map(([, id]) => id);
  const columns = entryColumns(sql);
  // "offset 0" makes PostgreSQL search each key by its index, however few rows the planner assumes.
  const rows = await sql<EntryRow[]>`
    select found.* from unnest(${users(keys.rounds)}::text[], ${ids(keys.rounds)}::text[]) as k (username, id)
    cross join lateral (select ${columns} from callback_entries e
      where e.product_id = ${productId} and e.username = k.username and e.round_id = k.id
      limit ${most.ofRound} offset 0) found
    union all
    select found.* from unnest(${users(keys.bets)}::text[], ${ids(keys.bets)}::text[]) as k (username, id)
    cross join lateral (select ${columns} from callback_entries e
      where e.product_id = ${productId} and e.username = k.username and e.txn_id = k.id offset 0) found
    limit ${most.inAll}`;
  // An entry that both a round and a bet lead to comes twice.
  return [...new Map(rows.map((row) => [row.entryId, row])).values()].map(fromRow);
}

/**
 * The columns of an `EntryRow`, from `callback_entries e`. The table limits the length of its keys; the other texts
 * may have any length.
 */
function entryColumns(sql: Query) {
  const short = (column: string) => sql`left(e.${sql(column)}, ${LONGEST_WORD})`;
  return sql`e.entry_id as "entryId", e.callback, ${sql.unsafe(requestIdSql("e.request_id"))} as "requestId", e.product_id as "productId",
    e.username, ${short("currency")} as currency, e.txn_id as "txnId", e.round_id as "roundId", ${short("status")} as status, e.bet_amount as "betAmount",
    e.payout_amount as "payoutAmount", ${short("transaction_type")} as "transactionType",
    e.skip_balance_update as "skipBalanceUpdate", e.moved, e.balance_before as "balanceBefore",
    e.balance_after as "balanceAfter", e.occurred_at as "occurredAt", e.received_at as "receivedAt",
    e.single_state as "singleState", e.end_round as "endRound"`;
}

/**
 * The entries of some players that may belong to sessions, each player with a range of time, both ends included:
 * adjustBalance, rewards and tips.
 * @param most the most rows to read
 */
export async function readEntriesWithin(
  sql: Query,
  productId: string,
  spans: ReadonlyMap<string, TimeRange>,
  most: number,
): Promise<CallbackEntry[]> {
  const times = [...spans.values()];
  // The conditions are those of the partial indexes. One condition for both would use neither.
  const within = (condition: string) => sql`(select ${entryColumns(sql)} from callback_entries e
      where e.product_id = ${productId} and e.username = k.username and ${sql.unsafe(condition)}
        and e.occurred_at between k.from_at and k.to_at offset 0)`;
  const rows = await sql<EntryRow[]>`
    select found.* from unnest(${[...spans.keys()]}::text[], ${times.map(({ from }) => from)}::timestamptz[],
      ${times.map(({ to }) => to)}::timestamptz[]) as k (username, from_at, to_at)
    cross join lateral (${within("e.callback = 'adjustBalance'")} union all
      ${within("e.callback in ('winRewards', 'placeTips', 'cancelTips')")}) found
    limit ${most}`;
  return rows.map(fromRow);
}

/** A player's time, with the entries of all products around it. */
export interface PlayerSpan extends TimeRange {
  readonly username: string;
}

/**
 * The entries of players in a time, both ends included, and those next to it on both sides, of all products.
 * @param around the most entries on each side, and 40 times as many within
 * @returns for each span; `before` and `after`: whether there may be further entries on that side
 */
export async function readEntriesAround(
  sql: Query,
  spans: readonly PlayerSpan[],
  around: number,
): Promise<{ readonly entries: CallbackEntry[]; readonly before: boolean; readonly after: boolean }[]> {
  const part = (condition: string, order: "asc" | "desc", most: number) => sql`
    (select ${entryColumns(sql)} from callback_entries e
      where e.username = k.username and ${sql.unsafe(condition)}
      order by e.occurred_at ${sql.unsafe(order)} limit ${most} offset 0)`;
  const rows = await sql<(EntryRow & { span: number; side: number })[]>`
    select k.span::int as span, found.* from unnest(${spans.map(({ username }) => username)}::text[],
      ${spans.map(({ from }) => from)}::timestamptz[], ${spans.map(({ to }) => to)}::timestamptz[])
      with ordinality as k (username, from_at, to_at, span)
    cross join lateral (
      select -1 as side, b.* from ${part("e.occurred_at < k.from_at", "desc", around)} b
      union all select 0, w.* from ${part("e.occurred_at between k.from_at and k.to_at", "asc", 40 * around)} w
      union all select 1, a.* from ${part("e.occurred_at > k.to_at", "asc", around)} a
    ) found`;
  const bySpan = Map.groupBy(rows, ({ span }) => span);
  return spans.map((_, index) => {
    const own = bySpan.get(index + 1) ?? [];
    const on = (side: number) => own.filter((row) => row.side === side);
    const isFull = on(0).length >= 40 * around;
    return {
      entries: (isFull ? [...on(-1), ...on(0)] : own).map(({ span: _span, side: _side, ...row }) =>
        fromRow(row),
      ),
      before: on(-1).length >= around,
      after: isFull || on(1).length >= around,
    };
  });
}

/** The times of the former contents of some bets, which were changed or deleted. @param bets [username, txnId] */
export async function readFormerTimes(
  sql: Query,
  productId: string,
  bets: readonly (readonly [string, string])[],
): Promise<{ readonly username: string; readonly occurredAt: Instant }[]> {
  if (bets.length === 0) return [];
  return await sql<{ username: string; occurredAt: Instant }[]>`
    select k.username, (v.content ->> 'occurred_at')::timestamptz as "occurredAt"
    from unnest(${bets.map(([username]) => username)}::text[], ${bets.map(([, ref]) => ref)}::text[]) as k (username, ref)
    join entry_versions v on v.product_id = ${productId} and v.txn_id = k.ref and v.username = k.username`;
}

/** All entries of some players. @param most the most rows to read */
export async function readEntriesOfPlayers(
  sql: Query,
  productId: string,
  usernames: readonly string[],
  most: number,
): Promise<CallbackEntry[]> {
  const rows = await sql<EntryRow[]>`
    select ${entryColumns(sql)} from callback_entries e
    where e.product_id = ${productId} and e.username = any(${usernames as string[]}) limit ${most}`;
  return rows.map(fromRow);
}

/**
 * The txn ids of a player's entries that occurred in a time, both ends included.
 * @param most the most rows to read
 */
export async function readTxnIds(
  sql: Query,
  productId: string,
  username: string,
  { from, to }: TimeRange,
  most: number,
): Promise<string[]> {
  const rows = await sql<{ txnId: string }[]>`
    select distinct txn_id as "txnId" from callback_entries
    where product_id = ${productId} and username = ${username} and occurred_at between ${from} and ${to}
    order by txn_id limit ${most}`;
  return rows.map(({ txnId }) => txnId);
}

export interface LedgerExtent {
  readonly entries: number;
  readonly firstOccurredAt: Instant | null;
  readonly lastReceivedAt: Instant | null;
}

export async function readLedgerExtent(sql: Query): Promise<LedgerExtent> {
  const [row] = await sql<LedgerExtent[]>`
    select (select coalesce(sum(rows), 0)::bigint from (${sql.unsafe(rowCountsText("callback_entries"))}) counted) as entries,
      (select min(occurred_at) from callback_entries) as "firstOccurredAt",
      (select max(received_at) from callback_entries) as "lastReceivedAt"`;
  return row ?? { entries: 0, firstOccurredAt: null, lastReceivedAt: null };
}

/** The beginning of the ledger: the time of the first entry, deleted or not; null while there was none. */
export async function readLedgerStart(sql: Query): Promise<Instant | null> {
  const [row] = await sql<{ start: Instant | null }[]>`
    select least((select min(occurred_at) from callback_entries),
      (select began_at from retention_states where walk = ${ENTRIES_WALK})) as start`;
  return row?.start ?? null;
}

/** The triggers that `callback_entries` must have, with their values of pg_trigger.tgenabled (decision 81). */
const TRIGGERS: Readonly<Record<string, string>> = {
  recon_checked: "O",
  recon_inserted: "O",
  recon_replicated: "R",
  recon_updated: "A",
  recon_deleted: "O",
  recon_emptied: "A",
  recon_truncated: "O",
};

/** The trigger that is set last, after every entry was marked. */
const SWITCHED_LAST = "recon_truncated";

/** The names of triggers that are missing, or in another state than `TRIGGERS` says. */
export async function findIdleTriggers(sql: Query): Promise<string[]> {
  const found = await sql<{ name: string; enabled: string }[]>`
    select tgname as name, tgenabled as enabled from pg_trigger where tgrelid = 'callback_entries'::regclass`;
  return Object.entries(TRIGGERS)
    .filter(([name, enabled]) => !found.some((one) => one.name === name && one.enabled === enabled))
    .map(([name]) => name);
}

/** The longest wait for a lock that a restore holds. The next tick tries again. */
const LOCK_WAIT_MS = 300;
const LOCK_NOT_AVAILABLE = "55P03";
/** The longest time to mark all entries, enough for a billion. */
const LONGEST_MARKING_MS = 2 * 3_600_000;

/**
 * Restores the triggers where something has switched them off, and marks every entry, because rows may have been
 * written without marks. A restore with `--disable-triggers` leaves the triggers changed, and so is noticed (decision
 * 81).
 * @returns whether all entries were marked
 */
export async function watchEntries(sql: Sql): Promise<boolean> {
  const idle = await findIdleTriggers(sql);
  if (idle.length === 0) return false;
  const call = (text: string) =>
    sql.begin(async (tx) => {
      await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MS}`);
      await takeTime(tx, LONGEST_MARKING_MS);
      return await tx.unsafe<{ done: boolean }[]>(`select ${text} as done`);
    });
  try {
    // Two transactions: writers wait while triggers are switched, and must not wait while a large ledger is marked.
    if (idle.some((name) => name !== SWITCHED_LAST)) await call("recon_watch_entries() is not null");
    const [marked] = await call("recon_mark_entries()");
    return marked?.done ?? false;
  } catch (error) {
    if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

function toRow(entry: CallbackEntry): Record<string, unknown> {
  return {
    entry_id: entry.entryId,
    callback: entry.callback,
    request_id: entry.requestId,
    product_id: entry.productId,
    username: entry.username,
    currency: entry.currency,
    txn_id: entry.txnId,
    round_id: entry.roundId,
    status: entry.status,
    bet_amount: toText(entry.betAmount),
    payout_amount: toText(entry.payoutAmount),
    transaction_type: entry.transactionType,
    skip_balance_update: entry.skipBalanceUpdate,
    moved: toText(entry.moved),
    balance_before: toText(entry.balanceBefore),
    balance_after: toText(entry.balanceAfter),
    occurred_at: new Date(entry.occurredAt).toISOString(),
    received_at: new Date(entry.receivedAt).toISOString(),
    single_state: entry.singleState,
    end_round: entry.endRound,
  };
}

function fromRow(row: EntryRow): CallbackEntry {
  return {
    ...row,
    betAmount: fromText(row.betAmount, "bet_amount"),
    payoutAmount: fromText(row.payoutAmount, "payout_amount"),
    moved: fromText(row.moved, "moved"),
    balanceBefore: fromText(row.balanceBefore, "balance_before"),
    balanceAfter: fromText(row.balanceAfter, "balance_after"),
  };
}

function toText(amount: Amount | null): string | null {
  return amount === null ? null : formatAmount(amount);
}

function fromText(text: string | null, column: string): Amount | null {
  return text === null ? null : parseAmount(text, column);
}
