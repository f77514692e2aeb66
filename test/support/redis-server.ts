/**
 * Starts a real Redis for tests and benchmarks. Uses the one of the machine, or on Debian and Ubuntu downloads one into a cache folder,
 * without root.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { childEnvironment, freePort, guardChild } from "../../src/embedded/child-process.ts";
import { describeError, ReconError } from "../../src/errors.ts";

const START_MS = 10_000;
const STOP_MS = 5_000;
const POLL_MS = 10;
const ATTEMPTS = 5;

export interface RedisServer {
  /** the redis:// URL on 127.0.0.1 */
  readonly url: string;
  readonly port: number;
  /** Ends the server and waits until the process is gone. Idempotent. */
  stop(): Promise<void>;
  /** sends SIGKILL, for crash tests */
  kill(): void;
}

/**
 * Starts an empty Redis that stores nothing on disk. The server does not keep the event loop alive, and ends with
 * this process, even by kill -9.
 * @param port default: a free one
 * @param cache the folder for a downloaded Redis, if the machine has none
 * @throws ReconError `embedded-failed` if there is no Redis, or it did not start
 */
export async function startRedis(options: { cache: string; port?: number }): Promise<RedisServer> {
  const program = await findRedis(options.cache);
  let reason = "";
  for (let attempt = 0; attempt < (options.port === undefined ? ATTEMPTS : 1); attempt++) {
    const port = options.port ?? (await freePort());
    const { child, ended, output } = run(program, port);
    if (await becomesReady(child, port)) {
      return {
        url: `redis://127.0.0.1:${port}`,
        port,
        stop: () => stop(child, ended),
        kill: () => child.kill("SIGKILL"),
      };
    }
    child.kill("SIGKILL");
    await ended;
    reason = output();
  }
  throw new ReconError(
    "embedded-failed",
    `Redis (${program.path}) did not start${options.port === undefined ? "" : ` on port ${options.port}`}. It said:\n${reason}`,
  );
}

function run(program: RedisProgram, port: number) {
  const fixed = [
    "--bind",
    "127.0.0.1",
    "--save",
    "",
    "--appendonly",
    "no",
    "--maxmemory-policy",
    "noeviction",
  ];
  const child = spawn(program.path, [...fixed, "--port", String(port)], {
    // Its own session, so Ctrl-C reaches only the tests, which then clean up.
    detached: true,
    cwd: "/",
    env: program.environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString("utf8")).slice(-2_000);
    });
    (stream as unknown as { unref(): void }).unref();
  }
  child.on("error", (error) => {
    text += describeError(error);
  });
  child.unref();
  return { child, ended: guardChild(child, ["KILL"]), output: () => text.trim() };
}

async function becomesReady(child: ChildProcess, port: number): Promise<boolean> {
  const until = Date.now() + START_MS;
  while (Date.now() < until && child.pid !== undefined && child.exitCode === null) {
    // The process id proves that this server responds, and not another one that took the port first.
    if ((await ask(port, "INFO server")).includes(`process_id:${child.pid}\r\n`)) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** @returns the response to one command; empty: there was none */
async function ask(port: number, command: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\nQUIT\r\n`));
  socket.setTimeout(1_000, () => socket.destroy());
  socket.on("data", (chunk) => {
    text += chunk.toString("utf8");
  });
  socket.on("error", () => resolve(""));
  socket.on("close", () => resolve(text));
  return promise;
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.ref();
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await ended;
  clearTimeout(late);
}

const execute = promisify(execFile);
const DOWNLOAD_MS = 120_000;

export interface RedisProgram {
  readonly path: string;
  /** undefined: the environment of this process, whose PATH found the program */
  readonly environment: Readonly<Record<string, string>> | undefined;
}

/** @throws ReconError `embedded-failed` with the package to install, if there is no Redis and the download fails */
export async function findRedis(cache: string): Promise<RedisProgram> {
  for (const path of ["redis-server", "valkey-server"]) {
    const installed = { path, environment: undefined };
    if (await answers(installed)) return installed;
  }
  const unpacked = join(resolve(cache), "redis-debian");
  try {
    return (await programIn(unpacked)) ?? (await download(unpacked));
  } catch (error) {
    throw new ReconError(
      "embedded-failed",
      "Redis is not installed and could not be downloaded. Install it, so redis-server or valkey-server is on the PATH " +
        "(`apt-get install redis-server`, `brew install redis`, `dnf install valkey`). " +
        `The download said: ${describeError(error).trim().split("\n").at(-1)}`,
      { cause: error },
    );
  }
}

/** The program of an unpacked download, if the program exists and runs. */
async function programIn(unpacked: string): Promise<RedisProgram | undefined> {
  const libraries = join(unpacked, "usr", "lib");
  const triplets = await readdir(libraries).catch(() => []);
  const program = {
    path: join(unpacked, "usr", "bin", "redis-server"),
    environment: {
      ...childEnvironment,
      LD_LIBRARY_PATH: triplets.map((name) => join(libraries, name)).join(":"),
    },
  };
  return (await answers(program)) ? program : undefined;
}

async function answers(program: RedisProgram): Promise<boolean> {
  return execute(program.path, ["--version"], { env: program.environment }).then(
    () => true,
    () => false,
  );
}

/** Unpacks into a new folder and renames it, so two processes may download at once. */
async function download(unpacked: string): Promise<RedisProgram> {
  const parent = join(unpacked, "..");
  await mkdir(parent, { recursive: true });
  const work = await mkdtemp(join(parent, "redis-unfinished-"));
  try {
    const root = join(work, "root");
    for (const archive of await fetchPackages(work)) await execute("dpkg", ["-x", archive, root]);
    if ((await programIn(root)) === undefined)
      throw new Error("the downloaded redis-server does not run here");
    await putInPlace(root, unpacked);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const program = await programIn(unpacked);
  if (program === undefined) throw new Error(`${unpacked} was changed by another process`);
  return program;
}

async function putInPlace(root: string, unpacked: string): Promise<void> {
  try {
    await rename(root, unpacked);
  } catch (error) {
    // Another process was faster, or the existing program no longer runs on this system.
    if ((await programIn(unpacked)) !== undefined) return;
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
    await rm(unpacked, { recursive: true, force: true });
    await rename(root, unpacked);
  }
}

/** Downloads with apt the packages that redis-server needs and this machine lacks. */
async function fetchPackages(work: string): Promise<string[]> {
  for (const name of ["lists/partial", "archives/partial"])
    await mkdir(join(work, name), { recursive: true });
  const ownCache = [
    ["Dir::Cache", work],
    ["Debug::NoLocking", "1"],
    ["APT::Sandbox::User", "root"],
    ["Acquire::Languages", "none"],
  ];
  const ownLists = [...ownCache, ["Dir::State::Lists", join(work, "lists")]];
  const install = ["install", "--download-only", "--no-install-recommends", "redis-server"];
  try {
    await aptGet(install, ownCache);
  } catch {
    // The machine has no package lists, or old ones. Only root may renew those of the system.
    await aptGet(["update"], ownLists);
    await aptGet(install, ownLists);
  }
  const archives = join(work, "archives");
  return (await readdir(archives))
    .filter((name) => name.endsWith(".deb"))
    .map((name) => join(archives, name));
}

async function aptGet(command: string[], settings: string[][]): Promise<void> {
  const options = settings.flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  await execute("apt-get", ["-q", "-y", ...options, ...command], { timeout: DOWNLOAD_MS });
}
