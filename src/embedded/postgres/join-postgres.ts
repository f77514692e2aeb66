/** Joins the embedded PostgreSQL as a holder: the server runs while a holder's connection to the supervisor lives. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeError, ReconError } from "../../errors.ts";
import { childEnvironment } from "../child-environment.ts";
import { lastLines } from "../log-tail.ts";
import {
  ANOTHER_SERVES,
  BYE,
  logFileOf,
  openSocketPath,
  type SupervisorLine,
  type SupervisorOrder,
} from "./postgres-protocol.ts";

/** The longest wait for a supervisor to accept. A supervisor that is stopping is gone long before. */
const REACH_MS = 30_000;
/** The longest start of the server by a supervisor: crash recovery of a large database is slow. */
const START_MS = 120_000;
/** The longest wait of the last holder for the end of the server. */
const STOP_MS = 40_000;
const POLL_MS = 20;

export interface JoinedServer {
  readonly port: number;
  readonly password: string;
  readonly started: boolean;
  readonly logFile: string;
  release(): Promise<void>;
}

/** Joins the server of `folder`, and starts its supervisor if there is none. @throws ReconError `embedded-failed` */
export async function joinServer(server: {
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

/** @returns a connection to the supervisor; undefined: none listens now */
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

/** @returns the supervisor's answer; undefined: it is stopping, and hung up without an answer */
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
    // A finished command must be able to exit while it holds the server.
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
    // Detached: Ctrl-C goes to the whole process group, but holders may still need the server for the rest of their
    // work.
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

/** Makes a function that releases the server once, at the first call, and waits until the supervisor hangs up. */
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
