/**
 * tap: requests per second through `recon tap` against its target alone, which is `recon callbacks` with a wallet in
 * PostgreSQL; and what the tap adds to the answer of one caller at the median with a target in memory, so that nothing hides it. The tap stores every callback in PostgreSQL meanwhile.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { Sql } from "../src/db/client.ts";
import { freePort, guardChild } from "../src/embedded/child-process.ts";
import { startRecon } from "../test/simulation/recon-process.ts";
import { eventually } from "../test/support/eventually.ts";
import type { LoadPlan, LoadResult } from "./support/callback-plan.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, atMost, type Figure } from "./support/figure.ts";

const CLIENTS = 8;
const PLAYERS = 500;
const SECONDS = 3;
const ROUNDS = 5;
const CREDIT = 1_000_000;
const RATE_BAR = 0.5;
const DELAY_BAR_MS = 1;
/** No two runs share the number of a bet. */
const BETS_OF_A_RUN = 100_000_000;

/** The two sides in turn, several times, and the median of each: the machine's speed drifts. */
export async function measureTap(isWanted: (figure: string) => boolean): Promise<Figure[]> {
  const figures: Figure[] = [];
  if (isWanted("tap")) {
    const [alone, tapped] = await withDatabase(async (sql, url) => {
      await sql`
        insert into wallets (username, currency, balance, created_at)
        select 'player-' || number, 'THB', ${CREDIT}, now() from generate_series(0, ${PLAYERS - 1}::integer) as number`;
      const folder = await mkdtemp(join(tmpdir(), "recon-bench-"));
      const wallet = await startWallet(url, folder);
      return await compareSides(wallet, CLIENTS, ({ perSecond }) => perSecond).finally(() =>
        rm(folder, { recursive: true }),
      );
    });
    const detail = `${Math.round(tapped)} requests/s through the tap, ${Math.round(alone)}/s by recon callbacks alone; ${CLIENTS} clients`;
    figures.push(atLeast("tap", tapped / alone, RATE_BAR, detail));
  }
  if (isWanted("tap-delay")) {
    const [alone, tapped] = await compareSides(await startTarget(), 1, ({ p50Ms }) => p50Ms);
    const detail = `ms added at the median of one caller: ${tapped.toFixed(3)} ms through the tap, ${alone.toFixed(3)} ms without`;
    figures.push(atMost("tap-delay", tapped - alone, DELAY_BAR_MS, detail));
  }
  return figures;
}

interface Target {
  readonly port: number;
  stop(): void;
}

/** @returns the median of the target alone, and through the tap */
async function compareSides(
  target: Target,
  clients: number,
  read: (result: LoadResult) => number,
): Promise<[alone: number, tapped: number]> {
  return await withDatabase(async (sql, url) => {
    const folder = await mkdtemp(join(tmpdir(), "recon-bench-"));
    const port = await freePort();
    const settings = { DATABASE_URL: url, CALLBACK_PORT: String(port), OPS_PORT: "0", LOG_LEVEL: "warn" };
    const options = ["--target", `http://127.0.0.1:${target.port}`, "--journal", join(folder, "journal")];
    const tap = startRecon(["tap", ...options], settings, "callbacks pass from");
    try {
      if (!(await tap.ready)) throw new Error(`recon tap did not start: ${tap.lastLines()}`);
      const sides: [number[], number[]] = [[], []];
      let passed = 0;
      // The first round is dropped: what has just started is slow until it has seen some thousand requests.
      for (let round = 0; round <= ROUNDS; round += 1) {
        for (const [side, to] of [target.port, port].entries()) {
          const result = await runLoad(to, clients, (2 * round + side + 1) * BETS_OF_A_RUN);
          if (side === 1) passed += Math.round(result.perSecond * result.seconds);
          if (round > 0) sides[side]?.push(read(result));
        }
      }
      await untilStored(sql, passed);
      return sides.map((values) => values.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]) as [number, number];
    } finally {
      tap.kill("SIGKILL");
      target.stop();
      await rm(folder, { recursive: true });
    }
  });
}

/** Quick and forgetful would be easy. */
async function untilStored(sql: Sql, passed: number): Promise<void> {
  await eventually(`${passed} entries are stored`, async () => {
    const [row] = await sql<{ count: number }[]>`select count(*) as count from callback_entries`;
    return row?.count === passed;
  });
}

async function startWallet(url: string, folder: string): Promise<Target> {
  const config = join(folder, "recon.config.json");
  await writeFile(config, JSON.stringify({ products: [{ productId: "P1" }] }));
  const port = await freePort();
  const settings = {
    DATABASE_URL: url,
    RECON_CONFIG: config,
    CALLBACK_PORT: String(port),
    LOG_LEVEL: "warn",
  };
  const recon = startRecon(["callbacks"], settings, "callbacks are answered at");
  if (!(await recon.ready)) throw new Error(`recon callbacks did not start: ${recon.lastLines()}`);
  return { port, stop: () => recon.kill("SIGKILL") };
}

async function startTarget(): Promise<Target> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "support/tap-target.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  void guardChild(child, ["KILL"]);
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return { port: Number(line.split(" ").at(-1)), stop: () => child.kill("SIGKILL") };
}

/** A process of its own, as a provider is one. */
async function runLoad(port: number, clients: number, firstBet: number): Promise<LoadResult> {
  const program = join(import.meta.dirname, "support/callback-load.ts");
  const plan: LoadPlan = { clients, players: PLAYERS, seconds: SECONDS, firstBet };
  const { stdout } = await promisify(execFile)(process.execPath, [
    program,
    String(port),
    JSON.stringify(plan),
  ]);
  return JSON.parse(stdout) as LoadResult;
}
