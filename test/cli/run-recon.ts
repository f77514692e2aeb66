/** Runs the command `recon` in a process of its own, as a user or a script does. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { COMPILED } from "../simulation/recon-process.ts";

export const PROGRAM = join(import.meta.dirname, "../../src/cli/main.ts");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningRecon {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** all output so far, of both streams */
  said(): string;
}

/**
 * Starts `recon` with these arguments, and kills it when the test ends.
 * @param program that of another checkout than this one
 */
export function startRecon(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  program = PROGRAM,
): RunningRecon {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = once(child, "exit").then(async ([code]) => {
    const [stdout, stderr] = await outputs;
    return { code: code as number | null, stdout, stderr };
  });
  return { child, ended, said: () => said };
}
