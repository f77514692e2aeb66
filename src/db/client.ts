/** The connection pool, and the conversion of PostgreSQL's types. */

import postgres from "postgres";
import type { Instant } from "../clock.ts";
import { type DatabaseAddress, readDatabaseUrl } from "../database-url.ts";
import { ReconError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import { nameOf, unreachable } from "./database-error.ts";
import { mendStatements, readArrayTypesOnce, surviveLostConnections } from "./driver-workarounds.ts";
import { renewable } from "./renewable.ts";
import {
  requireSession,
  type SessionLimits,
  sendAcceptedParameters,
  startParameters,
  withAcceptedParameters,
} from "./session.ts";

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
/** A `Sql`, inside or outside of a transaction. */
export type Query = postgres.ISql<Types>;

const FIRST_INSTANT = Date.parse("0001-01-01T00:00:00Z");
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/** Clamps an instant to years of four digits: PostgreSQL cannot read how JavaScript writes others. */
function toTimestamp(instant: Instant): string {
  return new Date(Math.min(Math.max(instant, FIRST_INSTANT), LAST_INSTANT)).toISOString();
}

/**
 * The pause before a new connection. By default postgres.js counts every broken connection of the pool as a failed
 * attempt, and waits up to 20 seconds after the server has restarted.
 */
const RECONNECT_SECONDS = 0.25;

/** The operating system notices within half a minute that the other end of an idle connection is gone. */
const KEEP_ALIVE_SECONDS = 10;

/** The limits of a pool's statements (docs/operations.md#limits). */
export interface DatabaseLimits {
  readonly statementMs: number;
  readonly lockMs: number;
}

/** The limits of a worker's statements. A statement that takes longer would probably never end. */
const WORK_LIMITS: DatabaseLimits = { statementMs: 300_000, lockMs: 30_000 };
/** The limits for pages and API calls, whose callers wait. */
export const PEOPLE_LIMITS: DatabaseLimits = { statementMs: 30_000, lockMs: 5_000 };
/** The longest idle time within a transaction. After it, the process that began it has ended or hangs. */
const LONGEST_SILENCE_MS = 300_000;

/**
 * Opens a pool. The pool connects at its first use.
 * @param url as DATABASE_URL
 * @param most the most connections
 * @param limits PostgreSQL ends statements that exceed them
 * @throws ReconError `settings-invalid`
 */
export function openDatabase(url: string, most = 10, limits: DatabaseLimits = WORK_LIMITS): Sql {
  const address = readDatabaseUrl(url);
  return renewable(() => openPool(address, most, limits));
}

function openPool(address: DatabaseAddress, most: number, limits: DatabaseLimits): Sql {
  const sql = openDriver(
    address,
    { ...limits, silenceMs: LONGEST_SILENCE_MS },
    {
      max: most,
      backoff: () => RECONNECT_SECONDS,
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
    },
  ) as unknown as Sql;
  readArrayTypesOnce(sql);
  return mendStatements(surviveLostConnections(sql));
}

/** Opens postgres.js with the options that all connections share. @param own the caller's options */
export function openDriver(address: DatabaseAddress, limits: SessionLimits, own: object): postgres.Sql {
  const sql = postgres({ ...driverOptions(address, limits), ...own });
  sendAcceptedParameters(sql.options as never, address.schema);
  return sql as postgres.Sql;
}

function driverOptions(address: DatabaseAddress, limits: SessionLimits) {
  const { hosts, user, password, database, ssl, target } = address;
  const [first] = hosts;
  const isLocal = first?.host.startsWith("/") === true;
  return {
    host: hosts.map(({ host }) => host),
    port: hosts.map(({ port }) => port),
    ...(isLocal ? { path: `${first.host}/.s.PGSQL.${first.port}` } : {}),
    ...(user === undefined ? {} : { user }),
    ...(database === undefined ? {} : { database }),
    ...(target === undefined ? {} : { target_session_attrs: target }),
    pass: password,
    ssl,
    onnotice: () => {},
    connect_timeout: address.connectSeconds,
    keep_alive: KEEP_ALIVE_SECONDS,
    connection: startParameters(address, limits),
  } as unknown as postgres.Options<Record<string, never>>;
}

/** The longest wait for a response. A server that accepts connections but never responds counts as unreachable. */
const LONGEST_CHECK_MS = 10_000;

/**
 * Checks that the database responds, and that its session has the settings that were sent.
 * @throws ReconError `database-unreachable` that names host and database, never the password; `database-unsuitable`
 */
export async function checkDatabase(sql: Sql): Promise<void> {
  const { options } = sql;
  try {
    const asked = withAcceptedParameters(options, () =>
      requireSession((statement) => sql.unsafe(statement), nameOf(options), options),
    );
    if (await endsInTime(asked, LONGEST_CHECK_MS)) return;
  } catch (error) {
    throw error instanceof ReconError ? error : unreachable(options, error);
  }
  throw unreachable(options, new Error(`no answer for ${LONGEST_CHECK_MS / 1000} s`));
}

/** One in four connections serves operators: the dashboard, the API and the metrics. */
const PEOPLE_SHARE = 4;
const FEWEST_OF_PEOPLE = 2;

/**
 * Operators get connections of their own, so a worker that uses its whole pool cannot block them. Shares within one pool would work only
 * if every reader kept to them.
 */
export interface Pools {
  /** pulling, comparing, verifying, alerting */
  readonly work: Sql;
  /** the dashboard, the API and the metrics */
  readonly people: Sql;
  close(): Promise<void>;
}

/**
 * Opens the pools of a process. They connect at their first use.
 * @param most the most connections of both pools together, at least 4
 */
export function openPools(url: string, most: number): Pools {
  const people = Math.max(FEWEST_OF_PEOPLE, Math.floor(most / PEOPLE_SHARE));
  const pools = {
    work: openDatabase(url, most - people),
    people: openDatabase(url, people, PEOPLE_LIMITS),
  };
  return {
    ...pools,
    // All work has ended by now. The timeout covers a broken connection, which may never report its end.
    close: async () => {
      await Promise.all([pools.work, pools.people].map((sql) => sql.end({ timeout: 1 })));
    },
  };
}
