/** A PostgreSQL that one run has to itself and may restart. It comes back on the same port, with the same data. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { childEnvironment, guardChild } from "../../src/embedded/child-process.ts";
import { findNativeBinaries } from "../../src/embedded/postgres/postgres.ts";
import {
  type Cluster,
  type ClusterLocation,
  chooseLocation,
  openCluster,
} from "../../src/embedded/postgres/postgres-cluster.ts";
import { SUPERUSER } from "../../src/embedded/postgres/postgres-protocol.ts";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";

/** `fast` ends every session and shuts down in good order; `crash` leaves the work to the recovery. */
export const RESTARTS = ["fast", "crash"] as const;
export type Restart = (typeof RESTARTS)[number];
const SIGNALS = { fast: "SIGINT", crash: "SIGQUIT" } as const;

export interface OwnPostgres {
  /** of the maintenance database */
  readonly url: string;
  /** Ends the server, and starts it again; resolves when it answers. */
  restart(how: Restart): Promise<void>;
  /** Stops every process of the server with SIGSTOP: connections stay open, and nothing answers. */
  freeze(): void;
  /** Resumes the processes. */
  thaw(): void;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts a server in a folder of its own. It ends with this process, even by kill -9. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  // As root the folder must be reachable for PostgreSQL's account; $TMPDIR may be closed.
  const parent = process.getuid?.() === 0 ? "/var/tmp" : tmpdir();
  const home = realpathSync(mkdtempSync(join(parent, "wallet-recon-kills-")));
  await chmod(home, 0o755);
  const folder = join(home, "postgres");
  mkdirSync(folder);
  const place = await chooseLocation(folder, await findNativeBinaries());
  const cluster = await openCluster(place, { sync: false });
  const port = await ownPort();
  const url = `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/postgres`;
  let server = run(place, cluster, port);
  await untilItAnswers(url);
  const end = async (signal: NodeJS.Signals) => {
    server.child.kill(signal);
    await server.ended;
  };
  return {
    url,
    restart: async (how) => {
      await end(SIGNALS[how]);
      server = run(place, cluster, port);
      await untilItAnswers(url);
    },
    freeze: () => signalAll(server.child, "SIGSTOP"),
    thaw: () => signalAll(server.child, "SIGCONT"),
    stop: async () => {
      await end(SIGNALS.crash);
      for (const path of [home, place.folder]) rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Data must survive a crash of the server, but not a power failure. */
const SETTINGS = {
  fsync: "off",
  max_connections: "100",
  shared_buffers: "64MB",
  listen_addresses: "127.0.0.1",
};

function run(
  { native, account }: ClusterLocation,
  { data }: Cluster,
  port: number,
): { readonly child: ChildProcess; readonly ended: Promise<void> } {
  const settings = { ...SETTINGS, unix_socket_directories: "", port: String(port) };
  const child = spawn(
    join(native, "bin", "postgres"),
    ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    { cwd: "/", env: childEnvironment, stdio: "ignore", ...account },
  );
  void guardChild(child, ["INT", "QUIT", "KILL"], account);
  return { child, ended: new Promise((resolve) => child.once("exit", () => resolve())) };
}

/** The postmaster first, because it would replace missing processes. */
function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) throw new Error("PostgreSQL has no process");
  process.kill(pid, signal);
  const { stdout } = spawnSync("pgrep", ["-P", String(pid)], { encoding: "utf8" });
  for (const child of stdout.split("\n").filter((line) => line !== "")) process.kill(Number(child), signal);
}

async function untilItAnswers(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 20, onnotice: () => {} });
  try {
    await eventually("PostgreSQL answers", async () => (await sql`select 1`).length === 1);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
