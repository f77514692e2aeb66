/** Checks that the database accepts writes, and says why it does not (docs/operations.md#outages). */

import { describeError } from "../errors.ts";
import { endsInTime } from "../in-time.ts";
import type { Sql } from "./client.ts";
import { isConnectionLost, READ_ONLY, refusesWrites, unreachable } from "./database-error.ts";

/** The longest wait for a write: `/readyz` must respond within 15 seconds even if the database hangs. */
export const LONGEST_PROOF_MS = 10_000;

/** A write that every process may repeat at any time. All processes of an installation write the same row. */
export const PROOF = `insert into installations as i (id, installation_id, written_at)
  values (1, gen_random_uuid()::text, clock_timestamp())
  on conflict (id) do update set written_at = excluded.written_at
  returning i.installation_id as "installationId", current_setting('statement_timeout') as "statementTimeout"`;

export interface Proof {
  /** survives a restore of the database */
  readonly installationId: string;
  /** "0": a pooler has dropped the limits of statements */
  readonly statementTimeout: string;
}

/** The pending write of each pool. Callers share it, so no writes pile up if the server hangs. */
const PENDING = new WeakMap<Sql, Promise<Proof>>();

/**
 * Writes over a connection of the pool.
 * @throws ReconError `database-refuses-writes` or `database-unreachable`, which say what is wrong
 */
export async function proveWrite(sql: Sql): Promise<Proof> {
  try {
    const writing = PENDING.get(sql) ?? write(sql);
    if (await endsInTime(writing, LONGEST_PROOF_MS)) return await writing;
  } catch (error) {
    // Only an answer of PostgreSQL has a severity.
    if (isConnectionLost(error) || !("severity" in (error as Error))) throw unreachable(sql.options, error);
    throw refusesWrites(sql.options, await explain(sql, error), error);
  }
  throw unreachable(sql.options, new Error(`no answer to a write for ${LONGEST_PROOF_MS / 1000} s`));
}

async function write(sql: Sql): Promise<Proof> {
  const writing = (async () => (await sql.unsafe<[Proof]>(PROOF))[0])();
  PENDING.set(sql, writing);
  return await writing.finally(() => PENDING.delete(sql));
}

/** @returns null if no process of the installation has written yet */
export async function readInstallationId(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`select installation_id as id from installations`;
  return row?.id ?? null;
}

/** Does the database have the tables of the queues? */
export async function hasQueues(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select to_regclass('bullmq.migration') is not null as has`;
  return row.has;
}

async function explain(sql: Sql, error: unknown): Promise<string> {
  const message = describeError(error);
  if ((error as { code?: string }).code !== READ_ONLY) return message;
  const asked = sql.unsafe<[ServerState]>(SERVER_STATE);
  const isAnswered = await endsInTime(asked, LONGEST_PROOF_MS).catch(() => false);
  return (isAnswered ? describeRefusal((await asked)[0]) : null) ?? message;
}

/** Asks the server why it may refuse writes. */
export const SERVER_STATE = `select pg_postmaster_start_time()::text as server, pg_is_in_recovery() as "isReplica",
  current_setting('transaction_read_only') = 'on' as "isReadOnly", current_user::text as "user",
  (select source from pg_settings where name = 'default_transaction_read_only') as source`;

export interface ServerState {
  /** when the server was started; two servers differ in it */
  readonly server: string;
  readonly isReplica: boolean;
  readonly isReadOnly: boolean;
  readonly user: string;
  /** where `default_transaction_read_only` was set */
  readonly source: string;
}

/** @returns why the server refuses writes; null: it accepts them */
export function describeRefusal({ isReplica, isReadOnly, user, source }: ServerState): string | null {
  if (isReplica) return "it is a replica";
  if (!isReadOnly) return null;
  const places: Readonly<Record<string, string>> = {
    user: `for the user ${user}`,
    "database user": `for the user ${user} in this database`,
    database: "for this database",
    "configuration file": "in its configuration",
    client: "by DATABASE_URL",
  };
  return `default_transaction_read_only is on ${places[source] ?? ""}`.trimEnd();
}
