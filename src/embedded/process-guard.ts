/** Ends a child process when its parent is gone, even by kill -9: the parent then cannot do it any more. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Account } from "./account.ts";
import { childEnvironment } from "./child-environment.ts";

/**
 * Waits in `read` until the parent's end of standard input is closed, then sends each signal in turn,
 * with up to ten seconds in between for the process to obey. Signals sent to everything, as at the end of a
 * service, must not end the guard before the child. In a container nobody may collect the dead process: such a
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
 * Puts a guard on a running child of this process. `signals` are names without SIG, the gentlest first.
 * The guard runs as `account` (that of the child), does not keep the event loop alive and ends with the child.
 * The promise settles when child and guard have both ended, at once for a child that could not be started.
 */
export async function guardChild(
  child: ChildProcess,
  signals: readonly string[],
  account?: Account,
): Promise<void> {
  if (child.pid === undefined) return;
  const guard = spawn("/bin/sh", ["-c", SCRIPT, "guard", String(child.pid), ...signals], {
    // Its own session: what is sent to the parent's whole group must not reach the guard.
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
