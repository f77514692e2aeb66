/** Plays one seed: real PostgreSQL, real HTTP to the sandbox, and a clock that the simulation owns. */

import type { FetchBetPage } from "../../src/bet.ts";
import type { Instant } from "../../src/clock.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { ReconError } from "../../src/errors.ts";
import { compareProduct } from "../../src/flows/compare/compare-product.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import { EXCLUDED_ENDS, type RangeHabits } from "../../src/sandbox/server/bet-endpoint.ts";
import { startSandbox } from "../../src/sandbox/server/server.ts";
import type { PlantedFault } from "../../src/sandbox/world/world.ts";
import { createMovingClock, type TestClock } from "../support/clock.ts";
import { pullProduct } from "../support/pull-product.ts";
import { type Audit, type AuditedMismatch, auditMismatches } from "./audit.ts";
import { canShow, type LedgerHabit, openLedgerWriter } from "./ledger-writer.ts";
import { createOddWorld } from "./oddities/odd-world.ts";
import { auditByOracle } from "./oracle-audit.ts";
import { auditOutside } from "./outside-audit.ts";
import { auditResweeps } from "./pull-audit.ts";
import { auditReports, readDays } from "./report-audit.ts";
import { planSeed, type SeedPlan } from "./seed-plan.ts";

const CREDENTIALS = { username: "simulation", password: "a seeded world" };

export interface PlayedSeed extends Audit {
  readonly seed: number;
  readonly allPlanted: readonly PlantedFault[];
  readonly restarts: number;
  /** one line for each difference that the days' reports do not explain, and for each time that was not fetched again */
  readonly unexplained: readonly string[];
  /** what the oracle judged, in words */
  readonly oracle: string;
}

/** Each seed has one of the eight ways in which a provider may read the ends of a range. */
export function rangeHabits(seed: number): RangeHabits {
  return { excludes: EXCLUDED_ENDS[seed % 4] ?? "both", wholeSeconds: seed % 8 >= 4 };
}

/** @param databaseUrl a migrated, empty database @param plan of that seed, possibly changed */
export async function runSeed(
  seed: number,
  databaseUrl: string,
  ledger: LedgerHabit = "own",
  plan: SeedPlan = planSeed(seed, ledger),
): Promise<PlayedSeed> {
  const clock = createMovingClock(plan.begin, seed);
  const world = createOddWorld(plan.world);
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 40,
    faults: plan.faults,
    ranges: rangeHabits(seed),
  });
  const writer = await openLedgerWriter(ledger, databaseUrl, world, plan.begin);
  let worker = startWorker(databaseUrl, sandbox.url, plan, clock);
  try {
    for (const [index, now] of plan.steps.entries()) {
      clock.set(now);
      const nextAt = plan.steps[index + 1] ?? Number.POSITIVE_INFINITY;
      await writer.deliver(worker.context, now, nextAt - now <= plan.config.diff.callbackGrace);
      await work(worker);
      if (!plan.restarts.has(now)) continue;
      await analyze(worker.context.sql);
      await worker.stop();
      worker = startWorker(databaseUrl, sandbox.url, plan, clock);
    }
    const allPlanted = world.plantedBy(clock.now()).filter(({ kind }) => canShow(ledger, kind));
    const audit = auditMismatches(allPlanted, await readEverOpened(worker.context.sql));
    const { sql, config } = worker.context;
    const pulled = config.products.map(({ productId }) => productId);
    const time = { from: plan.begin, to: clock.now() };
    const oracle = await auditByOracle(worker.context, world, plan.steps);
    const unexplained = [
      ...oracle.problems,
      ...(await auditReports(worker.context)),
      ...(await auditResweeps(sql, pulled, config.pull.resweepAfter, time)),
      // Plants entries, so it is the last one.
      ...(await auditOutside(worker.context, await readDays(sql))),
    ];
    return { seed, allPlanted, restarts: plan.restarts.size, unexplained, oracle: oracle.summary, ...audit };
  } finally {
    await writer.close();
    await worker.stop();
    await sandbox.close();
  }
}

type Worker = ReturnType<typeof startWorker>;

/** Everything that a process holds in memory; all state is in the database. */
function startWorker(
  databaseUrl: string,
  baseUrl: string,
  { config, providerDown }: SeedPlan,
  clock: TestClock,
) {
  const limits = { requestTimeoutMs: config.pull.requestTimeout, connections: 4, production: false };
  const provider = openProvider({ baseUrl, ...CREDENTIALS }, limits, clock);
  const sql = openDatabase(databaseUrl, 4);
  const fetchPage: FetchBetPage = async (request, signal) => {
    const isDown =
      providerDown !== undefined && clock.now() >= providerDown.from && clock.now() < providerDown.to;
    if (isDown) throw new ReconError("provider-server-error", "HTTP 503");
    return await provider.fetchBetPage(request, signal);
  };
  return {
    context: { sql, config, clock, log: silentLog, fetchPage },
    stop: async () => {
      await sql.end({ timeout: 5 });
      provider.close();
    },
  };
}

/** The server analyzes tables by itself within minutes. A seed ends earlier, and its plans would be guesses. */
async function analyze(sql: Sql): Promise<void> {
  await sql`analyze bet_records, callback_entries, windows, diff_marks`;
}

/** Pulls and compares side by side, as the jobs do: a page that is written meanwhile must not confuse a comparison. */
async function work({ context }: Worker): Promise<void> {
  const neverAborted = new AbortController().signal;
  await Promise.all(
    context.config.products.flatMap(({ productId }) => [
      pullProduct(context, productId, neverAborted),
      compareProduct(context, productId, neverAborted),
    ]),
  );
}

/** @param since leaves out mismatches that ended before this time */
export async function readEverOpened(sql: Sql, since: Instant = 0): Promise<AuditedMismatch[]> {
  return await sql<AuditedMismatch[]>`
    select kind, product_id as "productId", username, bet_id as "betId", transaction_id as "transactionId",
      round_id as "roundId", amount_at_risk as "amountAtRisk", status, reason
    from mismatches where status = 'open' or first_seen_at >= ${since} order by id`;
}
