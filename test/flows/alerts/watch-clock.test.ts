import { beforeEach, expect, test } from "vitest";
import { isSame } from "../../../src/alerts/condition.ts";
import { readConditions } from "../../../src/alerts/condition-store.ts";
import { systemClock } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { openDatabaseClock } from "../../../src/db/database-clock.ts";
import { watchConditions } from "../../../src/flows/alerts/watch-conditions.ts";
import { openClockWatch } from "../../../src/flows/alerts/watch-installation.ts";
import type { FlowContext } from "../../../src/flows/context.ts";
import { openOverview } from "../../../src/flows/read/read-overview.ts";
import { silentLog } from "../../../src/log.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";

const { sql } = useDatabase();
const config = parseConfig({ products: [{ productId: "P1" }] });
const HOUR_MS = 3_600_000;

let aheadMs = 0;
const clock = openDatabaseClock(sql, { ...systemClock, now: () => systemClock.now() + aheadMs });
const context: FlowContext = { sql, config, clock, log: silentLog };
const open = () => openClockWatch(context, clock, { name: "worker", consequence: "it does nothing" });
const readAlerts = () => sql<{ kind: string; body: { what: string } }[]>`
  select kind, body from alerts where kind like 'clock-%' order by id`;

beforeEach(async () => {
  await emptyTables(sql);
  aheadMs = 0;
  // The clock does not trust an answer that a busy machine delayed.
  await eventually("the time is measured", async () => {
    await clock.measure();
    return clock.aheadMs() !== null;
  });
});

test("a correct clock causes no alert", async () => {
  expect(await open()()).toBe(true);
  expect(await readAlerts()).toEqual([]);
});

test("a wrong clock is reported once, with its difference, and once more when it is correct", async () => {
  const watch = open();
  aheadMs = 7 * HOUR_MS;
  expect([await watch(), await watch()]).toEqual([false, false]);
  expect((await openOverview(context)()).findings).toContainEqual(
    expect.objectContaining({
      kind: "clock-wrong",
      what: expect.stringMatching(/^the clock of the worker \d+ on .* is wrong/),
    }),
  );
  aheadMs = 0;
  expect(await watch()).toBe(true);
  const alerts = await readAlerts();
  expect(alerts.map(({ kind }) => kind)).toEqual(["clock-wrong", "clock-wrong-over"]);
  expect(alerts[0]?.body.what).toMatch(
    /is (?:7 h(?: 1 s)?|6 h 59 min) ahead of the database's: it does nothing$/,
  );
  expect(await readConditions(sql)).toEqual([]);
});

test("another worker's alert job leaves the condition alone while it lasts, and ends it when its process has ended", async () => {
  aheadMs = -600_000;
  const watch = open();
  await watch();
  await watch();
  const later = (lengthMs: number): FlowContext => ({
    ...context,
    clock: { ...systemClock, now: () => clock.now() + lengthMs },
  });
  await watchConditions(later(60_000), []);
  const [standing] = await readConditions(sql);
  expect(standing !== undefined && isSame(standing, { kind: "clock-wrong", subject: standing.subject })).toBe(
    true,
  );
  await watchConditions(later(180_000), []);
  expect(await readConditions(sql)).toEqual([]);
  expect((await readAlerts()).map(({ kind }) => kind)).toEqual(["clock-wrong", "clock-wrong-over"]);
});
