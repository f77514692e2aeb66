/** A provider that refuses ranges above a quarter of an hour, in every way that public reports tell of. */

import { describe, expect, test } from "vitest";
import { formatInstant, type Instant } from "../../../src/clock.ts";
import { findBackfill, planBackfill, requestBackfill } from "../../../src/flows/pull/backfill.ts";
import { readCoverage } from "../../../src/sync/coverage-store.ts";
import { readPullProgress } from "../../../src/sync/progress-store.ts";
import { planWindows } from "../../../src/sync/window-store.ts";
import { lengthOf, subtractRanges } from "../../../src/window.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import {
  betItem,
  body,
  cutShort,
  drop,
  page,
  type ReceivedRequest,
  type Respond,
  status,
} from "../../support/http-provider.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { usePullWorld } from "../../support/pull-world.ts";
import { runBackfills } from "../../support/run-backfills.ts";

const { sql, provider, clock, ...world } = usePullWorld();
const worker = (since: Instant, pull: Record<string, unknown> = {}) =>
  world.worker(since, { attempts: 3, ...pull });
const never = new AbortController().signal;

/** The minutes of the range in pages of `size`; a cursor counts the records before it. */
function minutesOf({ from, to, nextId }: ReceivedRequest, size = 1_000): Respond {
  const items: string[] = [];
  for (let at = Math.ceil(from / MINUTE_MS) * MINUTE_MS; at < to; at += MINUTE_MS) {
    const time = JSON.stringify(formatInstant(at));
    items.push(betItem({ id: `"${at}"`, betId: `"${at}"`, accountingDate: time, updatedDate: time }));
  }
  const end = Number(nextId ?? 0) + size;
  return page(items.slice(end - size, end), end < items.length ? String(end) : undefined);
}

const isTooLong = (asked: ReceivedRequest) => lengthOf(asked) > 16 * MINUTE_MS;
const refuse = (answer: Respond) =>
  provider.answer((asked) => (isTooLong(asked) ? answer : minutesOf(asked)));
const tooLongAsked = () => provider.asked.filter(isTooLong).length;

async function expectFetched(from: Instant, to: Instant): Promise<void> {
  expect(subtractRanges({ from, to }, await readCoverage(sql, "P1", { from, to }, from))).toEqual([]);
  expect(await sql`select from windows where status = 'gap'`).toHaveLength(0);
  const minutes =
    await sql`select from bet_records where accounting_date >= ${from} and accounting_date < ${to}`;
  expect(minutes).toHaveLength((to - from) / MINUTE_MS);
}

/** The chunk's length is no number, so its end cannot be found. */
const brokenChunk: Respond = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"code":0', () => response.socket?.end("zz\r\nnonsense\r\n"));
};

const REFUSALS: readonly (readonly [how: string, answer: Respond])[] = [
  ["HTTP 500", status(500)],
  ["HTTP 502", status(502)],
  ["HTTP 503", status(503)],
  ["HTTP 524", status(524)],
  ["HTTP 400", status(400)],
  ["HTTP 413", status(413)],
  ["HTTP 422", status(422)],
  ["a redirect", status(302, { location: "/sorry" })],
  ["code 9999", body('{"code":9999,"message":"range"}')],
  ["HTML", body("<html>Sorry</html>")],
  ["another envelope", body('{"error":"range"}')],
  ["a closed connection", drop],
  ["an answer cut short", cutShort('{"code":0,"data":{"txns":[')],
  ["a broken chunk", brokenChunk],
];

describe("a provider that refuses long ranges", () => {
  test.each(REFUSALS)(
    "with %s is pulled in shorter ones, and asked for long ones rarely",
    async (_, answer) => {
      refuse(answer);
      const context = worker(NOON - 3 * HOUR_MS);
      await pullProduct(context, "P1", never);
      await expectFetched(NOON - 3 * HOUR_MS, NOON);
      expect((await readPullProgress(sql))[0]).toMatchObject({ head: NOON, gaps: 0 });
      const before = { all: provider.asked.length, tooLong: tooLongAsked() };
      expect(before.tooLong).toBeLessThanOrEqual(15);
      clock().advance(24 * HOUR_MS);
      await pullProduct(context, "P1", never);
      await expectFetched(NOON - 3 * HOUR_MS, NOON + 24 * HOUR_MS);
      expect((tooLongAsked() - before.tooLong) / (provider.asked.length - before.all)).toBeLessThan(0.15);
    },
  );

  test("on a later page only is pulled in shorter ones", async () => {
    provider.answer((asked) => (asked.nextId === "20" ? status(500) : minutesOf(asked, 10)));
    await pullProduct(worker(NOON - 2 * HOUR_MS), "P1", never);
    await expectFetched(NOON - 2 * HOUR_MS, NOON);
    expect(Math.max(...provider.asked.map(({ nextId }) => Number(nextId ?? 0)))).toBe(20);
  });

  test.each(["confirm", "resweep"] as const)("is asked for shorter ones by a %s too", async (kind) => {
    refuse(status(500));
    const context = worker(NOON);
    await pullProduct(context, "P1", never);
    const hour = { from: NOON - 3 * HOUR_MS, to: NOON - 2 * HOUR_MS };
    await planWindows(sql, "P1", kind, [hour], 0, kind === "resweep" ? HOUR_MS : null);
    await pullProduct(context, "P1", never);
    await expectFetched(hour.from, hour.to);
  });

  test("is asked for shorter ones by a backfill, with few refusals more than one window has", async () => {
    refuse(status(502));
    const context = worker(NOON);
    await pullProduct(context, "P1", never);
    const range = { from: NOON - 24 * HOUR_MS, to: NOON - 2 * HOUR_MS };
    const { id } = await requestBackfill(context, await planBackfill(context, { productId: "P1", ...range }));
    await runBackfills(context, clock());
    expect(await findBackfill(context, String(id))).toMatchObject({ status: "done", records: 22 * 60 });
    await expectFetched(range.from, range.to);
    // Eight fetchers ask at the same time before the first refusal, and later the length is retried now and then. Each hour by
    // itself would be refused three times: 66.
    expect(tooLongAsked()).toBeLessThanOrEqual(40);
  });
});

test("a length that failed only while nothing was answered is not learned", async () => {
  const context = worker(NOON - HOUR_MS, { every: "PT1M" });
  await pullProduct(context, "P1", never);
  provider.answer(() => status(500));
  for (let minute = 1; minute <= 70; minute += 1) {
    clock().set(NOON + minute * MINUTE_MS);
    await pullProduct(context, "P1", never);
  }
  provider.answer((asked) => minutesOf(asked));
  const asked = provider.asked.length;
  for (let minute = 71; minute <= 75; minute += 1) {
    clock().set(NOON + minute * MINUTE_MS);
    await pullProduct(context, "P1", never);
  }
  expect((await readPullProgress(sql))[0]).toMatchObject({ gaps: 0, firstMissingAt: null });
  // The time of the outage is fetched as one hour and its rest.
  expect(provider.asked.length - asked).toBeLessThanOrEqual(8);
});
