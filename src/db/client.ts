/** The connection pool, and how PostgreSQL's types become ours. */

import postgres from "postgres";
import type { Instant } from "../clock.ts";
import { endsInTime } from "../in-time.ts";
import { unreachable } from "./database-error.ts";
import { learnArrayTypesOnce, outliveLostConnections, runEachAlone } from "./driver-workarounds.ts";

const NUMERIC = 1700;
const INT8 = 20;
const TIMESTAMPTZ = 1184;

interface Types extends Record<string, unknown> {
  instant: Instant;
  count: number;
  decimal: string;
}

/** timestamptz is an Instant, numeric stays decimal text, bigint is a number (ids and counts only). */
export type Sql = postgres.Sql<Types>;
/** A `Sql` inside a transaction, or outside of one. */
export type Query = postgres.ISql<Types>;

const FIRST_INSTANT = Date.parse("0001-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Years beyond four digits are written in a way that PostgreSQL does not read: nothing is stored that lies out there.
 */
function toTimestamp(instant: Instant): string {
  return new Date(Math.min(Math.max(instant, FIRST_INSTANT), LAST_INSTANT)).toISOString();
}

/**
 * When the server restarts, every connection of the pool breaks, and postgres.js by itself would count each as one
 * more try in vain: some would then wait for 20 seconds although the server is long back.
 */
const RECONNECT_SECONDS = 0.25;

/** How long what is asked of a pool may take (docs/operations.md#limits). */
export interface DatabaseLimits {
  readonly statementMs: number;
  readonly lockMs: number;
}

/** The work of a worker: what takes longer would not end at all. */
const WORK_LIMITS: DatabaseLimits = { statementMs: 300_000, lockMs: 30_000 };
/** Pages and API calls, for which somebody waits. */
export const PEOPLE_LIMITS: DatabaseLimits = { statementMs: 30_000, lockMs: 5_000 };
/** The longest idle time of a transaction: its process has ended or hangs. */
const LONGEST_SILENCE_MS = 300_000;

/**
 * Opens a pool; it connects when first used.
 * @param url postgres:// URL
 * @param most connections at the most
 * @param limits PostgreSQL ends what takes longer
 */
export function openDatabase(url: string, most = 10, limits: DatabaseLimits = WORK_LIMITS): Sql {
  const sql = postgres(url, {
    max: most,
    onnotice: () => {},
    connect_timeout: 10,
    backoff: () => RECONNECT_SECONDS,
    connection: {
      application_name: "wallet-recon",
      TimeZone: "UTC",
      statement_timeout: limits.statementMs,
      lock_timeout: limits.lockMs,
      idle_in_transaction_session_timeout: LONGEST_SILENCE_MS,
    },
    types: {
      instant: {
        to: TIMESTAMPTZ,
        from: [TIMESTAMPTZ],
        serialize: (value: Instant | string) => (typeof value === "number" ? toTimestamp(value) : value),
        parse: (text: string) => Date.parse(`${text.slice(0, 10)}T${text.slice(11)}:00`),
      },
      count: { to: INT8, from: [INT8], serialize: String, parse: Number },
      decimal: { to: NUMERIC, from: [NUMERIC], serialize: String, parse: (text: string) => text },
    },
  }) as unknown as Sql;
  learnArrayTypesOnce(sql);
  return runEachAlone(outliveLostConnections(sql));
}

/** A server that takes the connection and never answers is as good as none. */
const LONGEST_CHECK_MS = 10_000;

/**
 * Makes sure that the database answers.
 * @throws ReconError `database-unreachable` that names host and database, never the password
 */
export async function checkDatabase(sql: Sql): Promise<void> {
  try {
    if (await endsInTime(sql`select 1`, LONGEST_CHECK_MS)) return;
  } catch (error) {
    throw unreachable(sql.options, error);
  }
  throw unreachable(sql.options, new Error(`nothing for ${LONGEST_CHECK_MS / 1000} s`));
}
