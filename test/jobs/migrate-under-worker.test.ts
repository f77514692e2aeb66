import { afterAll, expect, onTestFinished, test } from "vitest";
import { startWorker } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { migrateDatabase } from "../../src/db/migrate.ts";
import { readStatus } from "../../src/flows/read/read-status.ts";
import { silentLog } from "../../src/log.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { writeNewerMigrations } from "../support/newer-migrations.ts";
import { useSmallWorld } from "./small-world.ts";

const small = useSmallWorld();
const { sql, url } = useDatabase();
const newer = writeNewerMigrations();
afterAll(() => newer.remove());

test("a worker of the version before works on without a failed job while a newer version migrates, and afterwards", async () => {
  const errors: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), {
    error: (about: unknown) => errors.push(about),
    child: () => log,
  });
  const context = small.context(sql, log);
  const worker = await startWorker(context, { redisUrl: null, databaseUrl: url }, 200);
  onTestFinished(() => worker.stop());
  const pulledSince = (since: number) =>
    eventually("every product is pulled on", async () => {
      const { products } = await readStatus(context);
      return products.every(({ head }) => Date.parse(head ?? "") > since);
    });
  // By then the worker's connections have prepared every statement of a pull with the old columns.
  await pulledSince(small.begin);
  await pulledSince(systemClock.now());
  expect(await migrateDatabase(url, silentLog, newer.folder)).toBe(1);
  await pulledSince(systemClock.now());
  await sql`insert into newer values (1)`;
  await worker.stop();
  expect(errors).toEqual([]);
});
