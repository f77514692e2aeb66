import { describe, expect, test } from "vitest";
import { countJobs, openBackend } from "../../jobs/backend.ts";
import { silentLog } from "../../src/log.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { QUEUE_PLACES } from "./queue-places.ts";

describe.each(QUEUE_PLACES)("with the queues in $place", ({ open }) => {
  const database = useDatabase();
  const queues = open(database);

  test("the counts by queue and state include jobs that wait, run, wait for their time or have failed, but no finished job", async () => {
    const backend = openBackend(queues.redisUrl(), database.url, silentLog);
    const pull = backend.openQueue("pull");
    const diff = backend.openQueue("diff");
    const held = Promise.withResolvers<void>();
    const run = async ({ name }: { readonly name: string }) => {
      if (name === "fail") throw new Error("it fails");
      if (name === "hold") await held.promise;
    };
    for (const name of ["done", "fail", "hold", "wait"]) await pull.add(name, { productId: "P1" });
    await pull.add("later", { productId: "P1" }, { delay: 3_600_000 });
    await pull.add("after all others", { productId: "P1" }, { priority: 9 });
    const worker = backend.openWorker("pull", run, 1);
    try {
      const none = { waiting: 0, prioritized: 0, active: 0, delayed: 0, failed: 0 };
      await eventually("one is held", async () => {
        const counts = await countJobs([pull, diff]);
        expect(counts.map(({ queue, jobs }) => [queue, Object.fromEntries(jobs)])).toEqual([
          ["pull", { waiting: 1, prioritized: 1, active: 1, delayed: 1, failed: 1 }],
          ["diff", none],
        ]);
        return true;
      });
    } finally {
      held.resolve();
      await worker.close();
      for (const queue of [pull, diff]) await queue.close();
      await backend.close();
    }
  });
});
