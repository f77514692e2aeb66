/** width: comparing one new bet in a round of very many bets, measured against a round of ten. */

import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import { compareProduct } from "../src/flows/compare/compare-product.ts";
import { silentLog } from "../src/log.ts";
import { createTestClock } from "../test/support/clock.ts";
import { withDatabase, withTemporaryServer } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import { BEGIN, HOUR_MS } from "./support/pages.ts";

const NARROW = 10;
const WIDE = 100_000;
const BETS_TIMED = 40;
/** The first comparison of a wide round reads all of it once. */
const WARM_UP = 5;

const NOW = BEGIN + 48 * HOUR_MS;

/** Bets of a player in one round, a second apart, equal on both sides. */
const BETS = `
  select g, 'player-' || $1::text as username, $1 || '-bet-' || g as txn_id, 'round-' || $1 as round_id,
    (g % 500 + 1)::numeric as stake, case when g % 3 = 0 then (g % 900 + 2)::numeric else 0 end as payout,
    to_timestamp(${BEGIN / 1000}) + g * interval '1 s' as at
  from generate_series($2::bigint, $3::bigint) as g`;

const ENTRIES = `
  insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
    bet_amount, payout_amount, transaction_type, skip_balance_update, moved, occurred_at, received_at)
  select txn_id || '-' || step, callback, txn_id || '-' || step, 'P1', username, 'THB', txn_id, round_id, status,
    bet_amount, payout_amount, 'BY_TRANSACTION', false, moved, at, at
  from (${BETS}) bets cross join lateral (values
    (1, 'placeBets', 'OPEN', stake, null::numeric, -stake), (2, 'settleBets', 'SETTLED', null, payout, payout)
  ) as entry (step, callback, status, bet_amount, payout_amount, moved)`;

const RECORDS = `
  insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
    bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
  select 'P1', username, txn_id, 'tx-' || txn_id, round_id, 'THB', stake, payout, 'game', 'Game', 'SETTLED', 'UNKNOWN',
    at, at, at, at
  from (${BETS}) bets`;

const MARKS = `
  insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
  select 'P1', array[username], array[round_id], array[txn_id], at from (${BETS}) bets`;

export async function measureWidth(wide = WIDE): Promise<Figure[]> {
  return await withTemporaryServer(async (server) =>
    withDatabase(async (sql) => {
      const rounds = { narrow: NARROW, wide };
      for (const [name, bets] of Object.entries(rounds)) await write(sql, name, 1, bets);
      await sql.unsafe("truncate diff_marks");
      for (const table of ["callback_entries", "bet_records"]) await sql.unsafe(`vacuum analyze ${table}`);
      const took = { narrow: [] as number[], wide: [] as number[] };
      for (let bet = 1; bet <= WARM_UP + BETS_TIMED; bet += 1) {
        for (const name of ["narrow", "wide"] as const) {
          const ms = await compareOne(sql, name, rounds[name] + bet);
          if (bet > WARM_UP) took[name].push(ms);
          else console.error(`width: bet ${bet} of the ${name} round in ${ms.toFixed(0)} ms`);
        }
      }
      const [a, b] = [median(took.wide), median(took.narrow)];
      const detail = `one bet in ${a.toFixed(1)} ms in a round of ${wide}, in ${b.toFixed(1)} ms in one of ${NARROW}`;
      return [atMost("width", a / b, 1.5, detail)];
    }, server),
  );
}

async function write(sql: Sql, round: string, from: number, to: number): Promise<void> {
  await sql.unsafe(ENTRIES, [round, from, to]);
  await sql.unsafe(RECORDS, [round, from, to]);
}

/** Adds a bet on both sides, and compares it. */
async function compareOne(sql: Sql, round: string, bet: number): Promise<number> {
  await write(sql, round, bet, bet);
  await sql.unsafe(MARKS, [round, bet, bet]);
  const config = parseConfig({ products: [{ productId: "P1" }] });
  const context = { sql, config, clock: createTestClock(NOW), log: silentLog };
  const startedAt = performance.now();
  await compareProduct(context, "P1", new AbortController().signal);
  const took = performance.now() - startedAt;
  const [left] = await sql`select from diff_marks limit 1`;
  if (left !== undefined) throw new Error("something was not compared");
  return took;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
