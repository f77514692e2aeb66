/** What starting a server program needs: an environment, an account, a port, the end of its log, and a guard that ends it with its parent. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { ReconError } from "../errors.ts";

/**
 * `read` returns when the parent ends, even by kill -9, because its end of the pipe is then closed. Then the script sends each signal in turn,
 * and waits up to ten seconds after each for the process to end. It ignores signals itself, because a service manager signals all processes
 * at once and the guard must outlive the child. A zombie counts as ended: in a container there may be no init process that reaps it.
 */
const SCRIPT = `
alive() {
  kill -0 "$pid" 2>/dev/null || return 1
  [ -r "/proc/$pid/stat" ] && read -r stat <"/proc/$pid/stat" || return 0
  case $stat in *") Z "*) return 1 ;; esac
}
trap '' HUP INT TERM
pid=$1; shift
read -r _
for signal; do
  kill -s "$signal" "$pid" 2>/dev/null || exit 0
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      alive || exit 0
      sleep 0.1
    done
  done
done`;

/**
 * Starts a guard that ends a running child when this process ends. The guard does not keep the event loop alive, and ends with the child.
 * @param signals names without SIG, the gentlest first
 * @param account the account of the child, which the guard uses too
 * @returns settles when child and guard have ended; at once for a child that could not start
 */
export async function guardChild(
  child: ChildProcess,
  signals: readonly string[],
  account?: Account,
): Promise<void> {
  if (child.pid === undefined) return;
  const guard = spawn("/bin/sh", ["-c", SCRIPT, "guard", String(child.pid), ...signals], {
    // A session of its own: signals to the parent's group must not reach the guard.
    detached: true,
    cwd: "/",
    env: childEnvironment,
    stdio: ["pipe", "ignore", "ignore"],
    ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
  });
  const guardEnded = ended(guard);
  guard.stdin?.on("error", () => undefined);
  guard.unref();
  (guard.stdin as unknown as { unref(): void } | null)?.unref();
  await ended(child);
  guard.kill("SIGKILL");
  await guardEnded;
}

function ended(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once("exit", () => resolve()).once("error", () => resolve());
  return promise;
}

/** The whole environment of every child process. It hides the caller's passwords and PG* variables from processes that may live longer, or run as another account. */
export const childEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  LC_ALL: "C",
};

/** The numbers of an unprivileged account and its group. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** In order of preference. The accounts of macOS begin with an underscore. */
const NAMES = ["postgres", "_postgres", "nobody"];

/**
 * PostgreSQL refuses to run as root, so root runs the server as another account.
 * @throws ReconError `embedded-failed` if the machine has none
 */
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
 * Does a shell script succeed as that account? `args` are $1, $2 … Mode bits alone would not show this.
 * @throws ReconError `embedded-failed` if this process may not switch accounts
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

/** A TCP port of 127.0.0.1 that was free a moment ago. The caller must be able to try another one. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The last lines of a log file after byte `offset`, because they contain the reason of a failure; empty if the file is unreadable. */
export async function lastLines(file: string, offset = 0): Promise<string> {
  const text = await readFile(file).catch(() => Buffer.alloc(0));
  return text.subarray(offset).toString("utf8").trimEnd().split("\n").slice(-12).join("\n");
}
