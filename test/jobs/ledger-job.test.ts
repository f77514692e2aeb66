import { beforeEach, describe, expect, test } from "vitest";
import { startWorker } from "../../jobs/worker.ts";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { silentLog } from "../../src/log.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { QUEUE_PLACES } from "./queue-places.ts";

const SCHEDULE_CHECK_MS = 200;

describe.each(QUEUE_PLACES)("with the queues in $place", ({ open }) => {
  const database = useDatabase();
  const { sql } = database;
  const queues = open(database);

  async function start(errors: string[] = []) {
    const config = parseConfig({
      products: [{ productId: "P1" }],
      diff: { every: "PT0.2S" },
      ledger: { relation: "casino.ledger" },
    });
    const log = Object.assign(Object.create(silentLog), {
      error: (about: { code?: string }) => errors.push(about.code ?? ""),
    });
    const fetchPage = async () => ({
      records: [],
      rejected: [],
      nextId: null,
      requestedAt: systemClock.now(),
      tookMs: 1,
    });
    const context = { sql, config, clock: systemClock, log, fetchPage };
    const worker = await startWorker(
      context,
      { redisUrl: queues.redisUrl(), databaseUrl: database.url },
      SCHEDULE_CHECK_MS,
    );
    return { [Symbol.asyncDispose]: () => worker.stop() };
  }
  const write = (entryId: string) => sql`
    insert into casino.log (entry_id, callback, request_id, product_id, username, currency, txn_id, status,
      skip_balance_update, occurred_at, received_at)
    values (${entryId}, 'placeBets', ${entryId}, 'P1', 'anna', 'THB', ${entryId}, 'OPEN', false, now(), now())`;
  const arrives = (entryId: string) =>
    eventually(`${entryId} is in the ledger`, async () => {
      const [found] = await sql`select from callback_entries where entry_id = ${entryId}`;
      return found !== undefined;
    });
  const createView = () => sql`create view casino.ledger as select * from casino.log`;

  beforeEach(async () => {
    await emptyTables(sql, ["callback_entries", "ledger_follows"]);
    await sql`drop schema if exists casino cascade`;
    await sql`create schema casino`;
    await sql`create table casino.log (like callback_entries including defaults)`;
  });

  test("a worker follows the relation, and continues after the relation was gone for a while", async () => {
    await createView();
    const errors: string[] = [];
    await using _worker = await start(errors);
    await write("one");
    await arrives("one");
    await sql`drop view casino.ledger`;
    await eventually("the failure is reported", () => errors.includes("ledger-unreadable"));
    await write("two");
    await createView();
    await arrives("two");
    expect(new Set(errors)).toEqual(new Set(["ledger-unreadable"]));
  });

  test("a worker does not start with a relation that is no ledger, and says what is wrong", async () => {
    await expect(start()).rejects.toMatchObject({ code: "ledger-unreadable" });
    await sql`create view casino.ledger as select entry_id, received_at::timestamp as received_at from casino.log`;
    await expect(start()).rejects.toThrow(
      /the column callback is missing[\s\S]*received_at is timestamp without time zone/,
    );
  });
});
