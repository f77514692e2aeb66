/**
 * An installed PostgreSQL with its pg_dump and pg_restore, which the embedded one lacks. Its clock can be set back
 * (libfaketime), so that a copy of its database is a day old.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { eventually } from "./eventually.ts";
import { ownPort } from "./own-port.ts";

const run = promisify(execFile);
const PROGRAMS = ["initdb", "postgres", "pg_dump", "pg_restore"];
/** The newest installed one. */
const BIN = globSync("/usr/{lib/postgresql/*,local}/bin")
  .filter((folder) => PROGRAMS.every((name) => existsSync(join(folder, name))))
  .sort()
  .at(-1);
const FAKETIME = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1")[0];

/** Why no dump can be tested here; null: it can. */
export const WHY_NO_DUMPS: string | null =
  BIN === undefined
    ? "pg_dump and its server are not installed (Debian: apt-get install postgresql)"
    : FAKETIME === undefined
      ? "libfaketime is not installed (Debian: apt-get install faketime)"
      : null;

/** The environment of a process whose clock is wrong by this time; negative: behind. */
export function clockOf(aheadMs: number): Record<string, string> {
  if (aheadMs === 0) return {};
  return {
    LD_PRELOAD: FAKETIME ?? "",
    FAKETIME: `${aheadMs < 0 ? "-" : "+"}${Math.abs(aheadMs) / 1000}`,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
}

export interface DumpServer {
  urlOf(database: string): string;
  /** Starts the server, or starts it again with another clock. */
  start(aheadMs: number): Promise<void>;
  create(database: string): Promise<void>;
  /** Writes a database into a file, as `pg_dump --format=custom` does. @returns its path */
  dump(database: string): Promise<string>;
  restore(file: string, database: string): Promise<void>;
  close(): Promise<void>;
}

export async function openDumpServer(): Promise<DumpServer> {
  const folder = mkdtempSync(join(tmpdir(), "recon-dump-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const account = await accountFor(folder, data);
  const bin = (name: string) => join(BIN ?? "", name);
  const environment = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };
  const options = { ...account, cwd: folder, env: environment };
  const auth = ["--auth=trust", "--username=recon", "--encoding=UTF8", "--locale=C", "--no-sync"];
  await run(bin("initdb"), [`--pgdata=${data}`, ...auth], options);
  const port = await ownPort();
  const urlOf = (database: string) => `postgres://recon@127.0.0.1:${port}/${database}`;
  let server: ChildProcess | null = null;
  const stop = async () => {
    if (server === null || server.exitCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGINT");
    await ended;
  };
  const administer = async (statement: string) => {
    const admin = postgres(urlOf("postgres"), { max: 1, onnotice: () => {} });
    await admin.unsafe(statement).finally(() => admin.end());
  };
  return {
    urlOf,
    start: async (aheadMs) => {
      await stop();
      const settings = { fsync: "off", listen_addresses: "127.0.0.1", unix_socket_directories: "", port };
      const set = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      server = spawn(bin("postgres"), ["-D", data, ...set], {
        ...options,
        env: { ...environment, ...clockOf(aheadMs) },
        stdio: "ignore",
      });
      await eventually("the server answers", async () => {
        await administer("select 1");
        return true;
      });
    },
    create: (database) => administer(`create database ${database}`),
    dump: async (database) => {
      const file = join(folder, `${database}.dump`);
      await run(bin("pg_dump"), ["--format=custom", `--file=${file}`, urlOf(database)]);
      return file;
    },
    restore: async (file, database) => {
      await run(bin("pg_restore"), ["--no-owner", "--exit-on-error", `--dbname=${urlOf(database)}`, file]);
    },
    close: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root. */
async function accountFor(folder: string, data: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const [, , uid = "65534", gid = "65534"] =
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":"))
      .find(([name]) => name === "nobody") ?? [];
  chmodSync(folder, 0o755);
  chownSync(data, Number(uid), Number(gid));
  return { uid: Number(uid), gid: Number(gid) };
}
