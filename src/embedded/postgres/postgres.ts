/** A PostgreSQL for each checkout, so that `npm start` and the tests need no installed server. */
import { chmod, mkdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { describeError, ReconError } from "../../errors.ts";
import { joinServer } from "./join-postgres.ts";
import { findNativeBinaries } from "./postgres-binaries.ts";
import { SUPERUSER } from "./postgres-protocol.ts";

/** A name that needs no quoting in a URL, because clients decode that part differently. */
const DATABASE_NAME = /^[\w-]{1,63}$/;

export interface EmbeddedPostgres {
  /** the postgres:// URL of the database on 127.0.0.1 */
  readonly url: string;
  /** true: this call started the server; false: this call joined a running one */
  readonly started: boolean;
  /**
   * Releases the server, which stops without holders. Idempotent. The last holder waits until the server has stopped,
   * so that the folder may be deleted afterwards.
   */
  release(): Promise<void>;
}

/**
 * Starts the PostgreSQL server of `home`, or joins the one that another command of this checkout started.
 *
 * `home` keeps the data between starts; a missing `home` or `database` (default "recon") is created. `settings` are
 * PostgreSQL settings such as `{ fsync: "off" }`. They have an effect only where this call starts the server. The
 * hold does not keep the process alive, and ends with the process, even by kill -9.
 *
 * @throws ReconError `embedded-failed`: binaries not installed, folder unusable, or the server did not start
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
      `The embedded PostgreSQL runs on port ${hold.port}, but it could not create the database ` +
        `"${database}": ${describeError(error)}. Its log is ${hold.logFile}.`,
      { cause: error },
    );
  }
  return { url: urlOf(database), started: hold.started, release: hold.release };
}

/** Creates `<home>/postgres`. @returns its real path, so that all spellings of a folder mean one server */
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

/** For root, PostgreSQL runs as another account, which must reach its own folder but must not list this one. */
async function closeToOthers(home: string): Promise<void> {
  const { uid } = await stat(home);
  const self = process.getuid?.();
  if (uid === self) await chmod(home, self === 0 ? 0o711 : 0o700);
}

async function createDatabase(url: string, name: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 10, fetch_types: false, onnotice: () => undefined });
  try {
    const found = await sql`select 1 from pg_database where datname = ${name}`;
    // template0, because a connection to template1 would block the copy, and nobody can connect to template0.
    if (found.length === 0) await sql.unsafe(`create database "${name}" template template0`);
  } catch (error) {
    if (!isAlreadyThere(error)) throw error;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The errors where another holder creates the same database now: duplicate_database or unique_violation. */
function isAlreadyThere(error: unknown): boolean {
  return error instanceof postgres.PostgresError && (error.code === "42P04" || error.code === "23505");
}
