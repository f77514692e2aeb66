import { describe, expect, test } from "vitest";
import { startWorker } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { findBackfill, planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { QUEUE_PLACES } from "./queue-places.ts";
import { useSmallWorld } from "./small-world.ts";

const SCHEDULE_CHECK_MS = 200;
const small = useSmallWorld();
const PLAYED = { productId: "SLOT 2", from: small.begin, to: small.begin + 30 * 60_000 };

describe.each(QUEUE_PLACES)("with the queues in $place", ({ open }) => {
  const database = useDatabase();
  const queues = open(database);
  const { sql } = database;
  const context = small.context(sql);

  test("a worker runs backfills that were asked for before and after the queues were emptied", async () => {
    const before = await ask(context);
    const connections = { redisUrl: queues.redisUrl(), databaseUrl: database.url };
    const worker = await startWorker(context, connections, SCHEDULE_CHECK_MS);
    try {
      await eventually("the first is done", () => isDone(context, before));
      await queues.empty();
      const after = await ask(context);
      await eventually("the second is done", () => isDone(context, after));
      const records = small.world.recordsIn(PLAYED.productId, PLAYED, systemClock.now()).length;
      expect(await findBackfill(context, after)).toMatchObject({ records, unchanged: records });
    } finally {
      await worker.stop();
    }
  });
});

async function ask(context: PullContext): Promise<string> {
  const { id } = await requestBackfill(context, await planBackfill(context, PLAYED));
  return String(id);
}

async function isDone(context: PullContext, id: string): Promise<boolean> {
  return (await findBackfill(context, id)).status === "done";
}
