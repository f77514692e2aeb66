/**
 * Sets what a session of PostgreSQL would otherwise inherit from `alter role … set`, `alter database … set` or a pooler
 * (docs/operations.md#sessions, decision 304), and refuses a pooler that shares sessions (decision 280).
 */

import type { Client } from "pg";
import type { DatabaseAddress } from "../database-url.ts";
import { describeError, ReconError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import type { Sql } from "./client.ts";
import { unreachable } from "./database-error.ts";
import { closeClient, connectClient } from "./pg-client.ts";

/**
 * How often the two connections ask in turn. A pooler gives a transaction its most or its least recently used session, so one round shows
 * sharing. Other clients may disturb a round, but hardly eight of them in the same way.
 */
const ROUNDS = 8;
/** If a pooler has no free session, the statement waits. */
const LONGEST_ANSWER_MS = 5_000;

/**
 * Changes nothing in the sessions that it sees.
 * @throws ReconError `settings-invalid` if two connections share a session, or one connection has several;
 * `database-unreachable`
 */
export async function requireSessions(options: Sql["options"]): Promise<void> {
  const opened: Client[] = [];
  const open = async () => {
    const client = await connectClient(options).catch((error: unknown) => {
      throw unreachable(options, error);
    });
    opened.push(client);
    return client;
  };
  try {
    const first = await open();
    const session = await sessionOf(first);
    // PostgreSQL tells a connection the number of its process. A pooler tells another number.
    if (session === null || session === (first as Client & { processID: number }).processID) return;
    const second = await open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const other = await sessionOf(second);
      if (other === null) return;
      if (other === session || (await sessionOf(first)) !== session) throw shared(options);
    }
  } finally {
    await Promise.all(opened.map(closeClient));
  }
}

/** @returns the process that serves the connection now; null: no result in time */
async function sessionOf(client: Client): Promise<number | null> {
  const asked = client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return (await endsInTime(asked, LONGEST_ANSWER_MS)) ? ((await asked).rows[0]?.pid ?? null) : null;
}

function shared({ host, port, database }: Sql["options"]): ReconError {
  return new ReconError(
    "settings-invalid",
    `DATABASE_URL leads to a pooler at ${host.join(",")}:${port.join(",")} that shares the sessions of the database ${database} between programs (transaction pooling): settings and locks of wallet-recon would affect their statements. Use pool_mode = session there, or point DATABASE_URL at PostgreSQL itself.`,
  );
}

/**
 * Sent at the start of every connection. Each can change what a statement means or returns. Example: with `array_nulls = off`, NULL in a list
 * of rounds is the text "NULL", and those bets are never compared.
 */
const SETTINGS = {
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  array_nulls: "on",
  bytea_output: "hex",
  default_transaction_isolation: "read committed",
  exit_on_error: "off",
  extra_float_digits: "1",
  quote_all_identifiers: "off",
  standard_conforming_strings: "on",
  transform_null_equals: "off",
} as const;

/** Only a superuser may set it, also for a whole database. With "replica" no trigger marks what changed. */
const TRIGGERS = "session_replication_role";

/** PostgreSQL's limits of statements, in milliseconds; 0: none. */
export interface SessionLimits {
  readonly statementMs: number;
  readonly lockMs: number;
  readonly silenceMs: number;
}

/** For migrations and the build of an index, which may take long. */
export const NO_LIMITS: SessionLimits = { statementMs: 0, lockMs: 0, silenceMs: 0 };

/** The only settings of ours that PgBouncer passes on by default. */
const PASSED_ON = new Set(["DateStyle", "TimeZone", "standard_conforming_strings"]);
const REFUSED_BY_POOLERS: ReadonlySet<string> = new Set(
  ["search_path", ...Object.keys(SETTINGS)].filter((name) => !PASSED_ON.has(name)),
);

/** The parameters that `ignore_startup_parameters` of PgBouncer must name. */
export const TO_IGNORE: readonly string[] = [
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
];

/** The messages of PgBouncer, of poolers modelled after it, and of RDS Proxy. */
export const REFUSED =
  /(?:unsupported startup parameter(?: in options)?: |currently doesn.t support the option )(\w+)/;

type Place = { readonly host: readonly string[]; readonly port: readonly number[] };

/** Poolers that refuse unknown parameters. Their sessions are checked instead of set. */
const refusing = new Set<string>();
const placeOf = ({ host, port }: Place) => `${host.join()}:${port.join()}`;

