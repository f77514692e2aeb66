/**
 * tap: requests per second through `recon tap` against its target alone, and what the tap adds to the answer of one
 * caller at the median. The target is a wallet in memory, which makes the tap look as slow as it can; the tap stores
 * every callback in PostgreSQL meanwhile.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { freePort } from "../src/embedded/free-port.ts";
import { guardChild } from "../src/embedded/process-guard.ts";
import { startRecon } from "../test/simulation/recon-process.ts";
import type { LoadPlan, LoadResult } from "./support/callback-plan.ts";
import { withDatabase } from "./support/database.ts";
import { atLeast, atMost, type Figure } from "./support/figure.ts";

const CLIENTS = 8;
const PLAYERS = 500;
const SECONDS = 3;
const ROUNDS = 5;
const RATE_BAR = 0.5;
const DELAY_BAR_MS = 1;
/** No two runs share the number of a bet. */
const BETS_OF_A_RUN = 100_000_000;

/** The two in turn, several times, and the median of each: the machine's speed drifts. */
export async function measureTap(): Promise<Figure[]> {
  return await withDatabase(async (sql, url) => {
    const folder = await mkdtemp(join(tmpdir(), "recon-bench-"));
    const target = await startTarget();
    const port = await freePort();
    const settings = { DATABASE_URL: url, CALLBACK_PORT: String(port), OPS_PORT: "0", LOG_LEVEL: "warn" };
    const options = ["--target", `http://127.0.0.1:${target.port}`, "--journal", join(folder, "journal")];
    const tap = startRecon(["tap", ...options], settings, "callbacks pass from");
    try {
      if (!(await tap.ready)) throw new Error(`recon tap did not start: ${tap.lastLines()}`);
      const runs = { many: [[], []], one: [[], []] } as Record<"many" | "one", [LoadResult[], LoadResult[]]>;
      let run = 0;
      // The first round is dropped: what has just started is slow until it has seen some thousand requests.
      for (let round = 0; round <= ROUNDS; round += 1) {
        for (const [kind, clients] of [
          ["many", CLIENTS],
          ["one", 1],
        ] as const) {
          for (const [side, to] of [target.port, port].entries()) {
            run += 1;
            const result = await runLoad(to, clients, run * BETS_OF_A_RUN);
            if (round > 0) runs[kind][side]?.push(result);
          }
        }
      }
      tap.kill("SIGTERM");
      await tap.ended;
      const [row] = await sql<{ count: number }[]>`select count(*) as count from callback_entries`;
      return figuresOf(runs, row?.count ?? 0);
    } finally {
      tap.kill("SIGKILL");
      target.stop();
      await rm(folder, { recursive: true });
    }
  });
}

async function startTarget(): Promise<{ port: number; stop(): void }> {
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

function figuresOf(
  { many, one }: Record<"many" | "one", [LoadResult[], LoadResult[]]>,
  entries: number,
): Figure[] {
  const middle = (results: readonly LoadResult[], read: (result: LoadResult) => number) =>
    results.map(read).sort((a, b) => a - b)[Math.floor(results.length / 2)] ?? Number.NaN;
  const [alone, tapped] = many.map((results) => middle(results, ({ perSecond }) => perSecond)) as [
    number,
    number,
  ];
  const [aloneMs, tappedMs] = one.map((results) => middle(results, ({ p50Ms }) => p50Ms)) as [number, number];
  return [
    atLeast(
      "tap",
      tapped / alone,
      RATE_BAR,
      `${Math.round(tapped)} requests/s through the tap, ${Math.round(alone)}/s by the target alone; ${CLIENTS} clients; ${entries} entries stored meanwhile`,
    ),
    atMost(
      "tap-delay",
      tappedMs - aloneMs,
      DELAY_BAR_MS,
      `ms added at the median of one caller: ${tappedMs.toFixed(3)} ms through the tap, ${aloneMs.toFixed(3)} ms without`,
    ),
  ];
}
