/**
 * The process that runs the embedded PostgreSQL of one folder while any command holds it. It is a process of its own, because several commands
 * share the server, and each of them may be killed.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { truncateSync } from "node:fs";
import { constants, open, readFile, rm, stat } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describeError, ReconError } from "../../errors.ts";
import { childEnvironment, freePort, guardChild, lastLines } from "../child-process.ts";
import { takeLock } from "../exclusive-lock.ts";
import { type ClusterLocation, chooseLocation, openCluster } from "./postgres-cluster.ts";
import {
  ANOTHER_SERVES,
  logFileOf,
  openSocketPath,
  type SupervisorLine,
  type SupervisorOrder,
} from "./postgres-protocol.ts";

/** How long a server without holders keeps running, so a command that is restarted still finds it. */
const LINGER_MS = 300;
/** The longest wait for the first connection of the command that started this process. */
const FIRST_CALL_MS = 5_000;
/** The longest wait for the lock of a predecessor that is stopping. */
const TURN_MS = 25_000;

class Supervisor {
  readonly #order: SupervisorOrder;
  readonly #server: Server;
  readonly #holders = new Set<Socket>();
  #postmaster: Postmaster | undefined;
  #answer: string | undefined;
  #starting: Promise<void> | undefined;
  #stopping = false;
  #timer: NodeJS.Timeout;

  constructor(order: SupervisorOrder, socketPath: string) {
    this.#order = order;
    this.#server = createServer((socket) => this.#accept(socket)).listen(socketPath);
    this.#timer = setTimeout(() => this.#stopIfUnheld(), FIRST_CALL_MS);
  }

  /** Refuses new holders, and stops when the last holder has left. */
  drain(): void {
    this.#server.close();
    this.#stopIfUnheld();
  }

