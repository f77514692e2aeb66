/**
 * callbacks: requests per second of `recon callbacks` over HTTP, compared with pgbench that sends the statements of one
 * request at a time, each with a commit of its own, to the same database. Each side has as many clients as it is fast
 * with: requests that wait together share commits, while sessions of PostgreSQL beyond its cores only get in each other's
 * way. The pgbench run is compared with `pgbench -b simple-update`.
 */

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Sql } from "../src/db/client.ts";
import { freePort } from "../src/embedded/child-process.ts";
import { startRecon } from "../test/simulation/recon-process.ts";
import { type LoadPlan, type LoadResult, playersOfClient } from "./support/callback-plan.ts";
import { SCRIPT_PLAYER, scriptOfCallbacks } from "./support/callback-script.ts";
import { withDatabase } from "./support/database.ts";
import type { Figure } from "./support/figure.ts";
import { findPgbench, initPgbench, runPgbench } from "./support/pgbench.ts";

/** of the server */
const CLIENTS = 32;
/** of pgbench, and of the runs that show the server with no more than it */
const SESSIONS = 8;
const PLAYERS = 500;
const SECONDS = 5;
const ROUNDS = 5;
const BAR = 1;
/** of the statements of one request against pgbench's own script */
const STATEMENTS_BAR = 0.5;
/** The threads of pgbench, so that pgbench itself is not the limit. */
const LOAD = [`--client=${SESSIONS}`, "--jobs=2", `--time=${SECONDS}`];
/** A run of the script is a placement and a settlement. */
const REQUESTS_OF_A_SCRIPT = 2;
/** The numbers of bets for each run, so that no two runs share a number. */
const BETS_OF_A_RUN = 100_000_000;
/** The server with many clients, with few, and pgbench. */
const RUNS_OF_A_ROUND = 3;
/** A run without a result: a new server is slow until it has answered some thousand requests. */
const WARM_UP_RUN = RUNS_OF_A_ROUND * ROUNDS;
const CREDIT = 1_000_000;
/** 100,000 accounts for each of its branches. */
const SIMPLE_UPDATE_SCALE = 5;

/**
 * Measures all in turn, several times, and takes the median of each, because the machine's speed drifts and
 * tables grow.
 */
export async function measureCallbacks(): Promise<Figure[]> {
  const pgbench = await findPgbench();
  return await withDatabase(async (sql, url) => {
    await initPgbench(pgbench, url, SIMPLE_UPDATE_SCALE);
    // Those of the server, and those of each run of pgbench.
    const players = PLAYERS * (1 + ROUNDS);
    await sql`
      insert into wallets (username, currency, balance, created_at)
      select 'player-' || number, 'THB', ${CREDIT}, now() from generate_series(0, ${players - 1}::integer) as number`;
    const folder = await mkdtemp(join(tmpdir(), "recon-bench-"));
    const script = join(folder, "callbacks.sql");
    const plan = {
      playersOfClient: playersOfClient({ clients: SESSIONS, players: PLAYERS }),
      credit: CREDIT,
    };
    await writeFile(script, await scriptOfCallbacks(url, plan));
    const server = await startServer(url, folder);
    const served: LoadResult[] = [];
    const servedFew: LoadResult[] = [];
    const sameStatements: number[] = [];
    const simpleUpdates: number[] = [];
    try {
      await runLoad(server.port, WARM_UP_RUN * BETS_OF_A_RUN, CLIENTS);
      for (let round = 0; round < ROUNDS; round += 1) {
        const firstBet = RUNS_OF_A_ROUND * round * BETS_OF_A_RUN;
        served.push(await runLoad(server.port, firstBet, CLIENTS));
        servedFew.push(await runLoad(server.port, firstBet + BETS_OF_A_RUN, SESSIONS));
        const own = [
          `--define=first=${firstBet + 2 * BETS_OF_A_RUN}`,
          `--define=player=${PLAYERS * (1 + round)}`,
          "--define=count=0",
          `--file=${script}`,
        ];
        sameStatements.push(REQUESTS_OF_A_SCRIPT * (await runPgbench(pgbench, url, [...LOAD, ...own])));
        simpleUpdates.push(await runPgbench(pgbench, url, [...LOAD, "--builtin=simple-update"]));
      }
    } finally {
      await server.stop();
      await rm(folder, { recursive: true });
    }
    await checkBooks(sql);
    return [figureOf(served, servedFew, sameStatements, simpleUpdates)];
  });
}

async function startServer(url: string, folder: string) {
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
  return {
    port,
    stop: async () => {
      recon.kill("SIGTERM");
      await recon.ended;
    },
  };
}

/** Runs the clients in a process of their own, as a provider would be. */
async function runLoad(port: number, firstBet: number, clients: number): Promise<LoadResult> {
  const program = join(import.meta.dirname, "support/callback-load.ts");
  const plan: LoadPlan = { clients, players: PLAYERS, seconds: SECONDS, firstBet };
  const { stdout } = await promisify(execFile)(process.execPath, [
    program,
    String(port),
    JSON.stringify(plan),
  ]);
  return JSON.parse(stdout) as LoadResult;
}

/** Checks the results: every balance must be the first credit plus what the entries moved. */
async function checkBooks(sql: Sql): Promise<void> {
  const wrong = await sql`
    select username from wallets where username <> ${SCRIPT_PLAYER} and balance <> ${CREDIT}::numeric
      + coalesce((select sum(moved) from callback_entries e where e.username = wallets.username), 0)`;
  if (wrong.length > 0) throw new Error(`${wrong.length} balances differ from the sum of what was moved`);
}

function figureOf(
  served: readonly LoadResult[],
  servedFew: readonly LoadResult[],
  sameStatements: readonly number[],
  simpleUpdates: readonly number[],
): Figure {
  const middle = (values: readonly number[]) =>
    [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
  const requests = middle(served.map(({ perSecond }) => perSecond));
  const few = middle(servedFew.map(({ perSecond }) => perSecond));
  const same = middle(sameStatements);
  const simple = middle(simpleUpdates);
  const latency = (results: readonly LoadResult[], read: (result: LoadResult) => number) =>
    middle(results.map(read)).toFixed(1);
  const [ofSame, fewOfSame, ofSimple] = [requests / same, few / same, same / simple].map(
    (ratio) => Math.round(ratio * 1000) / 1000,
  );
  const sayServed = (results: readonly LoadResult[], perSecond: number) =>
    `${Math.round(perSecond)} requests/s, p50 ${latency(results, ({ p50Ms }) => p50Ms)} ms, p99 ${latency(results, ({ p99Ms }) => p99Ms)} ms`;
  return {
    name: "callbacks",
    value: ofSame ?? NaN,
    bar: `≥ ${BAR}, and its statements ≥ ${STATEMENTS_BAR} of simple-update`,
    holds: (ofSame ?? 0) >= BAR && (ofSimple ?? 0) >= STATEMENTS_BAR,
    detail: [
      `${sayServed(served, requests)} with ${CLIENTS} clients`,
      `${Math.round(same)}/s by pgbench with the same statements and ${SESSIONS} clients, ${ofSimple} of its ${Math.round(simple)}/s by simple-update`,
      `with ${SESSIONS} clients each ${fewOfSame}: ${sayServed(servedFew, few)}`,
      "fsync and synchronous_commit on",
    ].join("; "),
  };
}
