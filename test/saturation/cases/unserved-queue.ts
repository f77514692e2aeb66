/** No worker takes the jobs of one queue, as if it was paused on the page of the queues; all others continue. */

import { openBackend } from "../../../jobs/backend.ts";
import { silentLog } from "../../../src/log.ts";
import { atMost, type Report, type SaturationCase, same } from "../case.ts";
import { isAlerted, ledgerBegins, whileWorking } from "../standing-still.ts";
import { QUEUE_PLACES, type QueuePlace } from "../support/own-workers.ts";

const QUEUE = "diff";

export const saturation: SaturationCase = {
  name: "unserved-queue",
  what: `no worker takes the jobs of the queue "${QUEUE}" any more`,
  run: async (report) => {
    await Promise.all(QUEUE_PLACES.map((queues) => measure(queues, report)));
  },
};

async function measure(queues: QueuePlace, report: Report): Promise<void> {
  const load = {
    config: { products: [{ productId: "P1" }, { productId: "P2" }] },
    workers: 1,
    inRedis: queues === "Redis",
    prepare: ledgerBegins,
  };
  const head = `queues in ${queues}:`;
  await whileWorking(load, async ({ sql, databaseUrl, redis, secondsUntil, overviewSaysWell }) => {
    const well = await secondsUntil(overviewSaysWell, 180);
    report(atMost(`${head} seconds until all is well`, well, 150));
    const backend = openBackend(redis?.url ?? null, databaseUrl, silentLog);
    const queue = backend.openQueue(QUEUE);
    try {
      await queue.pause();
      const alerted = await secondsUntil(() => isAlerted(sql, "queue-unserved"), 480);
      report(atMost(`${head} seconds until it is alerted`, alerted, 420));
      const named = await sql<{ subject: string }[]>`
        select distinct body ->> 'what' as subject from alerts where kind = 'queue-unserved'`;
      const isNamed = named.every(({ subject }) => subject.includes(`the queue "${QUEUE}"`));
      report(same(`${head} the alert names the queue, and no other`, String(isNamed), "true"));
      report(same(`${head} the overview says that all is well`, String(await overviewSaysWell()), "false"));
      await queue.resume();
      const over = await secondsUntil(() => isAlerted(sql, "queue-unserved-over"), 180);
      report(atMost(`${head} seconds until the all-clear`, over, 120));
      const wellAgain = await secondsUntil(overviewSaysWell, 180);
      report(atMost(`${head} seconds from there until all is well`, wellAgain, 120));
    } finally {
      await queue.close();
      await backend.close();
    }
  });
}
