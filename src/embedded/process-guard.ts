/** Ends a child process after the end of its parent, even by kill -9. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Account } from "./account.ts";
import { childEnvironment } from "./child-environment.ts";

/**
 * `read` waits until the parent's end of standard input is closed. Then the script sends each signal in turn, and
 * waits up to ten seconds after each for the end of the process. Signals to all processes, as at the end of a
 * service, must not end the guard before the child. In a container possibly nobody collects a dead process: such a
 * zombie counts as gone.
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
 * Starts a guard for a running child of this process. The guard does not keep the event loop alive, and ends with the
 * child.
 * @param signals names without SIG, the gentlest first
 * @param account of the child and the guard
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
