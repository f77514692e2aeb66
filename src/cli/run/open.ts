/** Opens and closes the resources of a command: settings, database, log, the file that it reads. Waits at the start for what may start later. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { stderr, stdin } from "node:process";
import { calmLog } from "../../calm-log.ts";
import { type Clock, showDuration, systemClock } from "../../clock.ts";
import { type Need, readSettings, type Settings } from "../../config.ts";
import { inSchema, warnOfDatabaseUrl } from "../../database-url.ts";
import { checkDatabase, openPools } from "../../db/client.ts";
import { type DatabaseClock, openDatabaseClock } from "../../db/database-clock.ts";
import { migrateDatabase } from "../../db/migrate.ts";
import { type Proof, proveWrite } from "../../db/prove-write.ts";
import { refusePlanted } from "../../db/schema-rights-store.ts";
import { reportRefusals, watchConnections } from "../../db/watch-connections.ts";
import { startEmbeddedPostgres } from "../../embedded/postgres/postgres.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { createLog, type Log } from "../../log.ts";
import { secretsOf } from "../../secrets.ts";
import { readableLog, showText } from "../terminal/print.ts";
import { tryOutConfig } from "./try-out-config.ts";

/** What a pooler that drops the limits of statements must get instead; follows a colon. */
export const LIMITS_LOST =
  "a pooler between wallet-recon and PostgreSQL drops the limits of statements. Set them for the user, as docs/operations.md#connections says";

/**
 * Waits up to a minute for a database that refuses writes.
 * @returns the id of this installation
 * @throws ReconError `database-refuses-writes` or `database-unreachable`
 */
export async function proveConnections({
  context,
  people,
}: Pick<OpenRecon, "context" | "people">): Promise<string> {
  let proofs: readonly Proof[] = [];
  const prove = async () => {
    proofs = await Promise.all([proveWrite(context.sql), proveWrite(people.sql)]);
  };
  await waitUntilReady("the database", prove, context, LONGEST_WAIT_MS);
  if (proofs.some(({ statementTimeout }) => statementTimeout === "0")) context.log.warn(LIMITS_LOST);
  return proofs[0]?.installationId ?? "";
}

/** The data folder of an embedded start: in the checkout, or the directory in which the package's command was started. */
export const EMBEDDED_HOME = import.meta.filename.endsWith(".ts")
  ? join(import.meta.dirname, "../../../.recon")
  : resolve(".recon");

/**
 * Whether an operator reads this output in a terminal: sentences then replace the log's JSON. Production and LOG_LEVEL ask
 * for the log itself.
 */
export function isWatched({ production, logLevel }: Settings, output: { readonly isTTY?: boolean }): boolean {
  return output.isTTY === true && !production && logLevel === null;
}

export interface OpenRecon {
  readonly settings: Settings;
  /** its clock is the database's */
  readonly context: FlowContext & { readonly clock: DatabaseClock };
  /** the same, with separate connections for requests to the ops server */
  readonly people: FlowContext;
  readonly databaseUrl: string;
  /** the start needs only the checkout: database, provider and config are built in */
  readonly embedded: { readonly postgres: boolean; readonly provider: boolean };
  close(): Promise<void>;
}

/** Says what a start is doing. */
export type Announce = (settings: Settings) => (step: string) => void;

/**
 * @param needs the settings that the command needs in production
 * @param longestWaitMs the longest wait for the database
 * @param whenUnusable gets what is wrong with the database; if it does not throw, the rest is opened all the same
 * @param announce gets the settings, and returns what says each long step before it begins
 * @throws ReconError `settings-invalid`, `database-unreachable`, `schema-unsafe` or `embedded-failed`
 */
