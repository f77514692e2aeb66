/** Gives a checkout its own PostgreSQL, so that `npm start` and the tests need nothing installed. */
import { chmod, mkdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { describeError, ReconError } from "../../errors.ts";
import { joinServer } from "./join-postgres.ts";
import { findNativeBinaries } from "./postgres-binaries.ts";
import { SUPERUSER } from "./postgres-protocol.ts";

/** Needs no quoting in a URL: clients disagree on how to decode that part. */
const DATABASE_NAME = /^[\w-]{1,63}$/;

export interface EmbeddedPostgres {
  /** postgres:// URL of the given database on 127.0.0.1 */
  readonly url: string;
  /** true when this call started the server (false: joined one that already ran) */
  readonly started: boolean;
  /**
   * Lets go of the server; it stops when nobody holds it any more. Idempotent.
   * The last holder waits until the server has stopped, so that the folder may be removed afterwards.
   */
  release(): Promise<void>;
}

/**
 * Starts the PostgreSQL server of `home`, or joins the one that another command of this checkout started.
 *
 * `home` (made if missing) keeps the data between starts; `database` (default "recon") is created if missing.
 * `settings` are PostgreSQL settings such as `{ fsync: "off" }`; they count for the call that starts the server
 * and are ignored by one that joins. The hold does not keep the process alive, and ends with it, even by kill -9.
 *
 * Fails with ReconError "embedded-failed": binaries not installed, folder unusable, server did not start.
 */
export async function startEmbeddedPostgres(options: {
  home: string;
  database?: string;
  settings?: Record<string, string>;
}): Promise<EmbeddedPostgres> {
  const database = options.database ?? "recon";
  if (!DATABASE_NAME.test(database)) {
    const rule = "Use 1 to 63 letters, digits, underscores and hyphens.";
    throw new ReconError("embedded-failed", `"${database}" cannot be the name of a database. ${rule}`);
  }
  const native = await findNativeBinaries();
  const folder = await makeFolder(options.home);
  const hold = await joinServer({ folder, native, settings: options.settings ?? {} });
  const urlOf = (name: string) => `postgres://${SUPERUSER}:${hold.password}@127.0.0.1:${hold.port}/${name}`;
  try {
    await createDatabase(urlOf("postgres"), database);
  } catch (error) {
    await hold.release();
    throw new ReconError(
      "embedded-failed",
      `The embedded PostgreSQL runs on port ${hold.port}, but the database "${database}" could not be created ` +
        `in it: ${describeError(error)}. Its log is ${hold.logFile}.`,
      { cause: error },
    );
  }
  return { url: urlOf(database), started: hold.started, release: hold.release };
}

/** Makes `<home>/postgres` and returns its real path, so that every spelling of a folder means one server. */
async function makeFolder(home: string): Promise<string> {
  try {
    const folder = join(home, "postgres");
    await mkdir(home, { recursive: true });
    await closeToOthers(home);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await realpath(folder);
  } catch (error) {
    throw new ReconError(
      "embedded-failed",
      `The folder for the embedded PostgreSQL could not be made in ${home}: ${describeError(error)}. ` +
        "Make that folder writable, or set DATABASE_URL to a PostgreSQL of your own.",
      { cause: error },
    );
  }
}

/** For root PostgreSQL runs as another account, which must get through to its own folder; what it may not see it cannot list. */
async function closeToOthers(home: string): Promise<void> {
  const { uid } = await stat(home);
  const self = process.getuid?.();
  if (uid === self) await chmod(home, self === 0 ? 0o711 : 0o700);
}

async function createDatabase(url: string, name: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 10, fetch_types: false, onnotice: () => undefined });
  try {
    const found = await sql`select 1 from pg_database where datname = ${name}`;
    // template0, because nobody can be connected to it: a connection to template1 would block the copy.
    if (found.length === 0) await sql.unsafe(`create database "${name}" template template0`);
  } catch (error) {
    if (!isAlreadyThere(error)) throw error;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Another holder may create the same database at the same moment: duplicate_database or unique_violation. */
function isAlreadyThere(error: unknown): boolean {
  return error instanceof postgres.PostgresError && (error.code === "42P04" || error.code === "23505");
}
