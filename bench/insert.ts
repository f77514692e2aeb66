/**
 * insert: the cost of the triggers for a program that inserts into `callback_entries`, compared with the same table
 * without triggers. Both tables take turns, so that other load of the machine meets both.
 */

import postgres from "postgres";
import { withDatabase } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";

const BAR = 1.3;
/** The rows of one statement, and the number of turns of both tables. */
const SIZES = [
  { name: "insert-one", rows: 1, turns: 3_000 },
  { name: "insert-thousand", rows: 1_000, turns: 60 },
] as const;
const WARM_UP_SHARE = 0.1;

export async function measureInsert(): Promise<Figure[]> {
  return await withDatabase(async (_sql, url) => {
    // An ordinary client, as another program would use.
    const client = postgres(url, { max: 1, onnotice: () => {} });
    try {
      await client`create table bare_entries (like callback_entries including all)`;
      const figures: Figure[] = [];
      for (const { name, rows, turns } of SIZES) {
        const compared: number[] = [];
        const bare: number[] = [];
        for (let turn = 0; turn < turns; turn += 1) {
          const isWarm = turn >= turns * WARM_UP_SHARE;
          const pair = [
            ["callback_entries", compared],
            ["bare_entries", bare],
          ] as const;
          for (const [table, times] of turn % 2 === 0 ? pair : pair.toReversed()) {
            const tookMs = await insertInto(client, table, turn, rows);
            if (isWarm) times.push(tookMs);
          }
        }
        const [withIt, without] = [median(compared), median(bare)];
        const detail = `${withIt.toFixed(3)} ms of ${without.toFixed(3)} ms for ${rows} row${rows === 1 ? "" : "s"}, medians of ${compared.length}`;
        figures.push(atMost(name, withIt / without, BAR, detail));
      }
      return figures;
    } finally {
      await client.end();
    }
  });
}

async function insertInto(client: postgres.Sql, table: string, turn: number, rows: number): Promise<number> {
  const numbers = Array.from({ length: rows }, (_, row) => `${rows}-${turn}-${row}`);
  const players = numbers.map((_, row) => `player${(turn * 7 + row) % 5_000}`);
  const began = performance.now();
  await client`
    insert into ${client(table)} (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id,
      status, bet_amount, skip_balance_update, moved, balance_before, balance_after, occurred_at, received_at)
    select 'e' || n, 'placeBets', 'q' || n, 'P1', player, 'THB', 't' || n, 'r' || n, 'OPEN', 10.25, false, -10.25,
      1000, 989.75, now(), now()
    from unnest(${numbers}::text[], ${players}::text[]) as t (n, player)`;
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
