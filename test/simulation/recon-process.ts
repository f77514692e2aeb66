/** Runs commands of `recon` as processes of their own, which can be killed. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { guardChild } from "../../src/embedded/child-process.ts";

const RECON = join(import.meta.dirname, "../../src/cli/main.ts");
/** The folder of Node's compile cache: with this setting the program's first file uses the cache too. */
export const COMPILED = join(import.meta.dirname, "../../node_modules/.cache/wallet-recon");
const LINES_KEPT = 100;
const LINES_SHOWN = 8;

export interface ReconProcess {
  /** true once the awaited line is printed; false: the process ended without it */
  readonly ready: Promise<boolean>;
  /** resolves at the end of the process with its exit code; null: by a signal */
  readonly ended: Promise<number | null>;
  /** the last lines of its output, for error messages */
  lastLines(): string;
  /** all but the oldest lines of its output */
  readonly lines: readonly string[];
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGINT" | "SIGSTOP" | "SIGCONT"): void;
}

/** Starts a command. It ends with this process, even by kill -9. @param awaited text of its output when it is up */
export function startRecon(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  awaited: string,
): ReconProcess {
  const child = spawn(process.execPath, [RECON, ...args], {
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  void guardChild(child, ["KILL"]);
  const lines: string[] = [];
  const { promise: ready, resolve: beReady } = Promise.withResolvers<boolean>();
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on("line", (line) => {
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
      if (line.includes(awaited)) beReady(true);
    });
  }
  return {
    ready,
    ended: endOf(child).finally(() => beReady(false)),
    lastLines: () => lines.slice(-LINES_SHOWN).join("\n"),
    lines,
    kill: (signal) => child.kill(signal),
  };
}

/** Resolves only after all output has been read. */
function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once("close", (code) => resolve(code)));
}
