/** A copy of the database that is a day old is restored into an empty one, and the work goes on from there. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { closeDay } from "../../src/flows/closing/close-day.ts";
import { verifyChain } from "../../src/flows/closing/read-statement.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { parseDay } from "../../src/ops/input/report-query.ts";
import { startRecon } from "../cli/run-recon.ts";
import { useAlertListener, WEBHOOK_SECRET } from "../support/alert-listener.ts";
import { clockOf, openDumpServer, WHY_NO_DUMPS } from "../support/dump-server.ts";
import { eventually as eventuallyWithin } from "../support/eventually.ts";
import { exampleEntry, exampleSettle, HOUR_MS, MINUTE_MS } from "../support/examples.ts";
import { betItem, CREDENTIALS, page, useHttpProvider } from "../support/http-provider.ts";
import { startRedis } from "../support/redis-server.ts";

const DAY_MS = 24 * HOUR_MS;
/** Thousands of statements of three workers, on a machine that may do much else. */
const LONGEST_WAIT_MS = 600_000;
const eventually: typeof eventuallyWithin = (what, look) => eventuallyWithin(what, look, LONGEST_WAIT_MS);
const provider = useHttpProvider();
const alerts = useAlertListener();

/** Play without end since three days ago: what both sides have by themselves, a bet in each 20 minutes. */
function playSince(since: number, now: number, differing: readonly number[]) {
  const times = Array.from(
    { length: Math.floor((now - since) / (20 * MINUTE_MS)) },
    (_, index) => since + 10 * MINUTE_MS + index * 20 * MINUTE_MS,
  ).filter((at) => at < now - MINUTE_MS);
  const nameOf = (at: number) => `bet-${(at - since) / MINUTE_MS}`;
  const isDiffering = (at: number) => differing.some((one) => one >= at && one < at + 20 * MINUTE_MS);
  return {
    times,
    nameOf,
    differing: times.filter(isDiffering),
    item: (at: number) => {
      const name = nameOf(at);
      const time = JSON.stringify(new Date(at + 30_000).toISOString());
      return betItem({
        id: `"rec-${name}"`,
        betId: `"${name}"`,
        roundId: `"round-${name}"`,
        accountingDate: time,
        updatedDate: time,
        ...(isDiffering(at) ? { payout: "30.00", payoutStatus: '"WIN"' } : {}),
      });
    },
    entries: (from: number, to: number) =>
      times
        .filter((at) => at >= from && at < to)
        .flatMap((at) => {
          const names = { txnId: nameOf(at), roundId: `round-${nameOf(at)}` };
          const own = (step: number) => ({
            ...names,
            entryId: `${names.txnId}-${step}`,
            requestId: `${names.txnId}-${step}`,
            occurredAt: at + step * 1_000,
            receivedAt: at + step * 1_000,
          });
          return [exampleEntry(own(1)), exampleSettle(own(2))];
        }),
  };
}

const openKinds = async (sql: Sql) =>
  (
    await sql<{ kind: string; betId: string }[]>`
      select kind, bet_id as "betId" from mismatches where status = 'open' order by occurred_at`
  ).map(({ kind, betId }) => `${kind} ${betId}`);

const countOf = async (sql: Sql, table: string) =>
  (await sql.unsafe<{ count: number }[]>(`select count(*) as count from ${table}`))[0]?.count ?? 0;

