/** Plays one plan of kills with real processes, and audits the database afterwards. */

import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../src/db/client.ts";
import { describeError } from "../../src/errors.ts";
import type { TimeRange } from "../../src/window.ts";
import { eventually } from "../support/eventually.ts";
import { type Crew, startCrew } from "./crew.ts";
import { type Blow, describePlan, type KillPlan } from "./kill-plan.ts";
import type { OwnPostgres } from "./own-postgres.ts";
import type { OwnRedis } from "./own-redis.ts";
import { auditPull, findBrokenPromises } from "./pull-audit.ts";
import type { SeedRun } from "./simulation.ts";
import { openStage, PRODUCTS, type Stage } from "./stage.ts";

/** The servers that a run may restart. */
export interface Surroundings {
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis;
}

/** A lease, the lock of a lost job, and the longest wait of a hostile fault all end sooner. */
const DEADLINE_MS = 300_000;

export async function runKilled(plan: KillPlan, surroundings: Surroundings): Promise<SeedRun> {
  const { postgres, redis } = surroundings;
  const stage = await openStage(plan, postgres.url, plan.queuesInRedis ? redis.url : null);
  const { sql, range } = stage;
  const crew = startCrew(plan.workers, stage.environment);
  try {
    const { problems, midWindow } = await strikeAll(plan, { ...surroundings, ...stage, crew });
    await crew.stop();
    const audit = await auditPull(sql, await stage.listed, range);
    return {
      ...audit,
      seed: plan.seed,
      summary: `${describePlan(plan)}; ${midWindow} kills in the middle of a window`,
      kinds: {},
      problems: [...problems, ...crew.problems, ...audit.problems],
    };
  } finally {
    await crew.stop();
    await stage.close();
  }
}

interface Struck extends Surroundings, Stage {
  readonly crew: Crew;
}

/** Strikes each blow in turn, then waits until everything is fetched. */
async function strikeAll(plan: KillPlan, run: Struck): Promise<{ problems: string[]; midWindow: number }> {
  const { sql, range } = run;
  const problems: string[] = [];
  let midWindow = 0;
  try {
    for (const [place, { atProgress, afterMs, what }] of plan.blows.entries()) {
      if (atProgress !== null) await untilFetched(atProgress, run);
      await pause(afterMs);
      await strike(what, place, run);
      const look = async () => {
        if (what.kind === "kill" && (await isAnyLeased(sql))) midWindow += 1;
        problems.push(...(await findBrokenPromises(sql, await run.listed)));
        const isLast = place === plan.blows.length - 1;
        if (!(isLast && plan.waitsForLease)) await endLeases(sql);
        return true;
      };
      await eventually("the database can be looked at", look, DEADLINE_MS);
    }
    await eventually("nothing is left to be fetched", () => isWhole(sql, range), DEADLINE_MS);
  } catch (error) {
    problems.push(describeError(error));
  }
  return { problems, midWindow };
}

async function strike(what: Blow["what"], place: number, { crew, postgres, redis }: Struck): Promise<void> {
  if (what.kind === "restart-postgres") return await postgres.restart(what.how);
  const killed = crew.kill(place);
  if (what.redis === "emptied") await redis.empty();
  if (what.redis === "restarted") await redis.restart();
  await killed;
}

async function isAnyLeased(sql: Sql): Promise<boolean> {
  return (await sql`select from windows where lease_until > clock_timestamp()`).length > 0;
}

/**
 * Lets other workers take over the work of killed ones at once, as if half a minute had passed. A living worker may lose a
 * window by that, as if it had been suspended.
 */
export async function endLeases(sql: Sql): Promise<void> {
  await sql`update windows set lease_until = clock_timestamp() - interval '1 second' where lease_token is not null`;
}

/** @param share of all time, from 0 to 1 */
async function untilFetched(share: number, { sql, range: { from, to } }: Struck): Promise<void> {
  await eventually(
    `${Math.round(share * 100)} % of the time is fetched`,
    async () => {
      const states = await sql<{ head: number }[]>`select head from pull_states`;
      const fetched = states.map(({ head }) => Math.min(head, to) - from);
      return fetched.reduce((sum, one) => sum + one, 0) >= share * (to - from) * PRODUCTS.length;
    },
    DEADLINE_MS,
  );
}

async function isWhole(sql: Sql, { to }: TimeRange): Promise<boolean> {
  const pulled = await sql`select from pull_states where head >= ${to}`;
  const unfinished = await sql`select from windows where status in ('planned', 'gap') and from_at < ${to}`;
  return pulled.length === PRODUCTS.length && unfinished.length === 0;
}
