/** Workers as whoever operates them keeps them: one that ended is started again, and one that ended by itself is told of. */

import { type ReconProcess, startRecon } from "./recon-process.ts";

export interface Crew {
  /** kill -9 of one of them; resolves when it is gone. The next is started at once. */
  kill(index: number): Promise<void>;
  /** Ends all of them in good order; idempotent. */
  stop(): Promise<void>;
  /** one sentence for each that ended although nobody ended it, or that did not end in good order */
  readonly problems: readonly string[];
}

/** A start in vain is nobody's fault while the database is just being restarted; so many in a row are. */
const MOST_VAIN_STARTS = 3;

export function startCrew(size: number, environment: Readonly<Record<string, string>>): Crew {
  const problems: string[] = [];
  const workers = Array.from({ length: size }, () => keepRunning(environment, problems));
  let stopped: Promise<unknown> | null = null;
  return {
    problems,
    kill: async (index) => await workers[index % size]?.kill(),
    stop: async () => {
      stopped ??= Promise.all(workers.map((worker) => worker.stop()));
      await stopped;
    },
  };
}

function keepRunning(environment: Readonly<Record<string, string>>, problems: string[]) {
  const start = () => startRecon(["worker"], environment, "the worker runs");
  let worker = start();
  let isKilled = false;
  let isEnding = false;
  let vainStarts = 0;
  const restarting = (async () => {
    for (;;) {
      const code = await worker.ended;
      const wasUp = await worker.ready;
      vainStarts = wasUp || isKilled ? 0 : vainStarts + 1;
      if (isEnding) return;
      if (wasUp && !isKilled) problems.push(tell("ended by itself", code, worker));
      if (vainStarts === MOST_VAIN_STARTS) problems.push(tell("does not start", code, worker));
      isKilled = false;
      worker = start();
    }
  })();
  return {
    kill: async () => {
      isKilled = true;
      worker.kill("SIGKILL");
      await worker.ended;
    },
    stop: async () => {
      const wasUp = await worker.ready;
      isEnding = true;
      worker.kill("SIGTERM");
      const code = await worker.ended;
      if (wasUp && code !== 0) problems.push(tell("did not end in good order", code, worker));
      await restarting;
    },
  };
}

function tell(what: string, code: number | null, worker: ReconProcess): string {
  return `a worker ${what} (${code === null ? "signal" : `exit code ${code}`}): ${worker.lastLines()}`;
}
