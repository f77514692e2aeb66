/** Decides the folder and the account of the cluster. The hard case is root in a folder that is closed to others. */
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
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { ReconError } from "../../errors.ts";
import { type Account, succeedsAs, unprivilegedAccount } from "../account.ts";
import { shortHash } from "../exclusive-lock.ts";

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
    // An existing cluster keeps its owner: `sudo` in a person's checkout must not lock that person out.
    if (await succeedsAs(owner, 'cd "$1"', [join(folder, "cluster", "data")]))
      return { folder, account: owner };
    throw new ReconError(
      "embedded-failed",
      `The database in ${folder} runs as uid ${owner.uid}, since PostgreSQL refuses root, but that account cannot reach it: ` +
        "a folder above is closed to others. Open it (chmod o+x), or remove the folder to begin with an empty database.",
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

/** Whether the account can create and fill a folder below this one. */
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

/** Everybody may create folders in /var/tmp, so this trusts only a folder of root. */
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

/** Copies a tree. Everybody can read the copy, even where the original is closed. */
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
