import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { formatInstant, systemClock } from "../../src/clock.ts";
import { WORKER } from "../simulation/crew.ts";
import { startOwnRedis } from "../simulation/own-redis.ts";
import { startRecon } from "../simulation/recon-process.ts";
import { useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { betItem, page, type ReceivedRequest, useHttpProvider } from "../support/http-provider.ts";

const MINUTE_MS = 60_000;
const SLOTS = 2;
const ANSWER_MS = 60;
const PRODUCTS = ["P1", "P2", "P3", "P4"];

const { sql, url } = useDatabase();
const provider = useHttpProvider();
const folder = mkdtempSync(join(tmpdir(), "recon-several-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("two worker processes on one Redis share the work and one request budget, and write every record once", async () => {
  const since = Math.floor(systemClock.now() / MINUTE_MS) * MINUTE_MS - 180 * MINUTE_MS;
  const config = join(folder, "recon.config.json");
  writeFileSync(config, JSON.stringify(configSince(since)));
  let atOnce = 0;
  let mostAtOnce = 0;
  provider.answer((asked) => async (response) => {
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    await pause(ANSWER_MS);
    atOnce -= 1;
    page(betsOf(asked))(response);
  });
  const redis = await startOwnRedis();
  onTestFinished(() => redis.stop());
  const names = ["one", "other"];
  const workers = names.map((name) => {
    const environment = {
      DATABASE_URL: url,
      REDIS_URL: redis.url,
      PROVIDER_BASE_URL: provider.url(),
      PROVIDER_USERNAME: name,
      PROVIDER_PASSWORD: "secret",
      RECON_CONFIG: config,
      OPS_PORT: "0",
    };
    return startRecon([WORKER.name], environment, WORKER.awaited);
  });
  onTestFinished(() => {
    for (const worker of workers) worker.kill("SIGKILL");
  });
  expect(await Promise.all(workers.map(({ ready }) => ready))).toEqual([true, true]);
  const until = since + 170 * MINUTE_MS;
  await eventually("everything is pulled", () => isPulled(until));
  // Time passes, so that there is always more to pull.
  const asked = () => new Set(provider.asked.map(nameOf));
  await eventually("both have asked", () => asked().size === names.length);
  // A request that is cut off at the end releases its slot before this provider sees the end.
  const mostWhileRunning = mostAtOnce;
  for (const worker of workers) worker.kill("SIGTERM");
  expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0]);

  expect(asked()).toEqual(new Set(names));
  expect(mostWhileRunning).toBe(SLOTS);
  const [counted] = await sql`
    select (select count(*) from bet_records where accounting_date < ${until}) as early,
      (select count(*) from bet_records) as records, (select sum(created)::bigint from windows) as created,
      (select count(*) from bet_record_versions) as replaced`;
  expect(counted).toMatchObject({ early: 170 * PRODUCTS.length, created: counted?.["records"], replaced: 0 });
});

function configSince(since: number): object {
  return {
    products: PRODUCTS.map((productId) => ({ productId, since: formatInstant(since) })),
    pull: { every: "PT0.2S", windowMax: "PT10M", overlap: "PT1M", concurrency: SLOTS, resweepAfter: [] },
  };
}

/** A bet at each full minute of the range. */
function betsOf({ parameters, from, to }: ReceivedRequest): string[] {
  const productId = parameters["productId"] ?? "";
  const bets: string[] = [];
  for (let at = Math.ceil(from / MINUTE_MS) * MINUTE_MS; at < to; at += MINUTE_MS) {
    const time = JSON.stringify(formatInstant(at));
    const id = JSON.stringify(`${productId} ${at}`);
    const ids = { id, betId: id, roundId: id, productId: JSON.stringify(productId) };
    bets.push(betItem({ ...ids, accountingDate: time, updatedDate: time }));
  }
  return bets;
}

function nameOf({ headers }: ReceivedRequest): string {
  const [, encoded = ""] = (headers.authorization ?? "").split(" ");
  return Buffer.from(encoded, "base64").toString().split(":")[0] ?? "";
}

/** The newest time is fetched first: the head alone does not show that the time before it was fetched. */
async function isPulled(until: number): Promise<boolean> {
  const pulled = await sql`
    select from pull_states s where head >= ${until} and not exists (
      select from windows w
      where w.product_id = s.product_id and w.status in ('planned', 'gap') and w.from_at < ${until})`;
  return pulled.count === PRODUCTS.length;
}
