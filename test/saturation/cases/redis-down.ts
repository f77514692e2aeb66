/** Redis cannot be reached for five minutes. */

import { atMost, type SaturationCase, same, someProblem } from "../case.ts";
import { isAlerted, ledgerBegins, whileWorking } from "../standing-still.ts";

const DOWN_SECONDS = 5 * 60;

export const saturation: SaturationCase = {
  name: "redis-down",
  what: "Redis is gone for five minutes: no queue is served, and nobody but the workers themselves can report it",
  run: (report) =>
    whileWorking(
      {
        config: { products: [{ productId: "P1" }, { productId: "P2" }] },
        workers: 2,
        inRedis: true,
        prepare: ledgerBegins,
      },
      async ({ sql, secondsUntil, overviewSaysWell, status, beats, redis, nowMs }) => {
        report(atMost("seconds until all is well", await secondsUntil(overviewSaysWell, 180), 150));
        const downAt = nowMs();
        await redis?.refuse();
        const alerted = await secondsUntil(() => isAlerted(sql, "queue-unserved"), DOWN_SECONDS);
        report(atMost("seconds until it is alerted, without a queue", alerted, 240));
        await secondsUntil(() => nowMs() - downAt > DOWN_SECONDS * 1000, DOWN_SECONDS);
        report(same("the overview says that all is well", String(await overviewSaysWell()), "false"));
        report(someProblem("what the status says", (await status()).comparing.problem));
        const silent = Math.round((nowMs() - (beats.at(-1) ?? 0)) / 1000);
        report({
          what: "seconds since the last heartbeat",
          value: silent,
          bar: "≥ 120",
          holds: silent >= 120,
        });
        await redis?.restore();
        const over = await secondsUntil(() => isAlerted(sql, "queue-unserved-over"), 180);
        report(atMost("seconds until the all-clear", over, 120));
        const wellAgain = await secondsUntil(overviewSaysWell, 180);
        report(atMost("seconds from there until all is well", wellAgain, 120));
      },
    ),
};
