/** Creates the cluster in one step, because half a cluster would fail at every later start. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError, ReconError } from "../../errors.ts";
import { childEnvironment } from "../child-environment.ts";
import { guardChild } from "../process-guard.ts";
import type { ClusterLocation } from "./postgres-location.ts";
import { SUPERUSER } from "./postgres-protocol.ts";

export interface Cluster {
  readonly data: string;
  readonly password: string;
}

/**
 * Returns the cluster of a place; initdb creates a missing one. Only the supervisor with the lock may call this.
 * @param sync false: does not wait until the disk has everything
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

/** One rename makes data and password visible together, so an existing cluster is complete. */
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
    // PostgreSQL's own rules: text has the same order on every machine, with any C library.
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
    `The embedded PostgreSQL could not make its data folder in ${location.folder}: ${complaint.trim() || "initdb was ended"}. ` +
      "If you cannot change that here, set DATABASE_URL to a PostgreSQL of your own.",
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
