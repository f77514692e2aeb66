/** Real workers on machines with wrong clocks (by libfaketime), and a database with a correct clock. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openDatabase } from "../../src/db/client.ts";
import { eventually } from "../support/eventually.ts";
import { startRecon } from "./recon-process.ts";

const LIBRARIES = ["x86_64", "aarch64"].map(
  (kind) => `/usr/lib/${kind}-linux-gnu/faketime/libfaketimeMT.so.1`,
);
const LIBRARY = LIBRARIES.find((path) => existsSync(path));
const WRONG = "wrong-clock";
const RIGHT = "right-clock";
const WATCH_MS = 15_000;

export interface ClockPlan {
  /** negative: behind */
  readonly aheadMs: number;
  /** a second worker, whose clock is correct */
  readonly beside: boolean;
  /** the clock is correct at first, and jumps while the worker runs */
  readonly jumps: boolean;
}

export interface ClockResult {
  /** requests to the provider after the worker has noticed its wrong clock */
  readonly asked: number;
  /** the longest pause between two requests of the correct worker meanwhile; null: no such worker */
  readonly longestPauseMs: number | null;
  /** windows that end later than the database's time */
  readonly aheadOfTime: number;
  readonly mismatches: number;
  /** kinds of alerts about the clock, in order */
  readonly alerts: readonly string[];
  readonly aheadSeconds: number | null;
  /** a log line names the difference */
  readonly isLogged: boolean;
  /** from the correction of the clock to the first request */
  readonly goesOnAfterMs: number;
}

/**
 * @param redisUrl of the queues; null: in the database
 * @throws if libfaketime is not installed (Debian: apt-get install faketime)
 */
export async function runClock(
  databaseUrl: string,
  redisUrl: string | null,
  plan: ClockPlan,
): Promise<ClockResult> {
  if (LIBRARY === undefined) throw new Error("libfaketime is missing: apt-get install faketime");
  const folder = mkdtempSync(join(tmpdir(), "wallet-recon-clock-"));
  const clockFile = join(folder, "clock");
  const setClock = (aheadMs: number) =>
    writeFileSync(clockFile, `${aheadMs < 0 ? "-" : "+"}${Math.abs(aheadMs) / 1000}\n`);
  setClock(plan.jumps ? 0 : plan.aheadMs);
  const configFile = join(folder, "recon.config.json");
  const every = "PT1S";
  writeFileSync(
    configFile,
    JSON.stringify({
      products: ["P1", "P2", "P3"].map((productId) => ({ productId })),
      pull: { every, settleDelay: "PT0S", overlap: "PT0S" },
      diff: { every },
      alerts: { every },
    }),
  );
  const asked: { readonly who: string; readonly at: number }[] = [];
  const provider = createServer((request, response) => {
    const [, credentials = ""] = (request.headers.authorization ?? "").split(" ");
    const [who = ""] = Buffer.from(credentials, "base64").toString().split(":");
    asked.push({ who, at: performance.now() });
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"reqId":"r","code":0,"message":"success","data":{"txns":[]}}');
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const sql = openDatabase(databaseUrl, 2);
  const start = (who: string, port: number, more: Readonly<Record<string, string>>) =>
    startRecon(
      ["worker"],
      {
        DATABASE_URL: databaseUrl,
        ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
        RECON_CONFIG: configFile,
        PROVIDER_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
        PROVIDER_USERNAME: who,
        PROVIDER_PASSWORD: "secret",
        OPS_PORT: String(port),
        LOG_LEVEL: "info",
        ...more,
      },
      "the worker runs",
    );
  const faked = {
    LD_PRELOAD: LIBRARY,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
  const port = 20_000 + (process.pid % 20_000);
  const workers = plan.beside ? [start(RIGHT, port + 1, {})] : [];
  const readAlerts = async () => {
    const rows = await sql<{ kind: string }[]>`select kind from alerts where kind like 'clock%' order by id`;
    return rows.map(({ kind }) => kind);
  };
  const countOf = (who: string, since: number) => asked.filter((one) => one.who === who && one.at >= since);
  try {
    for (const worker of workers) await worker.ready;
    const wrong = start(WRONG, port, faked);
    workers.push(wrong);
    if (!(await wrong.ready)) throw new Error(`the worker did not start:\n${wrong.lastLines()}`);
    if (plan.jumps) {
      await eventually("it works", () => countOf(WRONG, 0).length > 0, 30_000);
      setClock(plan.aheadMs);
    }
    await eventually("it reports its clock", async () => (await readAlerts()).length > 0, 30_000);
    const noticedAt = performance.now();
    // Requests that were under way during the jump end.
    await pause(1_000);
    const since = performance.now();
    await pause(WATCH_MS);
    const meanwhile = countOf(WRONG, since).length;
    const others = countOf(RIGHT, noticedAt).map(({ at }) => at);
    const pauses = others.slice(1).map((at, index) => at - (others[index] ?? at));
    const [{ ahead = 0 } = {}] = await sql<{ ahead: number }[]>`
      select count(*)::int as ahead from windows where to_at > clock_timestamp()`;
    const [{ mismatches = 0 } = {}] = await sql<{ mismatches: number }[]>`
      select count(*)::int as mismatches from mismatches`;
    const metrics = await fetch(`http://127.0.0.1:${port}/metrics`).then((response) => response.text());
    const shown = /^recon_clock_ahead_seconds (\S+)$/m.exec(metrics)?.[1];
    setClock(0);
    const mendedAt = performance.now();
    const goesOn = plan.beside
      ? async () => (await readAlerts()).length > 1
      : () => countOf(WRONG, mendedAt).length > 0;
    await eventually("it goes on", goesOn, 60_000);
    const goesOnAfterMs = Math.round(performance.now() - mendedAt);
    await eventually("its all-clear is written", async () => (await readAlerts()).length > 1, 30_000);
    return {
      asked: meanwhile,
      longestPauseMs: plan.beside ? Math.round(Math.max(...pauses)) : null,
      aheadOfTime: ahead,
      mismatches,
      alerts: await readAlerts(),
      aheadSeconds: shown === undefined ? null : Math.round(Number(shown)),
      isLogged: wrong.lines.some((line) => line.includes("the clock of the worker")),
      goesOnAfterMs,
    };
  } finally {
    for (const worker of workers) worker.kill("SIGTERM");
    await Promise.all(workers.map(({ ended }) => ended));
    provider.closeAllConnections();
    await new Promise((resolve) => provider.close(resolve));
    await sql.end({ timeout: 5 });
    rmSync(folder, { recursive: true, force: true });
  }
}
