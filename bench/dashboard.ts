/**
 * dashboard: the list of mismatches and the trends of a month as a signed-in person gets them, with 10,000 open mismatches
 * of 100 products, each compared with the bare SQL of its content.
 */

import { Agent, request } from "node:http";
import { parseConfig } from "../src/config-file.ts";
import type { Sql } from "../src/db/client.ts";
import type { FlowContext } from "../src/flows/context.ts";
import { silentLog } from "../src/log.ts";
import { startOpsServer } from "../src/ops/server.ts";
import { createTestClock } from "../test/support/clock.ts";
import { withDatabase } from "./support/database.ts";
import { atMost, type Figure } from "./support/figure.ts";
import { BEGIN } from "./support/pages.ts";

const OPEN = 10_000;
/** Resolved mismatches, as in a database that has been in use for a while. */
const OVER = 40_000;
const PRODUCTS = 100;
const DAY_MS = 86_400_000;
const ROUNDS = 200;
const WARM_UP = 40;
const TREND_ROUNDS = 30;
const TOKEN = { name: "bench", role: "write", token: "the token of the benchmark" } as const;

/** The orders that the page offers, by query. */
const ORDERS = {
  "": "first_seen_at desc, id desc",
  "?sort=at-risk": "amount_at_risk desc, id desc",
  "?sort=-happened": "occurred_at, id",
};

export async function measureDashboard(open = OPEN): Promise<Figure[]> {
  return await withDatabase(async (sql) => {
    await writeMismatches(sql, open);
    await writeSamples(sql);
    const products = Array.from({ length: PRODUCTS }, (_, index) => ({ productId: `P${index + 1}` }));
    const clock = createTestClock(BEGIN + DAY_MS);
    const context: FlowContext = { sql, config: parseConfig({ products }), clock, log: silentLog };
    const settings = { host: "127.0.0.1", port: 0, tokens: [TOKEN] };
    const server = await startOpsServer(context, settings, async () => {});
    try {
      const get = await signIn(server.url);
      const measured = [];
      for (const [query, order] of Object.entries(ORDERS)) {
        measured.push(await compare(sql, order, () => get(`/mismatches${query}`)));
      }
      const worst = measured.reduce((a, b) => (a.page / a.bare > b.page / b.bare ? a : b));
      const detail = `${open} open: the page in ${worst.page.toFixed(1)} ms, its SQL in ${worst.bare.toFixed(1)} ms, by ${worst.order}`;
      const trends = await compareTrends(sql, async () => {
        // The samples are kept for some seconds.
        clock.advance(20_000);
        return await get("/trends?span=month");
      });
      const both = `the trends of a month in ${trends.page.toFixed(1)} ms, their SQL in ${trends.bare.toFixed(1)} ms`;
      return [
        atMost("dashboard", worst.page / worst.bare, 3, detail),
        atMost("dashboard trends", trends.page / trends.bare, 3, both),
      ];
    } finally {
      await server.close();
    }
  });
}

/** Measures both in turn and takes the median of each, because the machine's speed drifts. */
async function compare(sql: Sql, order: string, readPage: () => Promise<string>) {
  const bare: number[] = [];
  const page: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    bare.push(await timed(() => readBare(sql, order)));
    page.push(await timed(readPage));
  }
  const rows = (await readPage()).match(/<tr id="m\d+">/g)?.length ?? 0;
  if (rows !== 100) throw new Error(`the page shows ${rows} mismatches`);
  return { order, bare: median(bare.slice(WARM_UP)), page: median(page.slice(WARM_UP)) };
}

/**
 * The same rows, count and sums, with each status from the index that has this order: the fastest possible statement.
 */
async function readBare(sql: Sql, order: string): Promise<void> {
  const ofStatus = (status: string) =>
    `(select * from mismatches where status = '${status}' order by ${order} limit 101)`;
  await Promise.all([
    sql.unsafe(
      `select id, kind, status, product_id, username, currency, bet_id, transaction_id, round_id, transaction_ref,
        amount_at_risk, reason, occurred_at, first_seen_at, last_seen_at, resolved_at, resolved_by, note
      from (${ofStatus("open")} union all ${ofStatus("acknowledged")}) chosen order by ${order} limit 101`,
      [],
      { prepare: true },
    ),
    sql.unsafe(
      `select currency, count(*), sum(amount_at_risk) from mismatches
      where status in ('open', 'acknowledged') group by currency order by currency`,
      [],
      { prepare: true },
    ),
  ]);
}