export async function openRecon(
  needs: readonly Need[],
  longestWaitMs = 0,
  whenUnusable: (error: unknown) => void = rethrow,
  announce: Announce = () => () => undefined,
): Promise<OpenRecon> {
  const settings = readSettings(needs);
  const say = announce(settings);
  const withoutProvider = settings.provider === null && !settings.production;
  const config = settings.config ?? tryOutConfig();
  const isTryOut = withoutProvider && settings.config === null && settings.logLevel === null;
  const log = calmLog(
    isTryOut || isWatched(settings, stderr)
      ? createLog("warn", secretsOf(settings), readableLog)
      : createLog(settings.logLevel ?? (withoutProvider ? "warn" : "info"), secretsOf(settings)),
    systemClock,
  );
  if (settings.databaseUrl === null) say("starting its own PostgreSQL");
  const server = settings.databaseUrl === null ? await startEmbeddedPostgres({ home: EMBEDDED_HOME }) : null;
  const databaseUrl = inSchema(settings.databaseUrl ?? server?.url ?? "", settings.databaseSchema);
  const warning = warnOfDatabaseUrl(databaseUrl);
  if (warning !== null) log.warn(warning);
  const pools = openPools(databaseUrl, settings.databasePool);
  const { work: sql } = pools;
  const clock = openDatabaseClock(sql, systemClock);
  const unwatch = watchConnections([pools.work, pools.people], reportRefusals(log));
  const close = async () => {
    unwatch();
    await pools.close();
    await server?.release();
  };
  try {
    const check = async () => {
      await checkDatabase(sql);
      await refusePlanted(sql);
      await clock.measure();
    };
    await waitUntilReady("the database", check, { clock: systemClock, log }, longestWaitMs);
    if (server !== null) {
      say("creating the tables");
      await migrateDatabase(databaseUrl, undefined, undefined, `Delete the folder ${EMBEDDED_HOME}`);
    }
  } catch (error) {
    try {
      whenUnusable(error);
    } catch (fatal) {
      await close();
      throw fatal;
    }
  }
  const context = { sql, config, clock, log };
  return {
    settings,
    context,
    people: { ...context, sql: pools.people },
    databaseUrl,
    embedded: { postgres: server !== null, provider: withoutProvider },
    close,
  };
}

function rethrow(error: unknown): never {
  throw error;
}

/** The longest wait of a start for the database and Redis. */
export const LONGEST_WAIT_MS = 60_000;
const TRY_EVERY_MS = 500;
const REPORT_EVERY_MS = 10_000;

/**
 * Repeats `check` until it resolves, and logs what the command waits for.
 * @param what begins a sentence: "the database"
 * @param check must end by itself, even if the server does not answer
 * @param longestMs 0: does not wait
 * @throws ReconError the last error: at once if waiting cannot help, otherwise after `longestMs`
 */
export async function waitUntilReady(
  what: string,
  check: () => Promise<void>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  longestMs: number,
): Promise<void> {
  const begunAt = clock.now();
  let reported = { message: "", at: 0 };
  for (;;) {
    const failure = await tryOnce(check);
    if (failure === null) break;
    const leftMs = longestMs - (clock.now() - begunAt);
    if (!failure.retryable || longestMs === 0) throw failure;
    if (leftMs <= 0) {
      const message = `${failure.message} recon gave up after ${showDuration(longestMs)}.`;
      throw new ReconError(failure.code, message, { cause: failure });
    }
    if (failure.message !== reported.message || clock.now() - reported.at >= REPORT_EVERY_MS) {
      reported = { message: failure.message, at: clock.now() };
      log.warn({ code: failure.code }, `${failure.message} recon waits for ${showDuration(leftMs)} more.`);
    }
    await clock.sleep(Math.min(TRY_EVERY_MS, leftMs));
  }
  if (reported.message !== "") log.info(`${what} answers now`);
}

/** @returns the error; null: the check succeeded. Waiting does not help against other errors than ReconError. */
async function tryOnce(check: () => Promise<void>): Promise<ReconError | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof ReconError) return error;
    throw error;
  }
}

export interface Input {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** null: unknown before the end */
  readonly bytes: number | null;
}

/**
 * @param file its path; "-" is standard input
 * @throws ReconError `usage` that names the file if it cannot be read
 */
export async function openInput(file: string): Promise<Input> {
  if (file === "-") return { chunks: stdin, bytes: null };
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Error("it is a folder");
    const stream = createReadStream(file);
    await new Promise((opened, failed) => stream.once("open", opened).once("error", failed));
    return { chunks: stream, bytes: found.size };
  } catch (error) {
    throw new ReconError("usage", `${showText(file)} cannot be read: ${describeError(error)}`);
  }
}
