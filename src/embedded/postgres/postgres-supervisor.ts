/**
 * The process that owns the embedded PostgreSQL of one folder for as long as somebody holds it.
 * A process of its own, because several commands share the server and each of them may be killed.
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

/** How long nobody may hold the server before it stops: a command that is restarted finds it still there. */
const LINGER_MS = 300;
/** How long the one who launched us has to call. */
const FIRST_CALL_MS = 5_000;
/** How long a stopping predecessor may keep the lock. */
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

  /** Lets nobody in any more and stops when the last holder has left. */
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

  /** The last one to leave is kept waiting until the server has stopped. */
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
      // A holder that is suspended must not keep the lock from the next start.
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
    // Half-way through a start there is nothing to stop yet; the end of the start looks again.
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
    log("The server ended although it was still in use; the next command starts it again.");
    process.exit(1);
  }
}

/** Waits for a stopping predecessor; returns false when another supervisor serves the folder already. */
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
  // The socket is made with these permissions: only our own account may hold or read the password.
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
