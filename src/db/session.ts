/**
 * What a session of PostgreSQL would inherit from `alter role … set`, `alter database … set` or a pooler, and what this program
 * needs instead (docs/operations.md#sessions, decision 304).
 */

import type { DatabaseAddress } from "../database-url.ts";
import { describeError, ReconError } from "../errors.ts";

/**
 * Sent with the start of every connection. Each can change what a statement means or returns: with `array_nulls = off` the word
 * NULL in a list of rounds is a text, and bets are never compared.
 */
const PINNED = {
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

/** A superuser can set it for a database, and no other role may send it: with "replica" no trigger marks what changed. */
const TRIGGERS = "session_replication_role";

/** PostgreSQL's limits of statements, in milliseconds; 0: none. */
export interface SessionLimits {
  readonly statementMs: number;
  readonly lockMs: number;
  readonly silenceMs: number;
}

/** A migration and the build of an index may take long. */
export const NO_LIMITS: SessionLimits = { statementMs: 0, lockMs: 0, silenceMs: 0 };

/** Of what is pinned, PgBouncer passes only these on by itself. */
const PASSED_ON = new Set(["DateStyle", "TimeZone", "standard_conforming_strings"]);
const REFUSED_BY_POOLERS: ReadonlySet<string> = new Set(
  ["search_path", ...Object.keys(PINNED)].filter((name) => !PASSED_ON.has(name)),
);

/** What `ignore_startup_parameters` of PgBouncer must name. */
export const TO_IGNORE: readonly string[] = [
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
];

/** What PgBouncer and poolers after its model say, and what RDS Proxy says. */
export const REFUSED =
  /(?:unsupported startup parameter(?: in options)?: |currently doesn.t support the option )(\w+)/;

type Place = { readonly host: readonly string[]; readonly port: readonly number[] };

/** The poolers that refuse what they do not know. Their sessions are checked instead of pinned. */
const refusing = new Set<string>();
const placeOf = ({ host, port }: Place) => `${host.join()}:${port.join()}`;

/** Runs work that connects, once more if a pooler refuses what is pinned: then without it. */
export async function withTakenPins<Result>(place: Place, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!noteRefusedPin(place, error)) throw error;
    return await work();
  }
}

/** Remembers a pooler that refuses what is pinned. @returns whether it does */
function noteRefusedPin(place: Place, error: unknown): boolean {
  const [, name = ""] = REFUSED.exec(describeError(error)) ?? [];
  const isPin = REFUSED_BY_POOLERS.has(name);
  if (isPin) refusing.add(placeOf(place));
  return isPin;
}

/** Of the tables, for each driver that was opened. */
const schemas = new WeakMap<object, string>();

/** Lets the next connections of a driver send only what their pooler takes. */
export function pinWherePossible(options: Place & { connection: object }, schema: string): void {
  schemas.set(options, schema);
  const all = Object.entries(options.connection);
  const taken = all.filter(([name]) => !REFUSED_BY_POOLERS.has(name));
  Object.defineProperty(options, "connection", {
    get: () => Object.fromEntries(refusing.has(placeOf(options)) ? taken : all),
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
    ...PINNED,
    search_path: schema,
    statement_timeout: String(statementMs),
    lock_timeout: String(lockMs),
    idle_in_transaction_session_timeout: String(silenceMs),
  };
}

/** Pins what a driver does not send with the start. */
export const PIN_SESSION = `select ${Object.entries(PINNED)
  .map(([name, value]) => `set_config('${name}', '${value}', false)`)
  .join(", ")}`;

/** What a session has. */
const INHERITED = `select current_setting('server_encoding') as encoding, current_schema()::text as schema,
  current_setting('search_path') as path, json_object_agg(name, setting)::text as settings
  from pg_settings where name in (${[...Object.keys(PINNED), TRIGGERS].map((name) => `'${name}'`).join(", ")})`;

interface Inherited {
  readonly encoding: string;
  /** the first one of the search path that exists; null: none does */
  readonly schema: string | null;
  readonly path: string;
  readonly settings: string;
}

/**
 * Makes sure that a session is as it was asked for. A pooler may drop what was sent at its start.
 * @param ask runs a statement
 * @param server names database and server, for the message
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
      `${server} has the encoding ${encoding}, which cannot hold every name and text of a provider. Create one with "create database … encoding 'UTF8' template template0", and let DATABASE_URL lead to it.`,
    );
  }
  const found: Readonly<Record<string, string>> = JSON.parse(inherited.settings);
  if (found[TRIGGERS] !== "origin") {
    throw unsuitable(
      `${server} begins its sessions with ${TRIGGERS} = ${found[TRIGGERS]}, with which no trigger runs. As a superuser run "alter database … reset ${TRIGGERS}", or "alter role … reset ${TRIGGERS}".`,
    );
  }
  const others: [string, string][] = Object.entries(PINNED).filter(([name, value]) => found[name] !== value);
  const schema = schemas.get(options);
  if (schema !== undefined && path !== schema && inherited.schema !== schema)
    others.push(["search_path", schema]);
  if (others.length === 0) return;
  const list = others
    .map(([name]) => `${name} = '${name === "search_path" ? path : found[name]}'`)
    .join(", ");
  const resets = others.map(([name, value]) => `alter role … set ${name} = '${value}'`).join("; ");
  throw unsuitable(
    `the sessions of ${server} begin with ${list}, and a pooler drops what wallet-recon sets instead. Run "${resets}" for its user, then RECONNECT in the pooler's console.`,
  );
}

function unsuitable(problem: string): ReconError {
  return new ReconError("database-unsuitable", problem);
}
