/** Bets on both sides of a product, made by the database itself, a second apart until some hours ago. */

import type { Sql } from "../../../src/db/client.ts";

export interface AgreeingBets {
  readonly productId: string;
  /** numbers of the first and the last bet; each number is unique in its product */
  readonly from: number;
  readonly to: number;
  /** the round of all bets; null: each bet has a round of its own */
  readonly roundId: string | null;
  /** the provider paid more for bets whose number this divides */
  readonly differsEvery: number;
}

const BETS = `
  select g, 'anna' as username, 'bet-' || g as txn_id, coalesce($4::text, 'round-' || g) as round_id,
    (g % 500 + 1)::numeric as stake, (g % 7)::numeric as payout,
    now() - interval '4 h' - ($3::bigint - g) * interval '1 s' as at
  from generate_series($2::bigint, $3::bigint) as g`;
const ENTRIES = `
  insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
    bet_amount, payout_amount, transaction_type, skip_balance_update, moved, occurred_at, received_at)
  select concat($1::text, '-', txn_id, '-', step), callback, concat($1::text, '-', txn_id, '-', step), $1, username, 'THB',
    txn_id, round_id, status, bet_amount, payout_amount, 'BY_TRANSACTION', false, moved,
    at + (step - 1) * interval '0.4 s', at + (step - 1) * interval '0.4 s'
  from (${BETS}) bets cross join lateral (values
    (1, 'placeBets', 'OPEN', stake, null::numeric, -stake), (2, 'settleBets', 'SETTLED', null, payout, payout)
  ) as entry (step, callback, status, bet_amount, payout_amount, moved)`;
const RECORDS = `
  insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
    bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
  select $1, username, txn_id, 'tx-' || g, round_id, 'THB', stake,
    payout + case when g % $5::bigint = 0 then 1 else 0 end, 'game', 'Game', 'SETTLED', 'UNKNOWN',
    at + interval '0.5 s', at + interval '0.5 s', at + interval '1 h', at + interval '1 h'
  from (${BETS}) bets`;

/** Writes callbacks, which mark what they touch, and records that were fetched an hour later. */
export async function writeBets(sql: Sql, bets: AgreeingBets): Promise<void> {
  const { productId, from, to, roundId, differsEvery } = bets;
  // In one transaction, so that no reader sees a bet on one side only.
  await sql.begin(async (tx) => {
    await tx.unsafe(RECORDS, [productId, from, to, roundId, differsEvery]);
    await tx.unsafe(ENTRIES, [productId, from, to, roundId]);
  });
}
