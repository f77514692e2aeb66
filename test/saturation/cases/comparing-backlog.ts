/** Products with a large backlog of comparisons, beside others with single bets. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { withDatabase } from "../../../bench/support/database.ts";
import type { Sql } from "../../../src/db/client.ts";
import { atMost, type Report, type SaturationCase } from "../case.ts";
import { startRealWorker } from "../support/real-worker.ts";

const BACKLOG = 60_000;
const BEHIND = ["B1", "B2", "B3"];
const OTHERS = ["P1", "P2", "P3", "P4", "P5", "P6"];
const WATCHED_MS = 140_000;
const PAUSE_MS = 3_000;
/** The same as in `diff-product`. */
const TURN_SECONDS = 20;
/** A tick, a comparison that is under way at the end of a turn, and a machine with other work. */
const SLACK_SECONDS = 20;

/** Bets in rounds of their own, four hours ago; the provider paid 1 more where $4 divides the bet's number. */
const BETS_OF = `
  select g, $1::text as product_id, 'player-' || g % 1000 as username, 'bet-' || g as txn_id, 'round-' || g as round_id,
    (g % 500 + 1)::numeric as stake, (g % 7)::numeric as payout, now() - interval '4 h' as at
  from generate_series($2::bigint, $3::bigint) as g`;
const ENTRIES = `
  insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
    bet_amount, payout_amount, transaction_type, skip_balance_update, moved, occurred_at, received_at)
  select product_id || txn_id || '-' || step, callback, txn_id || '-' || step, product_id, username, 'THB', txn_id, round_id,
    status, bet_amount, payout_amount, 'BY_TRANSACTION', false, moved, at + (step - 1) * interval '0.4 s',
    at + (step - 1) * interval '0.4 s'
  from (${BETS_OF}) bets cross join lateral (values
    (1, 'placeBets', 'OPEN', stake, null::numeric, -stake), (2, 'settleBets', 'SETTLED', null, payout, payout)
  ) as entry (step, callback, status, bet_amount, payout_amount, moved)`;
/** The record's id names the bet, so that no screening drops it. */
const RECORDS = `
  insert into bet_records (product_id, username, bet_id, id, round_id, currency, stake, payout, game_code, game_name,
    bet_status, payout_status, accounting_date, updated_date, version_seen_at, requested_at)
  select product_id, username, 'ticket-' || g, txn_id, round_id, 'THB', stake,
    payout + case when g % $4::bigint = 0 then 1 else 0 end, 'game', 'Game', 'SETTLED', 'UNKNOWN',
    at + interval '0.5 s', at + interval '0.5 s', at + interval '1 h', at + interval '1 h'
  from (${BETS_OF}) bets`;

async function write(sql: Sql, productId: string, from: number, to: number, differs: number): Promise<void> {
  await sql.unsafe(RECORDS, [productId, from, to, differs]);
  await sql.unsafe(ENTRIES, [productId, from, to]);
}

export const saturation: SaturationCase = {
  name: "comparing-backlog",
  what: `${BEHIND.length} products with ${BACKLOG} bets each to compare, and ${OTHERS.length} with one now and then, in one place`,
  run: (report) =>
    withDatabase(async (sql, url) => {
      const provider = createServer((_, response) => {
        response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"reqId":"r","code":0,"message":"Success","data":{"txns":[]}}');
      }).listen(0, "127.0.0.1");
      for (const productId of BEHIND) await write(sql, productId, 1, BACKLOG, 1_000_000_000);
      for (const productId of OTHERS) await write(sql, productId, 1, 10, 1_000_000_000);
      await sql.unsafe("analyze");
      const { port } = provider.address() as AddressInfo;
      const config = {
        products: [...BEHIND, ...OTHERS].map((productId) => ({ productId })),
        pull: { concurrency: 1 },
        diff: { every: "PT5S" },
      };
      const worker = await startRealWorker(url, config, {
        PROVIDER_BASE_URL: `http://127.0.0.1:${port}`,
        PROVIDER_USERNAME: "u",
        PROVIDER_PASSWORD: "p",
      });
      try {
        await measure(sql, report);
      } finally {
        await worker.stop();
        provider.close();
      }
    }),
};

/**
 * For each of the others, again and again, a bet that differs: the time until it is compared, and which products are served
 * meanwhile.
 */
async function measure(sql: Sql, report: Report): Promise<void> {
  const waiting = new Map<string, number>();
  const served = new Map(BEHIND.map((productId) => [productId, 0]));
  let longest = 0;
  let before = await countMarks(sql);
  const endsAt = performance.now() + WATCHED_MS;
  for (let bet = 1_000; performance.now() < endsAt; bet += 1) {
    for (const productId of OTHERS) {
      if (waiting.has(productId)) continue;
      waiting.set(productId, performance.now());
      await write(sql, productId, bet, bet, 1);
    }
    await pause(PAUSE_MS);
    const now = await countMarks(sql);
    for (const [productId, since] of waiting) {
      longest = Math.max(longest, (performance.now() - since) / 1000);
      if (!now.has(productId)) waiting.delete(productId);
    }
    for (const [productId, seconds] of served)
      if (now.get(productId) !== before.get(productId)) served.set(productId, seconds + PAUSE_MS / 1000);
    before = now;
  }
  const ahead = Math.max(...served.values()) - Math.min(...served.values());
  const most = BEHIND.length * TURN_SECONDS + SLACK_SECONDS;
  report(
    atMost("seconds a bet of the others waited at the most", Math.round(longest), most),
    atMost(
      "seconds for which one with a backlog was compared longer than another",
      Math.round(ahead),
      TURN_SECONDS + SLACK_SECONDS,
    ),
  );
}

/** Due marks; a product without any is left out. */
async function countMarks(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql<{ productId: string; marks: number }[]>`
    select product_id as "productId", sum(cardinality(usernames))::bigint as marks from diff_marks
    where due_at <= now() group by 1`;
  return new Map(rows.map(({ productId, marks }) => [productId, marks]));
}
