import { afterEach, beforeEach, expect, test } from "vitest";
import { formatInstant } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import type { PullContext } from "../../../src/flows/context.ts";
import { silentLog } from "../../../src/log.ts";
import { openProvider, type ProviderClient } from "../../../src/provider/client.ts";
import { readPullProgress } from "../../../src/sync/progress-store.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { emptyTables, useDatabase } from "../../support/database.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../../support/examples.ts";
import { betItem, CREDENTIALS, page, status, useHttpProvider } from "../../support/http-provider.ts";
import { pullProduct } from "../../support/pull-product.ts";

const { sql } = useDatabase();
const provider = useHttpProvider();
const never = new AbortController().signal;
let clock: TestClock;
let client: ProviderClient;

beforeEach(async () => {
  await emptyTables(sql);
  clock = createTestClock(NOON);
});
afterEach(() => client.close());

/** Pulls since an hour before noon, and again when time is two hours and a day old. */
function worker(): PullContext {
  const parsed = parseConfig({
    products: [{ productId: "P1", since: formatInstant(NOON - HOUR_MS) }],
    pull: { settleDelay: "PT0S", overlap: "PT0S", resweepAfter: ["PT2H", "P1D"], attempts: 1 },
  });
  // Windows of a whole hour give round times; this provider would answer longer ranges.
  const config = { ...parsed, pull: { ...parsed.pull, windowMax: HOUR_MS } };
  client = openProvider(
    { baseUrl: provider.url(), ...CREDENTIALS },
    { requestTimeoutMs: 60_000, connections: 2, production: false },
    clock,
  );
  return { sql, config, clock, log: silentLog, fetchPage: client.fetchBetPage };
}

const resweeps = () => sql<{ from: number; to: number }[]>`
  select from_at as "from", to_at as "to" from windows where kind = 'resweep' and status = 'done' order by from_at`;

/** Pulls once an hour, which is enough to see what is planned when. */
async function pullHourly(context: PullContext, hours: number): Promise<void> {
  for (let hour = 0; hour <= hours; hour += 1) {
    await pullProduct(context, "P1", never);
    clock.advance(HOUR_MS);
  }
}

test("a change of a record is found when the record's hour is fetched again", async () => {
  const at = formatInstant(NOON - 10 * MINUTE_MS);
  const listedWith = (payout: string, updated: string) =>
    betItem({ accountingDate: `"${at}"`, updatedDate: `"${updated}"`, payout });
  const isListed = ({ from, to }: { from: number; to: number }) =>
    from <= NOON - 10 * MINUTE_MS && NOON - 10 * MINUTE_MS < to;
  let item = listedWith("0", at);
  provider.answer((asked) => page(isListed(asked) ? [item] : []));
  const context = worker();
  await pullProduct(context, "P1", never);
  item = listedWith("20.00", formatInstant(NOON + MINUTE_MS));
  await pullHourly(context, 3);
  expect(await sql`select payout from bet_records`).toEqual([{ payout: "20" }]);
  expect(await sql`select payout from bet_record_versions`).toEqual([{ payout: "0" }]);
});

test("each hour is fetched again at each age, while the head advances and no gap appears", async () => {
  const context = worker();
  await pullHourly(context, 30);
  const swept = await resweeps();
  const firstHour = swept.filter(({ from }) => from === NOON - HOUR_MS);
  expect(firstHour).toHaveLength(2);
  expect(new Set(swept.map(({ from, to }) => to - from))).toEqual(new Set([HOUR_MS]));
  const [progress] = await readPullProgress(sql);
  expect(progress).toMatchObject({ head: clock.now() - HOUR_MS, gaps: 0 });
});

test("time that had reached an age at its first fetch is not fetched again at that age", async () => {
  const context = worker();
  clock.advance(10 * HOUR_MS);
  await pullProduct(context, "P1", never);
  // The first hours were eight hours old at their first fetch; only the last two were younger than two.
  expect(await resweeps()).toEqual([]);
  clock.advance(2 * HOUR_MS);
  await pullProduct(context, "P1", never);
  const swept = await resweeps();
  expect(swept[0]?.from).toBeGreaterThanOrEqual(NOON + 8 * HOUR_MS);
});

test("a resweep that fails makes no gap in fetched time", async () => {
  const context = worker();
  await pullProduct(context, "P1", never);
  const isFirstHour = ({ from }: { from: number }) => from < NOON;
  provider.answer((asked) => (isFirstHour(asked) ? status(500) : page([])));
  await pullHourly(context, 3);
  const [progress] = await readPullProgress(sql);
  expect(progress).toMatchObject({ gaps: 0, firstGapAt: null });
});
