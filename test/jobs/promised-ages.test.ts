import { expect, test } from "vitest";
import { channelsTo, useAlertListener } from "../support/alert-listener.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import type { Load } from "./day/day-world.ts";
import { playDay } from "./day/play-day.ts";
import { findBroken } from "./day/promises.ts";

const database = useDatabase();
const listener = useAlertListener();

/** `npm run nightly` plays whole days, each job at its own interval. */
const isWhole = process.env["RECON_TEST_DAY"] === "whole";

/** Each request has a free slot. */
const HEALTHY: Load = {
  name: "healthy",
  products: ["P1", "P2"],
  requestMs: 300,
  concurrency: 8,
  faultEveryMinutes: 240,
  hours: isWhole ? 28 : 4,
  slowestTickMs: isWhole ? 0 : 300_000,
};
/** New time of three products becomes due faster than the only slot can fetch it: there is never nothing else to do. */
const OVERLOADED: Load = {
  name: "overloaded",
  products: ["P1", "P2", "P3"],
  requestMs: 30_000,
  concurrency: 1,
  faultEveryMinutes: 0,
  hours: isWhole ? 28 : 4.5,
  slowestTickMs: isWhole ? 0 : 300_000,
};

test.each([HEALTHY, OVERLOADED])(
  "each kind of planned work of a $name worker is done within its promised age",
  async (load) => {
    await emptyTables(database.sql);
    await database.sql`drop table if exists operator_ledger`;
    const day = await playDay(load, database.url, channelsTo({ webhook: listener }));
    expect(await findBroken(day, database.sql)).toEqual([]);
  },
);