test.skipIf(WHY_NO_DUMPS !== null)(
  `a restored copy of yesterday pulls the lost day again, reports what the ledger lacks until it is written again, and closes the lost day again${WHY_NO_DUMPS === null ? "" : `: ${WHY_NO_DUMPS}`}`,
  async () => {
    const now = Date.now();
    const since = Math.floor(now / DAY_MS) * DAY_MS - 3 * DAY_MS;
    const dumpedAt = now - DAY_MS;
    const play = playSince(since, now, [since + 2 * HOUR_MS, now - 12 * HOUR_MS]);
    const [early, late] = play.differing.map((at) => `payout-differs ${play.nameOf(at)}`);
    provider.answer(({ from, to }) =>
      page(play.times.filter((at) => at + 30_000 >= from && at + 30_000 < to).map(play.item)),
    );

    const folder = mkdtempSync(join(tmpdir(), "recon-restore-"));
    const redis = await startRedis({ cache: join(import.meta.dirname, "../../.recon/test/redis") });
    const server = await openDumpServer();
    onTestFinished(async () => {
      await server.close();
      await redis.stop();
      rmSync(folder, { recursive: true });
    });
    const config = {
      products: [{ productId: "P1", since: new Date(since).toISOString() }],
      pull: { every: "PT0.5S", settleDelay: "PT2S", overlap: "PT1M", resweepAfter: [] },
      diff: { every: "PT1S", callbackGrace: "PT1S", providerGrace: "PT2S" },
      alerts: { every: "PT1S" },
    };
    writeFileSync(join(folder, "recon.config.json"), JSON.stringify(config));
    const settings = (database: string) => ({
      DATABASE_URL: server.urlOf(database),
      REDIS_URL: redis.url,
      PROVIDER_BASE_URL: provider.url(),
      PROVIDER_USERNAME: CREDENTIALS.username,
      PROVIDER_PASSWORD: CREDENTIALS.password,
      ALERT_WEBHOOK_URL: alerts.url(),
      ALERT_WEBHOOK_SECRET: WEBHOOK_SECRET,
      RECON_CONFIG: join(folder, "recon.config.json"),
      OPS_PORT: "0",
    });
    const open = (database: string) => {
      const sql = openDatabase(server.urlOf(database), 2);
      onTestFinished(() => sql.end({ timeout: 1 }));
      return sql;
    };
    const dateOf = (days: number) => new Date(since + days * DAY_MS).toISOString().slice(0, 10);
    const contextOf = (sql: Sql, aheadMs = 0) => ({
      sql,
      config: parseConfig(config),
      clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
      log: silentLog,
    });
    const close = (sql: Sql, days: number, aheadMs = 0) =>
      eventually(`the day ${dateOf(days)} closes`, async () => {
        const closing = await closeDay(contextOf(sql, aheadMs), parseDay(dateOf(days), "UTC"));
        if ("reason" in closing) throw new Error(closing.reason);
        return true;
      });

    // Yesterday: everything is pulled and compared, one difference is alerted, two days are closed, and a copy is made.
    const yesterday = clockOf(-DAY_MS);
    await server.start(-DAY_MS);
    await server.create("old");
    const first = startRecon(["worker"], { ...settings("old"), ...yesterday });
    await eventually("the tables are there", async () => {
      const sql = openDatabase(server.urlOf("old"), 1);
      return await countOf(sql, "callback_entries")
        .then((count) => count === 0)
        .finally(() => sql.end());
    });
    const before = open("old");
    await appendEntries(before, play.entries(since, dumpedAt));
    await eventually("yesterday's difference is found", async () => {
      expect(first.child.exitCode, first.said()).toBeNull();
      return (await openKinds(before)).includes(early ?? "");
    });
    await eventually("its alert is delivered", () => alerts.heard.length > 0);
    for (const days of [0, 1]) await close(before, days, -DAY_MS);
    await eventually("everything before was pulled", async () => {
      const [row] = await before<{ isPulled: boolean }[]>`
        select bool_and(head > ${dumpedAt - MINUTE_MS}) as "isPulled" from pull_states`;
      return row?.isPulled;
    });
    const dump = await server.dump("old");
    const [copied] = await before<{ entries: number }[]>`select count(*) as entries from callback_entries`;
    first.child.kill("SIGKILL");
    await first.ended;
    await before.end({ timeout: 1 });

    // The day that will be lost: more play, another difference, another closed day.
    await server.start(0);
    const second = startRecon(["worker"], settings("old"));
    const meanwhile = open("old");
    await appendEntries(meanwhile, play.entries(dumpedAt, now));
    await eventually("the lost day's difference is found", async () =>
      (await openKinds(meanwhile)).includes(late ?? ""),
    );
    await close(meanwhile, 2);
    const heardBefore = new Set(alerts.heard.map(({ headers }) => headers["webhook-id"]));
    second.child.kill("SIGKILL");
    await second.ended;
    await meanwhile.end({ timeout: 1 });

    // The copy, in an empty database. Redis still has the jobs and locks of the killed worker.
    await server.create("restored");
    await server.restore(dump, "restored");
    const sql = open("restored");
    await sql.unsafe(afterRestore());
    const third = startRecon(["worker"], settings("restored"));
    await eventually(
      "the lost day is pulled again",
      async () => (await countOf(sql, "bet_records")) === play.times.length,
    );
    expect(await countOf(sql, "callback_entries")).toBe(copied?.entries);
    const lost = play.entries(dumpedAt, now);
    await eventually("what the ledger lost is reported", async () => {
      const missing = (await openKinds(sql)).filter((one) => one.startsWith("missing-in-ledger"));
      return missing.length === lost.length / 2;
    });

    // The operator writes the lost entries again.
    await appendEntries(sql, lost);
    await eventually("only the two differences are left", async () => {
      expect(await openKinds(sql)).toEqual([early, late]);
      return true;
    });
    await close(sql, 2);
    expect(await verifyChain(contextOf(sql))).toEqual({ days: 3, flaw: null });
    const days = await sql<{ day: string; number: number }[]>`
      select to_char(day, 'YYYY-MM-DD') as day, number from closed_days order by number`;
    expect(days.map(({ day, number }) => [day, number])).toEqual(
      [0, 1, 2].map((index) => [dateOf(index), index + 1]),
    );

    // What was delivered before the copy is not sent again, and no alert has the key of another one.
    const [ids] = await sql<{ fewest: number }[]>`
      select min(id) as fewest from mismatches where kind = 'missing-in-ledger'`;
    expect(ids?.fewest).toBeGreaterThan(1_000_000);
    const firstAlert = alerts.heard[0]?.headers["webhook-id"];
    expect(alerts.heard.filter(({ headers }) => headers["webhook-id"] === firstAlert)).toHaveLength(1);
    const whatOf = Map.groupBy(alerts.heard, ({ headers }) => headers["webhook-id"]);
    for (const [id, heard] of whatOf)
      expect(new Set(heard.map(({ json }) => json.data?.what ?? json.what)).size, String(id)).toBe(1);
    expect([...heardBefore].length).toBeGreaterThan(0);
    third.child.kill("SIGTERM");
    await third.ended;
  },
  3_600_000,
);

/** The statement that docs/backup.md asks for after a restore. */
function afterRestore(): string {
  const text = readFileSync(join(import.meta.dirname, "../../docs/backup.md"), "utf8");
  return /```sql\n([^`]+)```/.exec(text)?.[1] ?? "the page has no statement";
}
