/** Workers as operators keep them: one that ended is started again, and one that ended by itself is reported. */

import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { type ReconProcess, startRecon } from "./recon-process.ts";

export interface Crew {
  /** kill -9 of one process; resolves when it is gone. The next one is started at once. */
  kill(index: number): Promise<void>;
  /** SIGSTOP to one process, and SIGCONT after this time; resolves then. */
  halt(index: number, forMs: number): Promise<void>;
  /** Resolves when all processes are up, including restarted ones. */
  untilUp(): Promise<unknown>;
  /** Ends all processes in good order; idempotent. */
  stop(): Promise<void>;
  /** one sentence for each process that ended by itself, or not in good order */
  readonly problems: readonly string[];
}

/** A command that runs until it is ended, and the output that shows that it is up. */
interface Command {
  readonly name: "worker" | "callbacks";
  readonly awaited: string;
}
export const WORKER: Command = { name: "worker", awaited: "the worker runs" };
export const CALLBACKS: Command = { name: "callbacks", awaited: "the callbacks are served" };

/** A failed start is no fault while the database restarts; that many in a row are. */
const MOST_VAIN_STARTS = 3;
const START_MS = 180_000;

export function startCrew(
  size: number,
  environment: Readonly<Record<string, string>>,
  command: Command = WORKER,
): Crew {
  const problems: string[] = [];
  const workers = Array.from({ length: size }, () => keepRunning(command, environment, problems));
  let stopped: Promise<unknown> | null = null;
  return {
    problems,
    kill: async (index) => await workers[index % size]?.kill(),
    halt: async (index, forMs) => await workers[index % size]?.halt(forMs),
    untilUp: () => Promise.all(workers.map((worker) => worker.untilUp())),
    stop: async () => {
      stopped ??= Promise.all(workers.map((worker) => worker.stop()));
      await stopped;
    },
  };
}

function keepRunning(
  { name, awaited }: Command,
  environment: Readonly<Record<string, string>>,
  problems: string[],
) {
  const start = () => startRecon([name], environment, awaited);
  let worker = start();
  let lastKilled: ReconProcess | null = null;
  let isKilled = false;
  let isEnding = false;
  let vainStarts = 0;
  const restarting = (async () => {
    for (;;) {
      const code = await worker.ended;
      const wasUp = await worker.ready;
      vainStarts = wasUp || isKilled ? 0 : vainStarts + 1;
      if (isEnding) return;
      if (wasUp && !isKilled) problems.push(describeEnd(name, "ended by itself", code, worker));
      if (vainStarts === MOST_VAIN_STARTS) problems.push(describeEnd(name, "does not start", code, worker));
      isKilled = false;
      worker = start();
    }
  })();
  return {
    kill: async () => {
      isKilled = true;
      lastKilled = worker;
      worker.kill("SIGKILL");
      await worker.ended;
    },
    halt: async (forMs: number) => {
      const halted = worker;
      halted.kill("SIGSTOP");
      await pause(forMs);
      halted.kill("SIGCONT");
    },
    untilUp: () =>
      eventually(`the ${name} is up`, async () => worker !== lastKilled && (await worker.ready), START_MS),
    stop: async () => {
      const wasUp = await worker.ready;
      isEnding = true;
      worker.kill("SIGTERM");
      const code = await worker.ended;
      if (wasUp && code !== 0) problems.push(describeEnd(name, "did not end in good order", code, worker));
      await restarting;
    },
  };
}

function describeEnd(name: string, what: string, code: number | null, worker: ReconProcess): string {
  return `recon ${name} ${what} (${code === null ? "signal" : `exit code ${code}`}): ${worker.lastLines()}`;
}
