import { describe, expect, onTestFinished, test } from "vitest";
import { openBackend } from "../../jobs/backend.ts";
import { openRetentionJob } from "../../jobs/tick-jobs.ts";
import { startWorker } from "../../jobs/worker.ts";
import { keepBodies } from "../../src/callbacks/body-store.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS } from "../support/examples.ts";
import { QUEUE_PLACES } from "./queue-places.ts";

describe.each(QUEUE_PLACES)("with the queues in $place", ({ open }) => {
  const database = useDatabase();
  const { sql } = database;
  const queues = open(database);

  test("a worker deletes rows that were kept long enough, and checks again every ten minutes", async () => {
    const config = parseConfig({ products: [{ productId: "P1", walletMode: "transfer" }] });
    const fetchPage = async () => ({ records: [], rejected: [], nextId: null, requestedAt: 0, tookMs: 1 });
    const context = { sql, config, clock: systemClock, log: silentLog, fetchPage };
    const kept = { callback: "placeBets", productId: "P1", requestId: null, statusCode: 0 as const };
    for (const days of [91, 89]) {
      const receivedAt = systemClock.now() - days * 24 * HOUR_MS;
      const { text, values } = keepBodies([{ ...kept, body: `${days}`, receivedAt }]);
      await sql.unsafe(text, [...values]);
    }
    const worker = await startWorker(context, { redisUrl: queues.redisUrl(), databaseUrl: database.url });
    onTestFinished(() => worker.stop());
    await eventually("the older one is forgotten", async () => {
      expect(await sql`select body from callback_bodies`).toEqual([{ body: "89" }]);
      return true;
    });
    expect(await readSchedules()).toEqual(["tick 600000"]);
  });

  test("a table from which nothing can be deleted keeps no other step from its turn", async () => {
    const config = parseConfig({ products: [{ productId: "P1", walletMode: "transfer" }] });
    await sql.unsafe(`
      create function keep_bodies() returns trigger language plpgsql as $$ begin raise 'kept'; end $$;
      create trigger keep_bodies before delete on callback_bodies for each row execute function keep_bodies()`);
    onTestFinished(async () => void (await sql`drop function keep_bodies cascade`));
    const receivedAt = systemClock.now() - 91 * 24 * HOUR_MS;
    const kept = { callback: "placeBets", productId: "P1", requestId: null, statusCode: 0 as const };
    const { text, values } = keepBodies([{ ...kept, body: "old", receivedAt }]);
    await sql.unsafe(text, [...values]);
    await sql`truncate storage_states`;
    const job = openRetentionJob({ sql, config, clock: systemClock, log: silentLog });
    await expect(job.run(new AbortController().signal, silentLog)).rejects.toThrow("kept");
    expect(await sql`select from storage_states`).not.toHaveLength(0);
  });

  async function readSchedules(): Promise<string[]> {
    const backend = openBackend(queues.redisUrl(), database.url, silentLog);
    const queue = backend.openQueue("retention");
    const schedulers = await queue.getJobSchedulers();
    await queue.close();
    await backend.close();
    return schedulers.map(({ key, every }) => `${key} ${every}`);
  }
});
