/** More records than any page, mark or batch can hold vanish from one window of the provider. */

import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { formatInstant, systemClock } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import { betItem, pageBody } from "../../support/http-provider.ts";
import { atMost, type Check, none, type SaturationCase } from "../case.ts";
import { type AskedPage, underLoad } from "../pulling.ts";

const BETS = 3_000;
/** One of three bets of a round stays, and must not hide the others. */
const STAYS_EVERY = 3;
const GONE = BETS - BETS / STAYS_EVERY;
const PAGE = 1_000;
const MINUTE_MS = 60_000;
const AGE_MS = 20 * MINUTE_MS;
const STEP_MS = 10;
const LONGEST_MS = 480_000;

export const saturation: SaturationCase = {
  name: "mass-disappearance",
  what: `${GONE} of ${BETS} records of one window vanish at the provider`,
  run: async (report) => {
    const begin = Math.floor((systemClock.now() - AGE_MS) / MINUTE_MS) * MINUTE_MS;
    const range = { from: begin, to: begin + MINUTE_MS };
    let listed = Array.from({ length: BETS }, (_, bet) => bet);
    const config = {
      products: [{ productId: "P1", since: formatInstant(begin - 5 * MINUTE_MS) }],
      pull: { every: "PT2S", settleDelay: "PT2S", overlap: "PT1S", resweepAfter: [] },
      diff: { every: "PT2S", callbackGrace: "PT5S", providerGrace: "PT5S" },
    };
    const answer = (asked: AskedPage, response: ServerResponse) => {
      const found = listed.filter((bet) => asked.from <= timeOf(bet) && timeOf(bet) < asked.to);
      const at = Number(asked.nextId ?? 0);
      const items = found.slice(at, at + PAGE).map(itemOf);
      const next = at + PAGE < found.length ? String(at + PAGE) : undefined;
      response.writeHead(200, { "content-type": "application/json" }).end(pageBody(items, next));
      return true;
    };
    const timeOf = (bet: number) => begin + bet * STEP_MS;
    const itemOf = (bet: number) =>
      betItem({
        id: `"rec-${bet}"`,
        betId: `"bet-${bet}"`,
        username: `"player-${Math.floor(bet / 3) % 400}"`,
        roundId: `"round-${Math.floor(bet / 3)}"`,
        accountingDate: `"${formatInstant(timeOf(bet))}"`,
        updatedDate: `"${formatInstant(timeOf(bet))}"`,
      });
    const load = {
      config,
      workers: 1,
      queues: "PostgreSQL",
      answerMs: 0,
      answer,
      prepare: (sql: Sql) => writeCallbacks(sql, begin),
    } as const;
    await underLoad(load, async ({ sql, nowMs }) => {
      const count = async (rows: string) =>
        (await sql.unsafe<{ count: number }[]>(`select count(*) as count from ${rows}`))[0]?.count ??
        Number.NaN;
      const seconds = async (isDone: () => Promise<boolean>) => {
        const from = nowMs();
        while (!(await isDone())) {
          if (nowMs() - from > LONGEST_MS) return "never";
          await pause(500);
        }
        return Math.round((nowMs() - from) / 1000);
      };
      report(
        atMost(
          "seconds until all of them are fetched",
          await seconds(async () => (await count("bet_records")) === BETS),
          60,
        ),
      );
      const isCompared = async () => (await count("diff_marks where due_at <= now()")) === 0;
      report(atMost("seconds until they are compared", await seconds(isCompared), 60));
      report(none("mismatches before", await count("mismatches")));
      listed = listed.filter((bet) => bet % STAYS_EVERY === 0);
      // Plans the range as a resweep does.
      await sql`
        insert into windows (product_id, kind, from_at, to_at) values ('P1', 'resweep', ${range.from}, ${range.to})`;
      const vanished = "mismatches where kind = 'vanished-at-provider' and status = 'open'";
      const after = await seconds(async () => (await count(vanished)) >= GONE);
      report(atMost(`seconds until ${GONE} of them are noticed`, after, 300));
      const found = await count(vanished);
      const all: Check = { what: "of them noticed", value: found, bar: String(GONE), holds: found === GONE };
      report(all, none("other mismatches", (await count("mismatches")) - found));
    });
  },
};

/** Each bet is placed, and settled at once with a payout of 0. */
async function writeCallbacks(sql: Sql, begin: number): Promise<void> {
  await sql`
    insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, round_id, status,
      bet_amount, payout_amount, transaction_type, skip_balance_update, moved, occurred_at, received_at)
    select txn_id || '-' || step, callback, txn_id || '-' || step, 'P1', username, 'THB', txn_id, round_id, status,
      bet_amount, payout_amount, 'BY_TRANSACTION', false, moved, at, at
    from (
      select 'bet-' || g as txn_id, 'player-' || (g / 3) % 400 as username, 'round-' || g / 3 as round_id,
        ${begin}::timestamptz + g * ${STEP_MS} * interval '1 ms' as at
      from generate_series(0, ${BETS - 1}::integer) as g
    ) bets cross join lateral (values
      (1, 'placeBets', 'OPEN', 10::numeric, null::numeric, -10::numeric), (2, 'settleBets', 'SETTLED', null, 0, 0)
    ) as entry (step, callback, status, bet_amount, payout_amount, moved)`;
}
