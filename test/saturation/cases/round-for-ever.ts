/** A game that uses one round id for ever: 60,000 agreeing bets lie in it, and one that differs. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { withDatabase } from "../../../bench/support/database.ts";
import type { Sql } from "../../../src/db/client.ts";
import { atMost, type Report, type SaturationCase } from "../case.ts";
import { startRealWorker } from "../support/real-worker.ts";

const BETS = 60_000;
const LONGEST_MS = 150_000;
const MOST_MEGABYTES = 600;

/** A bet each second until four hours ago; of the one in the middle the provider paid more. */
const BETS_OF = `
  select g, 'anna' as username, 'bet-' || g as txn_id, 'for-ever' as round_id, (g % 500 + 1)::numeric as stake,
    (g % 7)::numeric as payout, now() - interval '4 h' - ($2::bigint - g) * interval '1 s' as at
  from generate_series($1::bigint, $2::bigint) as g`;
const ENTRIES = `
  insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
    bet_amount, payout_amount, transaction_type, skip_balance_update, moved, occurred_at, received_at)
  select txn_id || '-' || step, callback, txn_id || '-' || step, 'P1', username, 'THB', txn_id, round_id, status,
    bet_amount, payout_amount, 'BY_TRANSACTION', false, moved, at + (step - 1) * interval '0.4 s',
    at + (step - 1) * interval '0.4 s'
  from (${BETS_OF}) bets cross join lateral (values
    (1, 'placeBets', 'OPEN', stake, null::numeric, -stake), (2, 'settleBets', 'SETTLED', null, payout, payout)
  ) as entry (step, callback, status, bet_amount, payout_amount, moved)`;
const RECORDS = `
  insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
    bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
  select 'P1', username, txn_id, 'tx-' || g, round_id, 'THB', stake, payout + case when g = $3::bigint then 1 else 0 end,
    'game', 'Game', 'SETTLED', 'UNKNOWN', at + interval '0.5 s', at + interval '0.5 s', at + interval '1 h', at + interval '1 h'
  from (${BETS_OF}) bets`;

export const saturation: SaturationCase = {
  name: "round-for-ever",
  what: `a round with ${BETS} agreeing bets, and one that differs, is compared`,
  run: async (report) =>
    await withDatabase(async (sql, url) => {
      const provider = createServer((_, response) => {
        response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"reqId":"r","code":0,"message":"Success","data":{"txns":[]}}');
      }).listen(0, "127.0.0.1");
      await write(sql, 1, BETS, BETS / 2);
      const { port } = provider.address() as AddressInfo;
      const config = { products: [{ productId: "P1" }], diff: { every: "PT1S" } };
      const worker = await startRealWorker(url, config, {
        PROVIDER_BASE_URL: `http://127.0.0.1:${port}`,
        PROVIDER_USERNAME: "u",
        PROVIDER_PASSWORD: "p",
      });
      try {
        await measure(sql, () => worker.peakMegabytes(), report);
      } finally {
        await worker.stop();
        provider.close();
      }
    }),
};

async function measure(sql: Sql, peakMegabytes: () => number, report: Report): Promise<void> {
  const foundAfter = await seconds(async () => {
    const open = await sql`select subject from mismatches where status = 'open'`;
    return open.length === 1 && open[0]?.["subject"] === `bet:bet-${BETS / 2}`;
  });
  report(atMost("seconds until the planted difference is found", foundAfter, LONGEST_MS / 1000));
  await write(sql, BETS + 1, BETS + 1, BETS + 1);
  const nextAfter = await seconds(
    async () => (await sql`select from mismatches where subject = ${`bet:bet-${BETS + 1}`}`).length === 1,
  );
  report(atMost("seconds until the next bet that differs is found", nextAfter, 15));
  report(atMost("megabytes of the worker", Math.round(peakMegabytes()), MOST_MEGABYTES));
}

async function seconds(isDone: () => Promise<boolean>): Promise<number> {
  const startedAt = performance.now();
  while (!(await isDone())) {
    if (performance.now() - startedAt > LONGEST_MS) return Number.POSITIVE_INFINITY;
    await pause(250);
  }
  return Math.round((performance.now() - startedAt) / 100) / 10;
}

async function write(sql: Sql, from: number, to: number, differs: number): Promise<void> {
  await sql.unsafe(ENTRIES, [from, to]);
  await sql.unsafe(RECORDS, [from, to, differs]);
}
