/**
 * The built-in wallet in PostgreSQL. One request is one transaction of three statements: lock, read, write, in
 * two round trips. The lock and the read go out together, but are two statements, because what a statement reads is as old as its beginning: one
 * that had waited for the lock would not see what the request before it wrote.
 */

import type { PendingQuery } from "postgres";
import type { Clock, Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { type Lanes, openLanes } from "../db/lanes.ts";
import { type Amount, formatAmount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";
import type { BetState } from "./bet-state.ts";
import type { JudgeSettings, Tombstones } from "./desk.ts";
import {
  type Failure,
  judgeRequest,
  namesOf,
  type PlayerState,
  type Success,
  type Verdict,
} from "./judge.ts";
import type { CallbackRequest, Envelope } from "./request.ts";
import type { StatusCode } from "./status-code.ts";

/** Two players' requests with one id: the second one to commit is judged again, and finds the first. */
const UNIQUE_VIOLATION = "23505";

/** The connections that requests are applied on, beside those of a pool. */
export function openWalletLanes(sql: Sql): Lanes {
  return openLanes(sql, [UNIQUE_VIOLATION]);
}

/**
 * Judges a request and applies it, in one transaction: all items or none.
 * @param body what is kept of it, without session tokens
 */
export async function applyRequest(
  lanes: Lanes,
  request: CallbackRequest,
  body: string,
  settings: JudgeSettings,
  clock: Clock,
): Promise<Verdict> {
  return await lanes.transact(
    (tx) => lockPlayer(tx, request),
    (state) => {
      const verdict = judgeRequest(request, state, settings);
      // Taken under the lock, so that a player's entries lie in the order in which they took effect.
      const receivedAt = clock.now();
      const write = (tx: Query) => {
        if (verdict.statusCode !== 0) return writeFailure(tx, request, verdict, body, receivedAt);
        if (verdict.changes === null) return [insertBody(tx, keptOf(request, 0, body, receivedAt))];
        return [writeSuccess(tx, request, verdict, verdict.changes, body, receivedAt)];
      };
      return { result: verdict, write };
    },
  );
}

/** The body of a callback, as it is kept. */
export interface KeptBody {
  readonly callback: string;
  /** null: could not be read */
  readonly productId: string | null;
  readonly requestId: string | null;
  readonly statusCode: StatusCode;
  readonly body: string;
  readonly receivedAt: Instant;
}

export async function keepBody(sql: Query, kept: KeptBody): Promise<void> {
  await insertBody(sql, kept);
}

function insertBody(sql: Query, kept: KeptBody) {
  return sql<never[]>`
    insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
    values (${kept.callback}, ${kept.productId}, ${kept.requestId}, ${kept.statusCode}, ${kept.body},
      ${kept.receivedAt})`;
}

/** Answers checkBalance (§4.A1), and keeps its body. @returns null where the player has no wallet of this currency */
export async function checkBalance(
  sql: Query,
  { username, currency, productId, requestId }: Envelope,
  body: string,
  receivedAt: Instant,
): Promise<Amount | null> {
  const [row] = await sql<{ balance: string | null }[]>`
    with wallet as (select balance from wallets where username = ${username} and currency = ${currency}),
    kept as (
      insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
      select 'checkBalance', ${productId}, ${requestId}, case when exists (select from wallet) then 0 else 10001 end,
        ${body}, ${receivedAt}
    )
    select (select balance from wallet) as balance`;
  return row?.balance == null ? null : parseAmount(row.balance, "balance");
}

/**
 * Forgets bodies that were received in a range of time, the oldest first; those that somebody else forgets just now are
 * left to them.
 * @param most so many at once; go on behind the last of them while there were any
 */
export async function dropOldBodies(
  sql: Query,
  { from, to }: TimeRange,
  most: number,
): Promise<{
  readonly count: number /** the last of them; null: there were none */;
  readonly last: Instant | null;
}> {
  const [row] = await sql<{ count: number; last: Instant | null }[]>`
    with dropped as (
      delete from callback_bodies where id = any(array(
        select id from callback_bodies where received_at >= ${from} and received_at < ${to}
        order by received_at limit ${most} for update skip locked))
      returning received_at
    )
    select count(*) as count, max(received_at) as last from dropped`;
  return row ?? { count: 0, last: null };
}

interface StateRow {
  digest: string | null;
  balanceBefore: string | null;
  balanceAfter: string | null;
  deadBets: string[];
  deadRounds: string[];
  takenRefs: string[];
  bets: BetRow[] | null;
}

type BetAmount = "stake" | "debited" | "settlement" | "reward";
type BetRow = Omit<BetState, BetAmount> & Record<BetAmount, string>;

/** All wallets of the player are locked, in sorted order, because a bet may be named with any currency. */
async function lockPlayer(tx: Query, request: CallbackRequest): Promise<PlayerState> {
  const { productId, username, callback, requestId } = request;
  const { txnIds, rounds, roundsActedOn } = namesOf(request);
  const refIds = callback === "adjustBalance" ? txnIds : [];
  const betIds = callback === "adjustBalance" ? [] : txnIds;
  const [wallets, [row]] = await Promise.all([
    tx<{ currency: string; balance: string }[]>`
      select currency, balance from wallets where username = ${username} order by currency for update`,
    tx<StateRow[]>`
      select r.digest, r.balance_before as "balanceBefore", r.balance_after as "balanceAfter",
        array(select ref from wallet_tombstones where product_id = ${productId} and username = ${username}
          and kind = 'bet' and ref = any(${betIds}::text[])) as "deadBets",
        array(select ref from wallet_tombstones where product_id = ${productId} and username = ${username}
          and kind = 'round' and ref = any(${rounds}::text[])) as "deadRounds",
        array(select txn_id from callback_entries where product_id = ${productId} and username = ${username}
          and txn_id = any(${refIds}::text[]) and callback = 'adjustBalance') as "takenRefs",
        (select jsonb_agg(jsonb_build_object('txnId', txn_id, 'currency', currency, 'roundId', round_id,
            'status', status, 'stake', stake::text, 'debited', debited::text, 'wasDebited', was_debited,
            'settlement', settlement::text, 'reward', reward::text, 'placed', placed, 'waiting', waiting, 'tip', tip,
            'rewardOnly', reward_only, 'endRound', end_round, 'payoutReturned', payout_returned, 'said', said)
            order by id)
          from wallet_bets where product_id = ${productId} and username = ${username}
          and (txn_id = any(${betIds}::text[]) or round_id = any(${roundsActedOn}::text[]))) as bets
      from (values (1)) as one
      left join callback_requests r
        on r.product_id = ${productId} and r.callback = ${callback} and r.request_id = ${requestId}`,
  ]);
  const wallet = wallets.find(({ currency }) => currency === request.currency);
  return {
    balance: wallet === undefined ? null : parseAmount(wallet.balance, "balance"),
    earlier: earlierOf(row),
    bets: (row?.bets ?? []).map(betOf),
    tombstones: { bets: new Set(row?.deadBets), rounds: new Set(row?.deadRounds) },
    takenRefs: new Set(row?.takenRefs),
  };
}

function earlierOf(row: StateRow | undefined): PlayerState["earlier"] {
  if (row === undefined || row.digest === null) return null;
  return {
    digest: row.digest,
    balanceBefore: parseAmount(row.balanceBefore ?? "", "balance_before"),
    balanceAfter: parseAmount(row.balanceAfter ?? "", "balance_after"),
  };
}

function betOf(row: BetRow): BetState {
  return {
    ...row,
    stake: parseAmount(row.stake, "stake"),
    debited: parseAmount(row.debited, "debited"),
    settlement: parseAmount(row.settlement, "settlement"),
    reward: parseAmount(row.reward, "reward"),
  };
}

/** Everything in one statement: the wallet, the bets, the ledger with its marks, the request and its body. */
function writeSuccess(
  tx: Query,
  request: CallbackRequest,
  { balanceBefore, balanceAfter }: Success,
  { bets, moved }: NonNullable<Success["changes"]>,
  body: string,
  receivedAt: Instant,
): PendingQuery<never[]> {
  const { callback, productId, username, currency, requestId } = request;
  const [before, after] = [formatAmount(balanceBefore), formatAmount(balanceAfter)];
  return tx<never[]>`
    with kept as (
      insert into callback_bodies (callback, product_id, request_id, status_code, body, received_at)
      values (${callback}, ${productId}, ${requestId}, 0, ${body}, ${receivedAt})
      returning id
    ),
    request as (
      insert into callback_requests (product_id, callback, request_id, digest, balance_before, balance_after)
      values (${productId}, ${callback}, ${requestId}, ${request.digest}, ${before}::numeric, ${after}::numeric)
    ),
    wallet as (
      update wallets set balance = ${after}::numeric
      where username = ${username} and currency = ${currency} and balance <> ${after}::numeric
    ),
    bets as (
      insert into wallet_bets (product_id, username, txn_id, currency, round_id, status, stake, debited, was_debited,
        settlement, reward, placed, waiting, tip, reward_only, end_round, payout_returned, said)
      select ${productId}, ${username}, "txnId", ${currency}, "roundId", status, stake, debited, "wasDebited",
        settlement, reward, placed, waiting, tip, "rewardOnly", "endRound", "payoutReturned", said
      from jsonb_to_recordset(${JSON.stringify(bets.map(toBetRow))}::text::jsonb) as t (place integer, "txnId" text,
        "roundId" text, status text, stake numeric, debited numeric, "wasDebited" boolean, settlement numeric,
        reward numeric, placed boolean, waiting boolean, tip boolean, "rewardOnly" boolean, "endRound" boolean,
        "payoutReturned" boolean, said text[])
      order by place
      on conflict (product_id, username, txn_id) do update set status = excluded.status, stake = excluded.stake,
        debited = excluded.debited, was_debited = excluded.was_debited, settlement = excluded.settlement,
        reward = excluded.reward, placed = excluded.placed, waiting = excluded.waiting,
        reward_only = excluded.reward_only, end_round = excluded.end_round,
        payout_returned = excluded.payout_returned, said = excluded.said
    ),
    entries as (
      insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id,
        status, bet_amount, payout_amount, transaction_type, skip_balance_update, moved, balance_before, balance_after,
        occurred_at, received_at)
      select 'c' || lpad(kept.id::text, 16, '0') || '-' || lpad(t.place::text, 4, '0'), ${callback}, ${requestId},
        ${productId}, ${username}, ${currency}, "txnId", "roundId", status, "betAmount", "payoutAmount",
        "transactionType", "skipBalanceUpdate", moved, ${before}::numeric, ${after}::numeric,
        ${request.occurredAt}::timestamptz, ${receivedAt}::timestamptz
      from kept, jsonb_to_recordset(${JSON.stringify(entryRows(request, moved))}::text::jsonb) as t (place integer,
        "txnId" text, "roundId" text, status text, "betAmount" numeric, "payoutAmount" numeric,
        "transactionType" text, "skipBalanceUpdate" boolean, moved numeric)
      returning callback, username, txn_id, nullif(nullif(round_id, ''), 'UNKNOWN') as round
    )
    insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
    select ${productId}, array_agg(username), array_agg(round), array_agg(bet), ${receivedAt}::timestamptz
    from (select distinct username, round, case when round is null then txn_id end as bet
      from entries where callback <> 'adjustBalance') as marks
    having count(*) > 0`;
}

function toBetRow(bet: BetState, place: number) {
  return {
    ...bet,
    place,
    stake: formatAmount(bet.stake),
    debited: formatAmount(bet.debited),
    settlement: formatAmount(bet.settlement),
    reward: formatAmount(bet.reward),
  };
}

function entryRows({ items }: CallbackRequest, moved: readonly Amount[]) {
  const textOf = (amount: Amount | null | undefined) => (amount ? formatAmount(amount) : null);
  return items.map((item, place) => ({
    place,
    txnId: item.txnId,
    roundId: item.roundId,
    status: item.status,
    betAmount: textOf(item.betAmount),
    payoutAmount: textOf(item.payoutAmount),
    transactionType: item.transactionType,
    skipBalanceUpdate: item.skipBalanceUpdate,
    moved: textOf(moved[place]),
  }));
}

function writeFailure(
  tx: Query,
  request: CallbackRequest,
  { statusCode, tombstones }: Failure,
  body: string,
  receivedAt: Instant,
): PendingQuery<never[]>[] {
  const kept = insertBody(tx, keptOf(request, statusCode, body, receivedAt));
  return tombstones.bets.size === 0 ? [kept] : [kept, leaveTombstones(tx, request, tombstones, receivedAt)];
}

function leaveTombstones(
  tx: Query,
  { productId, username }: CallbackRequest,
  { bets, rounds }: Tombstones,
  at: Instant,
): PendingQuery<never[]> {
  const kinds = [...[...bets].map(() => "bet"), ...[...rounds].map(() => "round")];
  return tx<never[]>`
    insert into wallet_tombstones (product_id, username, kind, ref, at)
    select ${productId}, ${username}, kind, ref, ${at}::timestamptz
    from unnest(${kinds}::text[], ${[...bets, ...rounds]}::text[]) as t (kind, ref)
    order by kind, ref
    on conflict do nothing`;
}

function keptOf(
  { callback, productId, requestId }: CallbackRequest,
  statusCode: StatusCode,
  body: string,
  receivedAt: Instant,
): KeptBody {
  return { callback, productId, requestId, statusCode, body, receivedAt };
}
