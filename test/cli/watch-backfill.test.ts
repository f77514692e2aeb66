import type { WriteStream } from "node:tty";
import { beforeEach, expect, test } from "vitest";
import { watchBackfill } from "../../src/cli/commands/backfill.ts";
import { parseConfig } from "../../src/config-file.ts";
import { planBackfill, requestBackfill } from "../../src/flows/pull/backfill.ts";
import { silentLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { HOUR_MS, NOON } from "../support/examples.ts";

const { sql } = useDatabase();
const never = new AbortController().signal;
const config = parseConfig({ products: [{ productId: "P1" }] });

beforeEach(async () => {
  await emptyTables(sql, ["windows", "backfills"]);
});

/** Four windows of an hour. Calls `happens` before each reading, with the time since the beginning. */
async function watch(out: WriteStream, happens: (sinceMs: number) => Promise<unknown>) {
  const clock = createTestClock(NOON);
  const sleep = async (waitMs: number) => {
    clock.advance(waitMs);
    await happens(clock.now() - NOON);
  };
  const context = { sql, config, clock: { ...clock, sleep }, log: silentLog };
  const range = { productId: "P1", from: NOON - 5 * HOUR_MS, to: NOON - HOUR_MS - 8_000 };
  await requestBackfill(context, await planBackfill(context, range));
  return await watchBackfill(context, "1", out, never);
}

function createOutput(isTTY: boolean, columns = 200) {
  let written = "";
  const out = { isTTY, columns, write: (text: string) => (written += text) } as unknown as WriteStream;
  return { out, written: () => written };
}

const start = () => sql`update backfills set status = 'running'`;
const end = (status: string) => sql`update backfills set status = ${status}, ended_at = ${NOON}`;
const finishWindow = (records: number) => sql`
  update windows set status = 'done', records = ${records}, created = ${records}
  where id = (select min(id) from windows where status = 'planned')`;

/** Every two seconds a window is done. */
const steps: Readonly<Record<number, () => Promise<unknown>>> = {
  500: start,
  2000: () => finishWindow(100),
  4000: () => finishWindow(300),
  6000: () => finishWindow(0),
  8000: async () => {
    await finishWindow(0);
    await end("done");
  },
};
const happen = async (sinceMs: number) => await steps[sinceMs]?.();

test("on a terminal one line is rewritten: bar, windows, records, rate, time left", async () => {
  const { out, written } = createOutput(true);
  expect(await watch(out, happen)).toMatchObject({ status: "done", records: 400 });
  const lines = written().split("\r").slice(1);
  expect(lines[0]).toBe("[------------------------]   0 %  queued, 0/4 windows, 0 records\u001b[K");
  expect(lines).toContain(
    "[############------------]  50 %  running, 2/4 windows, 400 records, 100 records/s, about 4 s left\u001b[K",
  );
  expect(lines.at(-1)).toBe("[########################] 100 %  done, 4/4 windows, 400 records\u001b[K\n");
});

test("a narrow terminal gets a line that does not wrap", async () => {
  const { out, written } = createOutput(true, 40);
  await watch(out, happen);
  const lines = written().split("\r").slice(1);
  for (const line of lines) expect(line.split("\u001b")[0]).toHaveLength(39);
});

test("elsewhere a plain line appears for each change of status, and every five seconds", async () => {
  const { out, written } = createOutput(false);
  await watch(out, happen);
  expect(written().split("\n")).toEqual([
    "queued, 0/4 windows, 0 records",
    "running, 0/4 windows, 0 records, 0 records/s",
    "running, 2/4 windows, 400 records, 73 records/s, about 6 s left",
    "done, 4/4 windows, 400 records",
    "",
  ]);
});

test("a backfill that nobody begins for ten seconds makes the command ask once whether a worker runs", async () => {
  const { out, written } = createOutput(false);
  await watch(out, async (sinceMs) => {
    if (sinceMs === 30_000) await end("cancelled");
  });
  expect(written().match(/Does a worker run\?/g)).toHaveLength(1);
});

test("gaps are shown with their reason", async () => {
  const { out, written } = createOutput(false);
  await watch(out, async (sinceMs) => {
    if (sinceMs === 1_000) await end("failed");
    if (sinceMs !== 500) return;
    await sql`update windows set status = 'gap', error_code = 'provider-timeout' where id = 1`;
    await start();
  });
  const [, running, failed] = written().split("\n");
  expect(running).toMatch(/^running, .* 1 not fetched so far \(provider-timeout\)$/);
  expect(failed).toMatch(/^failed, .* 1 not fetched \(provider-timeout\)$/);
});
