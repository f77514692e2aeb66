/**
 * Chooses the folder and the account of the cluster, and creates it in one step, because half a cluster would fail at every later start.
 * The hard case is root in a folder that is closed to others.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describeError, ReconError } from "../../errors.ts";
import {
  type Account,
  childEnvironment,
  guardChild,
  succeedsAs,
  unprivilegedAccount,
} from "../child-process.ts";
import { shortHash } from "../exclusive-lock.ts";
import { SUPERUSER } from "./postgres-protocol.ts";

export interface Cluster {
  readonly data: string;
  readonly password: string;
}

/**
 * Returns the cluster of a place; initdb creates a missing one. Only the supervisor with the lock may call this.
 * @param options sync false: does not wait until the data is on the disk
 * @throws ReconError `embedded-failed`
 */
export async function openCluster(location: ClusterLocation, options: { sync: boolean }): Promise<Cluster> {
  const cluster = join(location.folder, "cluster");
  await removeUnfinished(location.folder);
  if (!(await exists(cluster))) await makeCluster(location, cluster, options.sync);
  const passwordFile = join(cluster, "password");
  try {
    return { data: join(cluster, "data"), password: (await readFile(passwordFile, "utf8")).trim() };
  } catch (error) {
    throw new ReconError(
      "embedded-failed",
      `The password of the embedded PostgreSQL could not be read (${describeError(error)}). ` +
        `Put ${passwordFile} back, or remove ${cluster} to begin with an empty database.`,
      { cause: error },
    );
  }
}

/** Deletes the remains of a killed initdb. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith("cluster-unfinished-")) continue;
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One rename makes data and password visible together, so an existing cluster is always complete. */
async function makeCluster(location: ClusterLocation, cluster: string, sync: boolean): Promise<void> {
  const unfinished = join(location.folder, `cluster-unfinished-${randomBytes(4).toString("hex")}`);
  const data = join(unfinished, "data");
  const passwordFile = join(unfinished, "password");
  await mkdir(data, { recursive: true });
  await chmod(unfinished, location.account === undefined ? 0o700 : 0o711);
  await chmod(data, 0o700);
  await writeFile(passwordFile, `${randomBytes(24).toString("hex")}\n`, { mode: 0o600, flush: true });
  if (location.account !== undefined) {
    for (const path of [data, passwordFile]) await chown(path, location.account.uid, location.account.gid);
  }
  await runInitdb(location, data, passwordFile, sync);
  await rename(unfinished, cluster);
}