  #accept(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    if (this.#stopping) {
      socket.destroy();
      return;
    }
    clearTimeout(this.#timer);
    this.#holders.add(socket);
    socket.on("close", () => this.#disconnected(socket));
    socket.on("data", () => this.#release(socket));
    if (this.#answer !== undefined) socket.write(this.#answer);
    this.#starting ??= this.#start();
  }

  #disconnected(socket: Socket): void {
    if (!this.#holders.delete(socket) || this.#holders.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stopIfUnheld(), LINGER_MS);
  }

  /** The last holder waits until the server has stopped. */
  #release(socket: Socket): void {
    this.#holders.delete(socket);
    if (this.#holders.size > 0) socket.end();
    else this.#stopIfUnheld();
  }

  async #start(): Promise<void> {
    const { folder, native, settings, token } = this.#order;
    const logFile = logFileOf(folder);
    try {
      const location = await chooseLocation(folder, native);
      const { data, password } = await openCluster(location, { sync: settings["fsync"] !== "off" });
      const postmaster = await startPostmaster({ location, data, settings, logFile });
      this.#postmaster = postmaster;
      void postmaster.ended.then(() => this.#serverEnded());
      this.#tell({ port: postmaster.port, password, token });
    } catch (error) {
      this.#tell({ failed: describeError(error) });
      log(describeError(error));
      this.#stopping = true;
      for (const socket of this.#holders) socket.end();
      this.#server.close(() => process.exit(1));
      // A suspended holder must not keep the next start from getting the lock.
      setTimeout(() => process.exit(1), 1_000);
      return;
    }
    if (this.#holders.size === 0) this.#stopIfUnheld();
  }

  #tell(line: SupervisorLine): void {
    this.#answer = `${JSON.stringify(line)}\n`;
    for (const socket of this.#holders) socket.write(this.#answer);
  }

  #stopIfUnheld(): void {
    if (this.#holders.size > 0 || this.#stopping) return;
    // A server that is starting cannot be stopped yet. This runs again when the start has ended.
    if (this.#starting !== undefined && this.#answer === undefined) return;
    this.#stopping = true;
    this.#server.close();
    void (async () => {
      await this.#postmaster?.stop();
      process.exit(0);
    })();
  }

  #serverEnded(): void {
    if (this.#stopping) return;
    log("The server ended while commands used it. The next command starts it again.");
    process.exit(1);
  }
}

/** Waits for a predecessor that is stopping. @returns false: another supervisor serves the folder */
async function acquireFolder(folder: string, socketPath: string): Promise<boolean> {
  const until = Date.now() + TURN_MS;
  while (Date.now() < until) {
    if ((await takeLock(folder)) !== undefined) return true;
    if (await isServed(socketPath)) return false;
    await sleep(30);
  }
  return false;
}

async function isServed(socketPath: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(socketPath, () => resolve(true)).on("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}

function log(text: string): void {
  process.stderr.write(`${new Date().toISOString()} supervisor: ${text}\n`);
}

async function main(order: SupervisorOrder): Promise<void> {
  // If the disk is full, a failed log line must not end the server.
  process.stderr.on("error", () => {});
  // The permissions of the socket: only this account may hold the server or read the password.
  process.umask(0o077);
  const { path } = openSocketPath(order.folder);
  if (!(await acquireFolder(order.folder, path))) process.exit(ANOTHER_SERVES);
  truncateSync(logFileOf(order.folder));
  await rm(path, { force: true });
  const supervisor = new Supervisor(order, path);
  process.on("SIGHUP", () => undefined);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => supervisor.drain());
}

await main(JSON.parse(process.argv[2] ?? "") as SupervisorOrder);

/** The signals for a fast shutdown, an immediate shutdown and a kill, each with its longest wait. */
const STOP_STEPS: readonly (readonly [NodeJS.Signals, number])[] = [
  ["SIGINT", 20_000],
  ["SIGQUIT", 8_000],
  ["SIGKILL", 2_000],
];
const POLL_MS = 15;
const ATTEMPTS = 20;

export interface Postmaster {
  readonly port: number;
  /** Settles at the end of the process, for any reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the server on `data` and waits until it accepts connections. The server writes to the output of this process, which must be
 * `logFile`.
 * @throws ReconError `embedded-failed` with the end of the log
 */
export async function startPostmaster(options: {
  location: ClusterLocation;
  data: string;
  settings: Record<string, string>;
  logFile: string;
}): Promise<Postmaster> {
  await endLeftover(options.data);
  let reason = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const offset = (await stat(options.logFile)).size;
    const port = await freePort();
    const postmaster = spawnPostmaster(options, port);
    const ended = guardChild(postmaster, ["INT", "QUIT", "KILL"], options.location.account);
    if (await becomesReady(postmaster, options.data)) {
      return { port, ended, stop: () => endProcess((signal) => postmaster.kill(signal), ended) };
    }
    reason = await lastLines(options.logFile, offset);
    if (!mayRetry(reason)) break;
    await sleep(200);
  }
  throw new ReconError(
    "embedded-failed",
    `The embedded PostgreSQL did not start on ${options.data}. Its log ${options.logFile} ends with:\n${reason}`,
  );
}

/** Can a retry succeed? Another process took the port, or the last processes of a killed server have not ended yet. */
function mayRetry(reason: string): boolean {
  return /could not create any TCP\/IP sockets|pre-existing shared memory block/.test(reason);
}

function spawnPostmaster(
  options: { location: ClusterLocation; data: string; settings: Record<string, string> },
  port: number,
): ChildProcess {
  const settings = {
    shared_buffers: "128MB",
    max_connections: "200",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    ...options.settings,
    // These come after the caller's settings, because this program relies on them.
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    port: String(port),
  };
  const { account, native } = options.location;
  return spawn(
    join(native, "bin", "postgres"),
    ["-D", options.data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    {
      cwd: "/",
      env: childEnvironment,
      stdio: ["ignore", "inherit", "inherit"],
      ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
    },
  );
}

async function becomesReady(postmaster: ChildProcess, data: string): Promise<boolean> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  postmaster.once("exit", end).once("error", end);
  while (!ended) {
    const file = await readPidFile(data);
    if (file?.pid === postmaster.pid && file?.status === "ready") return true;
    await sleep(POLL_MS);
  }
  return false;
}

/**
 * Stops a postmaster whose supervisor and guard were killed. This process has the lock of the folder, so any other server of the folder is a
 * leftover.
 */
async function endLeftover(data: string): Promise<void> {
  const pid = (await readPidFile(data))?.pid;
  if (pid === undefined) return;
  const command = await commandOf(pid);
  if (command === undefined || !isPostgres(command)) {
    await disarmPidFile(data);
    return;
  }
  // The process serves another folder, as after a checkout was copied: PostgreSQL itself decides, and its log says so.
  if (!command.includes(data)) return;
  const ended = (async () => {
    while ((await commandOf(pid))?.includes(data)) await sleep(POLL_MS);
  })();
  await endProcess((signal) => process.kill(pid, signal), ended);
}

/**
 * The process of a lock file has ended, but a zombie or another process may have its number, and PostgreSQL would refuse every start.
 * PostgreSQL ignores the number of its own parent, so this writes the number of this process. It does not delete the file, with which
 * PostgreSQL checks whether the old server still uses the shared memory.
 */
async function disarmPidFile(data: string): Promise<void> {
  const path = join(data, "postmaster.pid");
  const [, ...rest] = (await readFile(path, "utf8")).split("\n");
  // The folder may belong to another account: root must not follow a link of that account.
  const file = await open(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
  await file.writeFile([String(process.pid), ...rest].join("\n"));
  await file.close();
}

function isPostgres(command: string): boolean {
  return basename(command.split(/[\0 ]/, 1)[0] ?? "") === "postgres";
}

async function endProcess(send: (signal: NodeJS.Signals) => unknown, ended: Promise<void>): Promise<void> {
  for (const [signal, longestMs] of STOP_STEPS) {
    try {
      send(signal);
    } catch {
      // It has ended in the meantime. The wait below notices that.
    }
    const timer = new AbortController();
    const done = await Promise.race([
      ended.then(() => true),
      sleep(longestMs, false, { signal: timer.signal }).catch(() => false),
    ]);
    timer.abort();
    if (done) return;
  }
}

/** The lock file of a data folder: the first line is the process id, the eighth is "starting", "ready" and so on. */
async function readPidFile(data: string): Promise<{ pid: number; status: string } | undefined> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  return pid > 0 ? { pid, status: lines[7]?.trim() ?? "" } : undefined;
}

/** @returns the command line of a process; undefined: there is no such process */
async function commandOf(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") {
    // Every account may read this. Root in a container may not be allowed to read cwd.
    const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return text === "" ? undefined : text;
  }
  const { stdout } = await promisify(execFile)("ps", ["-o", "command=", "-p", String(pid)]).catch(() => ({
    stdout: "",
  }));
  return stdout.trim() === "" ? undefined : stdout.trim();
}
