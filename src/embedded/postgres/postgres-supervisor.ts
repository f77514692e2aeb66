/**
 * The process that runs the embedded PostgreSQL of one folder while any command holds the server. This is a separate
 * process, because several commands share the server, and each of them may be killed.
 */
import { truncateSync } from "node:fs";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describeError } from "../../errors.ts";
import { takeLock } from "../exclusive-lock.ts";
import { openCluster } from "./postgres-cluster.ts";
import { chooseLocation } from "./postgres-location.ts";
import {
  ANOTHER_SERVES,
  logFileOf,
  openSocketPath,
  type SupervisorLine,
  type SupervisorOrder,
} from "./postgres-protocol.ts";
import { type Postmaster, startPostmaster } from "./postgres-server.ts";

/** The time until a server without holders stops. A restarted command still finds the server. */
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
    this.#server = createServer((socket) => this.#welcome(socket)).listen(socketPath);
    this.#timer = setTimeout(() => this.#stopIfUnheld(), FIRST_CALL_MS);
  }

  /** Refuses new holders, and stops when the last holder is gone. */
  drain(): void {
    this.#server.close();
    this.#stopIfUnheld();
  }

  #welcome(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    if (this.#stopping) {
      socket.destroy();
      return;
    }
    clearTimeout(this.#timer);
    this.#holders.add(socket);
    socket.on("close", () => this.#lost(socket));
    socket.on("data", () => this.#goodbye(socket));
    if (this.#answer !== undefined) socket.write(this.#answer);
    this.#starting ??= this.#start();
  }

  #lost(socket: Socket): void {
    if (!this.#holders.delete(socket) || this.#holders.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stopIfUnheld(), LINGER_MS);
  }

  /** The last holder waits until the server has stopped. */
  #goodbye(socket: Socket): void {
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
      // A suspended holder must not keep the lock from the next start.
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
    // During a start nothing can stop yet. The end of the start checks again.
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
async function getsTurn(folder: string, socketPath: string): Promise<boolean> {
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
  // A full disk must not end the server for the sake of a line of its log.
  process.stderr.on("error", () => {});
  // The permissions of the socket: only this account may hold the server or read the password.
  process.umask(0o077);
  const { path } = openSocketPath(order.folder);
  if (!(await getsTurn(order.folder, path))) process.exit(ANOTHER_SERVES);
  truncateSync(logFileOf(order.folder));
  await rm(path, { force: true });
  const supervisor = new Supervisor(order, path);
  process.on("SIGHUP", () => undefined);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => supervisor.drain());
}

await main(JSON.parse(process.argv[2] ?? "") as SupervisorOrder);