async function runInitdb(
  location: ClusterLocation,
  data: string,
  passwordFile: string,
  sync: boolean,
): Promise<void> {
  const program = join(location.native, "bin", "initdb");
  const args = [
    `--pgdata=${data}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    // The built-in provider sorts text in the same order on every machine, whichever C library it has.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
    ...(sync ? [] : ["--no-sync"]),
  ];
  const { account } = location;
  const initdb = spawn(program, args, {
    cwd: "/",
    env: childEnvironment,
    stdio: ["ignore", "ignore", "pipe"],
    ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
  });
  let complaint = "";
  initdb.stderr.on("data", (chunk: Buffer) => {
    complaint += chunk.toString("utf8");
  });
  void guardChild(initdb, ["KILL"], account);
  const code = await once(initdb, "close").then(
    ([status]) => status as number | null,
    (error: unknown) => {
      complaint = describeError(error);
      return null;
    },
  );
  if (code === 0) return;
  throw new ReconError(
    "embedded-failed",
    `The embedded PostgreSQL could not make its data folder in ${location.folder}: ${complaint.trim() || "initdb was killed"}. ` +
      "If you cannot change that here, set DATABASE_URL to a PostgreSQL of your own.",
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

export interface ClusterLocation {
  /** contains `cluster/` after a successful initdb */
  readonly folder: string;
  /** the folder of PostgreSQL's bin/, lib/ and share/, which the account can read */
  readonly native: string;
  /** the account of the server; undefined: that of this process */
  readonly account: Account | undefined;
}

/** A file in the home folder that names the place of a cluster elsewhere. */
const POINTER = "moved-to.txt";

/** The place of the server of `folder`, the real path of `<home>/postgres`. @throws ReconError `embedded-failed` */
export async function chooseLocation(folder: string, native: string): Promise<ClusterLocation> {
  const owner = await ownerOf(join(folder, "cluster", "data"));
  const self = process.getuid?.() ?? 0;
  if (self !== 0) {
    if (owner === undefined || owner.uid === self) return { folder, native, account: undefined };
    throw new ReconError(
      "embedded-failed",
      `The database in ${folder} belongs to another account (uid ${owner.uid}), this is uid ${self}. ` +
        "Run this as that account, or remove the folder to begin with an empty database.",
    );
  }
  const location = await locationForRoot(folder, owner);
  return { ...location, native: await reachableNative(native, location.folder, location.account) };
}

async function locationForRoot(
  folder: string,
  owner: Account | undefined,
): Promise<{ folder: string; account: Account }> {
  const elsewhere = `/var/tmp/wallet-recon-${shortHash(folder)}`;
  if (owner !== undefined) {
    // An existing cluster keeps its owner: `sudo` in a user's checkout must not lock that user out.
    if (await succeedsAs(owner, 'cd "$1"', [join(folder, "cluster", "data")]))
      return { folder, account: owner };
    throw new ReconError(
      "embedded-failed",
      `The database in ${folder} runs as uid ${owner.uid}, since PostgreSQL refuses root, but that account cannot reach it: ` +
        "a parent folder is closed to others. Open it (chmod o+x), or remove the folder to begin with an empty database.",
    );
  }
  const account = await unprivilegedAccount();
  if ((await ownerOf(join(folder, POINTER))) === undefined && (await canLiveIn(folder, account))) {
    return { folder, account };
  }
  await claim(elsewhere);
  await writeFile(join(folder, POINTER), `The data of this embedded PostgreSQL is in ${elsewhere}\n`);
  return { folder: elsewhere, account: (await ownerOf(join(elsewhere, "cluster", "data"))) ?? account };
}

/** Can the account create and fill a folder below this one? */
async function canLiveIn(folder: string, account: Account): Promise<boolean> {
  const probe = join(folder, "probe");
  try {
    await chmod(folder, 0o711);
    await mkdir(probe, { recursive: true });
    await chown(probe, account.uid, account.gid);
    return await succeedsAs(account, 'cd "$1" && : > written', [probe]);
  } catch {
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

/** Every account may create folders in /var/tmp, so this trusts only a folder of root. */
async function claim(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== 0) {
    throw new ReconError(
      "embedded-failed",
      `The embedded PostgreSQL needs the folder ${folder}, but another account (uid ${found.uid}) owns it. ` +
        "Remove it, or set DATABASE_URL to a PostgreSQL of your own.",
    );
  }
  await chmod(folder, 0o711);
}

/** @returns `native` if the account can run its programs, otherwise a readable copy inside `folder` */
async function reachableNative(native: string, folder: string, account: Account): Promise<string> {
  if (await canRun(native, account)) return native;
  const copy = join(folder, `native-${await versionOf(native)}`);
  if (await canRun(copy, account)) return copy;
  for (const name of await readdir(folder)) {
    if (name.startsWith("native-")) await rm(join(folder, name), { recursive: true, force: true });
  }
  const unfinished = join(folder, `native-unfinished-${process.pid}`);
  await copyReadable(native, unfinished);
  await rename(unfinished, copy);
  if (await canRun(copy, account)) return copy;
  throw new ReconError(
    "embedded-failed",
    `The PostgreSQL programs in ${copy} cannot be run as uid ${account.uid}, and PostgreSQL refuses root. ` +
      "Run this as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.",
  );
}

async function versionOf(native: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(native, "..", "package.json"), "utf8")) as {
    version: string;
  };
  return manifest.version;
}

async function canRun(native: string, account: Account): Promise<boolean> {
  const script =
    '"$1/bin/initdb" --version && "$1/bin/postgres" --version && test -r "$1/share/postgresql/postgres.bki"';
  return succeedsAs(account, script, [native]);
}

/** Copies a tree. Every account can read the copy, even if the original is closed. */
async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyReadable(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else {
      await copyFile(source, target);
      await chmod(target, (await lstat(source)).mode & 0o100 ? 0o755 : 0o644);
    }
  }
}

async function ownerOf(path: string): Promise<Account | undefined> {
  try {
    const { uid, gid } = await lstat(path);
    return { uid, gid };
  } catch {
    return undefined;
  }
}
