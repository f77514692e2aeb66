/** Providers that leave records out without saying so: at the ends of a range, or above a number of records. */

import { describe, expect, test } from "vitest";
import { formatInstant, type Instant } from "../../../src/clock.ts";
import { planBackfill, requestBackfill } from "../../../src/flows/pull/backfill.ts";
import { EXCLUDED_ENDS, isInRange } from "../../../src/sandbox/server/bet-endpoint.ts";
import { readCoverage } from "../../../src/sync/coverage-store.ts";
import { BEYOND_ENDS_MS, LONGEST_RANGE_MS, lengthOf, subtractRanges } from "../../../src/window.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { betItem, page, type ReceivedRequest, type Respond } from "../../support/http-provider.ts";
import { pullProduct } from "../../support/pull-product.ts";
import { usePullWorld } from "../../support/pull-world.ts";
import { runBackfills } from "../../support/run-backfills.ts";

const { sql, provider, worker, clock } = usePullWorld();
const never = new AbortController().signal;

function listed(times: readonly Instant[]): Respond {
  return page(
    times.map((at) => {
      const time = JSON.stringify(formatInstant(at));
      return betItem({ id: `"${at}"`, betId: `"${at}"`, accountingDate: time, updatedDate: time });
    }),
  );
}

/** The range as the provider sees it. */
const rangeOf = ({ from, to }: ReceivedRequest) => ({ from: from - BEYOND_ENDS_MS, to: to + BEYOND_ENDS_MS });

async function fetchedTimes(): Promise<number[]> {
  const rows = await sql<{ id: string }[]>`select id from bet_records order by accounting_date`;
  return rows.map(({ id }) => Number(id));
}

describe.each(EXCLUDED_ENDS)("a provider whose ranges leave out: %s", (excludes) => {
  test.each([false, true])("misses no record, at whole seconds: %s", async (wholeSeconds) => {
    const from = NOON - 4 * HOUR_MS;
    const context = worker(NOON);
    await pullProduct(context, "P1", never);
    const plan = await planBackfill(context, { productId: "P1", from, to: NOON });
    // Every instant at which windows meet, and those beside it.
    const ends = plan.windows.flatMap((window) => [window.from, window.from + 1, window.to - 1]);
    const times = [...new Set([...ends, from + 500, from + 90_000])].sort((a, b) => a - b);
    provider.answer((asked) =>
      listed(times.filter((at) => isInRange(at, rangeOf(asked), { excludes, wholeSeconds }))),
    );
    await requestBackfill(context, plan);
    await runBackfills(context, clock());
    expect(await fetchedTimes()).toEqual(times);
    // Each record is counted by the window that covers its time.
    const [{ records } = {}] = await sql`select sum(records) as records from windows where kind = 'backfill'`;
    expect(Number(records)).toBe(times.length);
    expect(Math.max(...provider.asked.map((asked) => lengthOf(rangeOf(asked))))).toBe(LONGEST_RANGE_MS);
  });
});

describe("answers with the same number of records again and again", () => {
  const from = NOON - 12 * HOUR_MS;
  /** One every twenty seconds: 180 an hour. */
  const times = Array.from({ length: 12 * 180 }, (_, index) => from + index * 20_000);
  const inRange = (asked: ReceivedRequest) =>
    times.filter((at) => isInRange(at, rangeOf(asked), { excludes: "end", wholeSeconds: false }));
  const readAlerts = () => sql`select kind, body from alerts where kind = 'answers-truncated'`;

  test("are found to be cut: the time is fetched again in shorter windows, and an alert says so", async () => {
    provider.answer((asked) => listed(inRange(asked).slice(0, 100)));
    const context = worker(from);
    await pullProduct(context, "P1", never);
    clock().advance(MINUTE_MS);
    await pullProduct(context, "P1", never);
    expect(await fetchedTimes()).toEqual(times);
    const whole = { from, to: NOON };
    expect(subtractRanges(whole, await readCoverage(sql, "P1", whole, from))).toEqual([]);
    expect(await sql`select answer_limit from pull_states`).toEqual([{ answer_limit: 100 }]);
    const [alert, ...more] = await readAlerts();
    expect(more).toEqual([]);
    expect(alert?.["body"]).toMatchObject({ what: expect.stringContaining("cuts answers at 100 records") });
  });

  test("are not, if their halves hold no more", async () => {
    provider.answer((asked) => listed(inRange(asked)));
    const context = worker(from);
    await pullProduct(context, "P1", never);
    expect(provider.asked.length).toBeLessThan(2 * 13);
    // Several backfills of the same time have parts of the same ranges.
    for (let count = 0; count < 2; count += 1) {
      await requestBackfill(context, await planBackfill(context, { productId: "P1", from, to: NOON }));
      await runBackfills(context, clock());
    }
    expect(await fetchedTimes()).toEqual(times);
    expect(await readAlerts()).toEqual([]);
    expect(await sql`select answer_limit from pull_states`).toEqual([{ answer_limit: null }]);
    // Some windows were halved to find out.
    expect((await sql`select from windows where status = 'split'`).length).toBeGreaterThan(0);
  });

  test("report a window that is too short to be halved, once the limit is known", async () => {
    provider.answer((asked) => listed(inRange(asked).slice(0, 100)));
    const context = worker(from);
    await pullProduct(context, "P1", never);
    const dense = Array.from({ length: 150 }, (_, index) => NOON + index * 200);
    provider.answer(() => listed(dense.slice(0, 100)));
    clock().advance(MINUTE_MS);
    await pullProduct(context, "P1", never);
    const toDo = (await readAlerts()).map(({ body }) => (body as { toDo: string }).toDo);
    expect(toDo).toContainEqual(expect.stringContaining("Set a shorter pull.windowMin"));
  });
});