/** The trends of all products, with one statement for each table. */
async function compareTrends(sql: Sql, readPage: () => Promise<string>) {
  const bare: number[] = [];
  const page: number[] = [];
  const from = BEGIN - 29 * DAY_MS;
  const readTables = () =>
    Promise.all([
      sql`select at, max(lag_ms), sum(records), sum(callbacks) from trend_samples where at >= ${from} group by at`,
      sql`select currency, occurred_at, resolved_at, amount_at_risk from mismatches
        where status in ('open', 'acknowledged') or resolved_at >= ${from}`,
      sql`select percentile_disc(0.5) within group (order by first_seen_at - occurred_at) from mismatches
        where first_seen_at >= ${from} group by date_bin('8 hours', first_seen_at, 'epoch')`,
    ]);
  for (let round = 0; round < TREND_ROUNDS; round += 1) {
    bare.push(await timed(readTables));
    page.push(await timed(readPage));
  }
  if (!(await readPage()).includes('id="callbacks"')) throw new Error("the page shows no trends");
  return { bare: median(bare), page: median(page) };
}

/** A month of samples. */
async function writeSamples(sql: Sql): Promise<void> {
  await sql`
    insert into pull_states (product_id, begin, head, window_ms)
    select 'P' || p, ${BEGIN - 40 * DAY_MS}::timestamptz, ${BEGIN + DAY_MS}::timestamptz, 3600000 from generate_series(1, ${PRODUCTS}) p`;
  await sql`
    insert into trend_samples (product_id, at, lag_ms, records, callbacks)
    select 'P' || p, date_bin('15 minutes', ${BEGIN + DAY_MS}::timestamptz, 'epoch') - q * interval '15 minutes', q % 977 * 100,
      q % 353, q % 701
    from generate_series(1, ${PRODUCTS}) p, generate_series(1, 30 * 96) q`;
  await sql`vacuum analyze trend_samples`;
}

async function writeMismatches(sql: Sql, open: number): Promise<void> {
  await sql`
    insert into mismatches (product_id, username, subject, kind, status, currency, bet_id, transaction_id, round_id,
      amount_at_risk, reason, provider, ledger, occurred_at, first_seen_at, last_seen_at, resolved_at, resolved_by)
    select 'P' || 1 + g % ${PRODUCTS}, 'player-' || g % 700, 'bet:' || g, 'payout-differs',
      case when g % ${Math.round((open + OVER) / open)} <> 0 then 'resolved' when g % 7 = 0 then 'acknowledged' else 'open' end,
      case when g % 9 = 0 then 'USD' else 'THB' end, 'bet-' || g, 'bet-' || g, 'round-' || g, (g * 7919 % 100000) * 0.01,
      'paid out ' || g % 900 || '.50 THB at the provider, ' || g % 800 || '.00 THB in the ledger',
      jsonb_build_object('id', 'tx-' || g, 'betId', 'bet-' || g, 'status', 'SETTLED', 'stake', '10.00', 'payout', '20.50',
        'currency', 'THB', 'username', 'player-' || g % 700, 'updatedDate', '2026-11-20T11:59:00.000Z',
        'accountingDate', '2026-11-20T11:58:00.000Z'),
      jsonb_build_object('txnId', 'bet-' || g, 'status', 'settled', 'stake', '10.00', 'payout', '20.00', 'moved', '10.00',
        'currency', 'THB', 'username', 'player-' || g % 700, 'firstEntryAt', '2026-11-20T11:55:00.000Z',
        'lastEntryAt', '2026-11-20T11:56:00.000Z'),
      at - g * 31 % 5000 * interval '1 second', at, at, null, null
    from generate_series(1, ${open + OVER}) g
    cross join lateral (select ${BEGIN}::timestamptz + g / 20 * interval '1 second' as at) t`;
  await sql`vacuum analyze mismatches`;
}

/** @returns a function that reads a page as a signed-in person, over one open connection */
async function signIn(url: string): Promise<(path: string) => Promise<string>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string, path: string, headers: Record<string, string>, body = "") =>
    new Promise<{ text: string; status: number; cookie: string }>((resolve, reject) => {
      const sent = request(url + path, { method, headers, agent }, async (answer) => {
        const text = (await answer.setEncoding("utf8").toArray()).join("");
        const cookie = answer.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
        resolve({ text, status: answer.statusCode ?? 0, cookie });
      });
      sent.on("error", reject).end(body);
    });
  const form = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" };
  const { cookie } = await ask("POST", "/sign-in", form, `token=${encodeURIComponent(TOKEN.token)}`);
  return async (path) => {
    const { status, text } = await ask("GET", path, { accept: "text/html", cookie });
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
    return text;
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
