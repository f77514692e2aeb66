/** PostgreSQL refuses to run as root. Root runs the server as another account of the machine. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { ReconError } from "../errors.ts";
import { childEnvironment } from "./child-environment.ts";

/** The numbers of an unprivileged account and its group. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** In order of preference. The accounts of macOS begin with an underscore. */
const NAMES = ["postgres", "_postgres", "nobody"];

/** @returns the account for a new server @throws ReconError `embedded-failed` where the machine has none */
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
 * Whether a shell script (`args` are $1, $2 …) succeeds as that account. Mode bits alone would not show this.
 * @throws ReconError `embedded-failed` where this process must not switch accounts
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
