/** Plays one seed through: real PostgreSQL, real HTTP to the sandbox, a clock that the simulation owns. */

import type { FetchBetPage } from "../../src/bet.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { deliverCallbacks } from "../../src/flows/deliver-callbacks.ts";
import { diffProduct } from "../../src/flows/diff-product.ts";
import { pullProduct } from "../../src/flows/pull-product.ts";
import { silentLog } from "../../src/log.ts";
import { openProvider } from "../../src/provider/client.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { createWorld, type World } from "../../src/sandbox/world.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type Audit, type AuditedMismatch, auditMismatches } from "./audit.ts";
import { planSeed, STEP_MS } from "./seed-plan.ts";

const CREDENTIALS = { username: "simulation", password: "a seeded world" };
const HOUR_MS = 3_600_000;
/** After the last word of the world: the provider's grace, its confirm fetch, and a look after that. */
const AFTERWARDS_MS = 2 * HOUR_MS;

export interface SeedRun extends Audit {
  readonly seed: number;
}

/** @param databaseUrl a migrated, empty database */
export async function runSeed(seed: number, databaseUrl: string): Promise<SeedRun> {
  const plan = planSeed(seed);
  const clock = createTestClock(plan.begin);
  const world = createWorld(plan.world);
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 40,
    faults: [
      {
        when: { hoursUtc: [new Date(plan.begin + HOUR_MS).getUTCHours()], longerThan: "PT20M" },
        do: seed % 8 === 0 ? { kind: "hang" } : { kind: "status", status: 504 },
      },
    ],
  });
  const limits = { requestTimeoutMs: plan.config.pull.requestTimeout, connections: 4, production: false };
  const provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
  const sql = openDatabase(databaseUrl, 8);
  try {
    await playThrough(
      { sql, config: plan.config, clock, log: silentLog, fetchPage: provider.fetchBetPage },
      world,
      clock,
    );
    return { seed, ...auditMismatches(world.plantedBy(clock.now()), await readEverOpened(sql)) };
  } finally {
    await sql.end({ timeout: 5 });
    provider.close();
    await sandbox.close();
  }
}

async function playThrough(
  context: PullContext & { fetchPage: FetchBetPage },
  world: World,
  clock: TestClock,
): Promise<void> {
  const begin = clock.now();
  const end = world.quietAt() + AFTERWARDS_MS;
  const neverAborted = new AbortController().signal;
  for (let now = begin + STEP_MS; now <= end; now += STEP_MS) {
    clock.set(now);
    await deliverCallbacks(context, world, begin, now);
    // Side by side, as the jobs do it: a look must not be confused by a page that is written meanwhile.
    await Promise.all(
      world.products.flatMap(({ productId }) => [
        pullProduct(context, productId, neverAborted),
        diffProduct(context, productId, neverAborted),
      ]),
    );
  }
}

async function readEverOpened(sql: Sql): Promise<AuditedMismatch[]> {
  return await sql<AuditedMismatch[]>`
    select kind, product_id as "productId", username, bet_id as "betId", transaction_id as "transactionId",
      amount_at_risk as "amountAtRisk", status
    from mismatches order by id`;
}
