/** Finds a Redis: that of the machine, or on Debian and Ubuntu a download in a cache folder, without root. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describeError, ReconError } from "../errors.ts";
import { childEnvironment } from "./child-environment.ts";

const run = promisify(execFile);
const DOWNLOAD_MS = 120_000;

export interface RedisProgram {
  readonly path: string;
  /** undefined: the environment of this process, whose PATH found the program */
  readonly environment: Readonly<Record<string, string>> | undefined;
}

/** @throws ReconError `embedded-failed` with the package to install, where no Redis exists and the download fails */
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
      "Redis is not installed and could not be downloaded. Install it, so that redis-server or valkey-server is on the PATH " +
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
  return run(program.path, ["--version"], { env: program.environment }).then(
    () => true,
    () => false,
  );
}

/** Unpacks into a new folder and renames the folder, so that two processes may download at once. */
async function download(unpacked: string): Promise<RedisProgram> {
  const parent = join(unpacked, "..");
  await mkdir(parent, { recursive: true });
  const work = await mkdtemp(join(parent, "redis-unfinished-"));
  try {
    const root = join(work, "root");
    for (const archive of await fetchPackages(work)) await run("dpkg", ["-x", archive, root]);
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
    // Another process was faster, or the existing program does not run on this system any more.
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
  await run("apt-get", ["-q", "-y", ...options, ...command], { timeout: DOWNLOAD_MS });
}
