/** Reads and appends callback entries (`callback_entries`). */

import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { ENTRIES_WALK } from "../db/retention-store.ts";
import { rowCountsText } from "../db/row-counts.ts";
import { requestIdSql } from "../db/statement.ts";
import { mapInTurns } from "../in-turns.ts";
import { type Amount, formatAmount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";

/** A row as PostgreSQL returns it: amounts are decimal text. */
type EntryRow = Omit<CallbackEntry, AmountField> & Record<AmountField, string | null>;
type AmountField = "betAmount" | "payoutAmount" | "moved" | "balanceBefore" | "balanceAfter";

/**
 * Appends entries; skips those whose entryId is known. The triggers of the table mark them for comparison.
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

/** The longest status, transaction type or currency to read, in characters. Valid values are shorter. */
const LONGEST_WORD = 100;

/** The rounds and bets whose entries to read. */
interface EntryKeys {
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
  // "offset 0" makes PostgreSQL look up each key by index, even if the planner expects few rows.
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
  // An entry that is found by its round and by its bet comes twice.
  return await mapInTurns([...new Map(rows.map((row) => [row.entryId, row])).values()], fromRow);
}

/**
 * The columns of an `EntryRow`, from `callback_entries e`. The table limits the length of its keys, but not of the
 * other texts.
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
 * The entries that may belong to the sessions of some players: adjustBalance, rewards and tips. Each player has a range
 * of time, both ends included.
 * @param most the most rows to read
 */
export async function readEntriesWithin(
  sql: Query,
  productId: string,
  spans: ReadonlyMap<string, TimeRange>,
  most: number,
): Promise<CallbackEntry[]> {
  const times = [...spans.values()];
  // Each condition is that of a partial index. A single condition for both would use neither index.
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

/** A range of time of one player, at all products. */
export interface PlayerSpan extends TimeRange {
  readonly username: string;
}

/**
 * The entries of players within each span, both ends included, and the nearest ones before and after it, at all
 * products.
 * @param around the most entries on each side; within the span at most 40 times as many
 * @returns one item for each span; `before` and `after`: there may be more entries on that side
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

/** The times that changed or deleted entries of some bets had before. @param bets [username, txnId] */
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
async function readEntriesOfPlayers(
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
 * The txn ids of a player's entries in a range of time, both ends included.
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

interface LedgerExtent {
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

/** The time of the first entry, including deleted ones; null: there has never been an entry. */
export async function readLedgerStart(sql: Query): Promise<Instant | null> {
  const [row] = await sql<{ start: Instant | null }[]>`
    select least((select min(occurred_at) from callback_entries),
      (select began_at from retention_states where walk = ${ENTRIES_WALK})) as start`;
  return row?.start ?? null;
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

/** When the newest entry was received; null: there are no entries. */
export async function readLastReceived(sql: Query): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`select max(received_at) as at from callback_entries`;
  return row?.at ?? null;
}

/** Among the newest entries of a product, those that break its chain of balances (`ledger.balances: "complete"`). */
interface NewestBalances {
  readonly productId: string;
  readonly entries: number;
  /** the number without balances */
  readonly unknown: number;
}

/** @param most the number of newest entries to read, of all products together @returns only products with unknown balances */
export async function countUnknownBalances(sql: Query, most: number): Promise<NewestBalances[]> {
  return await sql<NewestBalances[]>`
    select product_id as "productId", count(*)::int as entries,
      count(*) filter (where balance_before is null and balance_after is null)::int as unknown
    from (select product_id, balance_before, balance_after, skip_balance_update from callback_entries
      order by received_at desc limit ${most}) newest
    where not skip_balance_update
    group by product_id having count(*) filter (where balance_before is null and balance_after is null) > 0
    order by product_id`;
}

/** The money that a product's entries moved, including entries that were deleted by retention. */
interface MovedSums {
  /** by currency; entries without `moved` are not in it */
  readonly moved: Map<string, Amount>;
  /** the number of deleted entries without `moved` */
  readonly unstated: number;
}

/** Sums all entries of the product. */
export async function sumMoved(tx: Query, productId: string): Promise<MovedSums> {
  const rows = await tx<{ currency: string; moved: string; unstated: number }[]>`
    select currency, coalesce(sum(moved), 0)::text as moved, coalesce(sum(unstated), 0)::bigint as unstated from (
      select currency, moved, 0 as unstated from callback_entries where product_id = ${productId}
      union all
      select currency, moved, unstated from moved_deleted where product_id = ${productId}
    ) found
    group by currency order by currency`;
  return {
    moved: new Map(rows.map(({ currency, moved }) => [currency, parseAmount(moved, "moved")])),
    unstated: rows.reduce((sum, row) => sum + row.unstated, 0),
  };
}

const PLAYERS_AT_ONCE = 50;
/** The most entries in memory at once. */
const MOST_ENTRIES = 200_000;

/** All entries of each player who has entries without `moved`; null stands for a player with more than `MOST_ENTRIES`. */
export async function* readPlayersWithoutMoved(
  tx: Query,
  productId: string,
): AsyncGenerator<CallbackEntry[] | null> {
  const rows = await tx<{ username: string }[]>`
    select distinct username from callback_entries where product_id = ${productId} and moved is null order by 1`;
  for (let from = 0; from < rows.length; from += PLAYERS_AT_ONCE) {
    const names = rows.slice(from, from + PLAYERS_AT_ONCE).map(({ username }) => username);
    const entries = await readEntriesOfPlayers(tx, productId, names, MOST_ENTRIES + 1);
    if (entries.length <= MOST_ENTRIES) {
      yield* Map.groupBy(entries, ({ username }) => username).values();
      continue;
    }
    for (const name of names) {
      const own = await readEntriesOfPlayers(tx, productId, [name], MOST_ENTRIES + 1);
      yield own.length > MOST_ENTRIES ? null : own;
    }
  }
}
