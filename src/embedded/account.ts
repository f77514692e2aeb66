/** PostgreSQL refuses to run as root, so root must borrow an account that exists on the machine. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { ReconError } from "../errors.ts";
import { childEnvironment } from "./child-environment.ts";

/** Numeric user and group of an unprivileged account. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** In order of preference; macOS names its own with an underscore. */
const NAMES = ["postgres", "_postgres", "nobody"];

/** The account to run a new server as. Fails with ReconError "embedded-failed" when the machine has none. */
export async function unprivilegedAccount(): Promise<Account> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  for (const name of NAMES) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (Number(uid) > 0 && Number(gid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new ReconError(
    "embedded-failed",
    `PostgreSQL refuses to run as root, and /etc/passwd has none of the accounts ${NAMES.join(", ")} to run it as. ` +
      "Run this as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.",
  );
}

/**
 * Whether a shell script ($1, $2 … are `args`) succeeds as that account: trying is surer than reading mode bits.
 * Fails with ReconError "embedded-failed" when this process may not switch accounts at all.
 */
export async function succeedsAs(
  account: Account,
  script: string,
  args: readonly string[],
): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const shell = spawn("/bin/sh", ["-c", script, "sh", ...args], {
    uid: account.uid,
    gid: account.gid,
    cwd: "/",
    env: childEnvironment,
    stdio: "ignore",
  });
  shell.once("exit", (code) => resolve(code === 0));
  shell.once("error", (cause) => {
    const what = `PostgreSQL refuses to run as root, and it cannot be run as uid ${account.uid} here: ${cause.message}.`;
    const help = "Run this as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.";
    reject(new ReconError("embedded-failed", `${what} ${help}`, { cause }));
  });
  return promise;
}
