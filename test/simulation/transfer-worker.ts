/** Workers that verify, each with its own connections, and what happens to them during their work. */

import type { Clock } from "../../src/clock.ts";
import { systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config-file.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { openAskOutcome, type VerifyContext } from "../../src/flows/verify/ask-outcome.ts";
import { verifyDue } from "../../src/flows/verify/verify-due.ts";
import { silentLog } from "../../src/log.ts";
import { openBudget } from "../../src/provider/budget.ts";
import { openProvider, type ProviderClient } from "../../src/provider/client.ts";
import type { Blow } from "./transfer-plan.ts";

export const CREDENTIALS = { username: "simulation", password: "a seeded world" };

export interface Surroundings {
  readonly databaseUrl: string;
  readonly providerUrl: string;
  readonly config: Config;
  readonly clock: Clock;
}

export interface VerifyWorker {
  readonly context: VerifyContext;
  readonly provider: ProviderClient;
  /** Verifies the due transfers and top-ups. @returns false: the worker was killed meanwhile */
  verify(): Promise<boolean>;
  stop(): Promise<void>;
}

/** Everything that a process holds in memory; all state is in the database. @param blows those left, of all workers */
export function startVerifyWorker(surroundings: Surroundings, blows: Blows): VerifyWorker {
  const { databaseUrl, providerUrl, config, clock } = surroundings;
  const { requestTimeout, concurrency } = config.pull;
  const limits = { requestTimeoutMs: requestTimeout, connections: concurrency, production: false };
  const provider = openProvider({ baseUrl: providerUrl, ...CREDENTIALS }, limits, clock);
  const sql = openDatabase(databaseUrl, 4);
  const base = { sql, config, clock, log: silentLog };
  // A wait for a slot takes real time: the budget uses the database's clock.
  const budget = openBudget(sql, { concurrency, minIntervalMs: 0 }, requestTimeout, systemClock);
  const ask = openAskOutcome(provider, budget, base);
  let isKilled = false;
  const context: VerifyContext = {
    ...base,
    ask: async (sent, signal) => {
      const heard = await ask(sent, signal);
      const blow = blows.next();
      if (blow === "killed") {
        isKilled = true;
        await sql.end({ timeout: 0 });
      }
      if (blow === "overtaken") await overtake(sql, surroundings, sent.transactionRef);
      return heard;
    },
  };
  return {
    context,
    provider,
    verify: async () => {
      try {
        await verifyDue(context, new AbortController().signal);
      } catch (error) {
        if (!isKilled) throw error;
      }
      return !isKilled;
    },
    stop: async () => {
      await sql.end({ timeout: 5 });
      provider.close();
    },
  };
}

/** A worker that was suspended for half a minute: when it wakes up, another worker has decided about its question. */
async function overtake(sql: Sql, surroundings: Surroundings, ref: string): Promise<void> {
  await endLeases(sql, ref);
  const other = startVerifyWorker(surroundings, { next: () => null });
  await other.verify();
  await other.stop();
}

/** Ends claims as if half a minute had passed. @param ref null: all claims */
export async function endLeases(sql: Sql, ref: string | null): Promise<void> {
  for (const table of ["transfers", "top_ups"]) {
    await sql`
      update ${sql(table)} set lease_until = clock_timestamp() - interval '1 second'
      where lease_token is not null and (${ref}::text is null or transaction_ref = ${ref})`;
  }
}

export interface Blows {
  /** Counts one more question. @returns what happens to the worker after it */
  next(): Blow["kind"] | null;
}

export function countBlows(blows: readonly Blow[]): Blows {
  const left = [...blows];
  let questions = 0;
  return {
    next: () => {
      questions += 1;
      const [blow] = left;
      if (blow === undefined || questions < blow.atQuestion) return null;
      left.shift();
      return blow.kind;
    },
  };
}