/** Runs work that connects. If a pooler refuses one of our settings, runs it again without them. */
export async function withAcceptedParameters<Result>(
  place: Place,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!noteRefusedSetting(place, error)) throw error;
    return await work();
  }
}

/** Remembers a pooler that refuses one of our settings. @returns whether this error says so */
function noteRefusedSetting(place: Place, error: unknown): boolean {
  const [, name = ""] = REFUSED.exec(describeError(error)) ?? [];
  const isSetting = REFUSED_BY_POOLERS.has(name);
  if (isSetting) refusing.add(placeOf(place));
  return isSetting;
}

/** The schema of the tables, for the options of each opened driver. */
const schemas = new WeakMap<object, string>();

/** From now on, new connections of a driver send only what their pooler accepts. */
export function sendAcceptedParameters(options: Place & { connection: object }, schema: string): void {
  schemas.set(options, schema);
  const all = Object.entries(options.connection);
  const accepted = all.filter(([name]) => !REFUSED_BY_POOLERS.has(name));
  Object.defineProperty(options, "connection", {
    get: () => Object.fromEntries(refusing.has(placeOf(options)) ? accepted : all),
  });
}

/** The start parameters of a connection. */
export function startParameters(
  { applicationName, options, schema }: DatabaseAddress,
  { statementMs, lockMs, silenceMs }: SessionLimits,
): Record<string, string> {
  return {
    application_name: applicationName ?? "wallet-recon",
    ...(options === null ? {} : { options }),
    ...SETTINGS,
    search_path: schema,
    statement_timeout: String(statementMs),
    lock_timeout: String(lockMs),
    idle_in_transaction_session_timeout: String(silenceMs),
  };
}

/** Sets the same settings in a session whose driver does not send them at its start. */
export const SET_SESSION = `select ${Object.entries(SETTINGS)
  .map(([name, value]) => `set_config('${name}', '${value}', false)`)
  .join(", ")}`;

/** Asks for the settings that a session has. */
const INHERITED = `select current_setting('server_encoding') as encoding, current_schema()::text as schema,
  current_setting('search_path') as path, json_object_agg(name, setting)::text as settings
  from pg_settings where name in (${[...Object.keys(SETTINGS), TRIGGERS].map((name) => `'${name}'`).join(", ")})`;

interface Inherited {
  readonly encoding: string;
  /** the first schema of the search path that exists; null: none does */
  readonly schema: string | null;
  readonly path: string;
  readonly settings: string;
}

/**
 * Checks that a session has our settings. A pooler may drop what was sent at its start.
 * @param ask runs a statement
 * @param server the database and server in words, for the message
 * @param options of the driver that asks
 * @throws ReconError `database-unsuitable`
 */
export async function requireSession(
  ask: (statement: string) => PromiseLike<readonly unknown[]>,
  server: string,
  options: object,
): Promise<void> {
  const [inherited] = (await ask(INHERITED)) as readonly Inherited[];
  if (inherited === undefined) return;
  const { encoding, path } = inherited;
  if (encoding !== "UTF8") {
    throw unsuitable(
      `${server} has the encoding ${encoding}, which cannot store every name and text of a provider. Create one with "create database … encoding 'UTF8' template template0", and point DATABASE_URL at it.`,
    );
  }
  const found: Readonly<Record<string, string>> = JSON.parse(inherited.settings);
  if (found[TRIGGERS] !== "origin") {
    throw unsuitable(
      `${server} starts its sessions with ${TRIGGERS} = ${found[TRIGGERS]}, so no trigger runs. As a superuser run "alter database … reset ${TRIGGERS}", or "alter role … reset ${TRIGGERS}".`,
    );
  }
  const others: [string, string][] = Object.entries(SETTINGS).filter(
    ([name, value]) => found[name] !== value,
  );
  const schema = schemas.get(options);
  if (schema !== undefined && path !== schema && inherited.schema !== schema)
    others.push(["search_path", schema]);
  if (others.length === 0) return;
  const list = others
    .map(([name]) => `${name} = '${name === "search_path" ? path : found[name]}'`)
    .join(", ");
  const resets = others.map(([name, value]) => `alter role … set ${name} = '${value}'`).join("; ");
  throw unsuitable(
    `the sessions of ${server} start with ${list}, and a pooler drops the settings of wallet-recon. Run "${resets}" for its user, then RECONNECT in the pooler's console.`,
  );
}

function unsuitable(problem: string): ReconError {
  return new ReconError("database-unsuitable", problem);
}
