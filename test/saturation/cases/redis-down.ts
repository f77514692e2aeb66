/** Redis cannot be reached for five minutes. */

import type { Check, SaturationCase } from "../case.ts";
import { inTime, isAlerted, whileWorking } from "../standing-still.ts";

const DOWN_SECONDS = 5 * 60;

export const saturation: SaturationCase = {
  name: "redis-down",
  what: "Redis is gone for five minutes: no queue is served, and nobody but the workers themselves can report it",
  run: () =>
    whileWorking(
      {
        config: { products: [{ productId: "P1" }, { productId: "P2" }] },
        workers: 2,
        inRedis: true,
        prepare: async (sql) => {
          await sql`
            insert into callback_entries (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
              skip_balance_update, occurred_at, received_at)
            values ('e', 'placeBets', 'e', 'P1', 'anna', 'THB', 'e', 'OPEN', false, now(), now())`;
        },
      },
      async ({ sql, secondsUntil, overviewSaysWell, status, beats, redis, nowMs }): Promise<Check[]> => {
        await secondsUntil(overviewSaysWell, 180);
        const downAt = nowMs();
        await redis?.refuse();
        const alerted = await secondsUntil(() => isAlerted(sql, "queue-unserved"), DOWN_SECONDS);
        await secondsUntil(() => nowMs() - downAt > DOWN_SECONDS * 1000, DOWN_SECONDS);
        const isWell = await overviewSaysWell();
        const { problem } = (await status()).comparing;
        const lastBeat = Math.round((nowMs() - (beats.at(-1) ?? 0)) / 1000);
        await redis?.restore();
        const over = await secondsUntil(() => isAlerted(sql, "queue-unserved-over"), 180);
        const wellAgain = await secondsUntil(overviewSaysWell, 180);
        return [
          {
            what: "seconds until it is alerted, without a queue",
            value: alerted,
            bar: "≤ 240",
            holds: inTime(alerted, 240),
          },
          { what: "the overview says that all is well", value: String(isWell), bar: "false", holds: !isWell },
          {
            what: "what the status says",
            value: problem ?? "nothing",
            bar: "a problem",
            holds: problem !== null,
          },
          {
            what: "seconds since the last heartbeat",
            value: lastBeat,
            bar: "≥ 120",
            holds: lastBeat >= 120,
          },
          { what: "seconds until the all-clear", value: over, bar: "≤ 120", holds: inTime(over, 120) },
          {
            what: "seconds from there until all is well",
            value: wellAgain,
            bar: "≤ 120",
            holds: inTime(wellAgain, 120),
          },
        ];
      },
    ),
};
