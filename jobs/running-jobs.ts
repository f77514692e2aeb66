/** The running jobs of this process. The end of the process waits for these jobs and names the abandoned ones. */

export interface RunningJobs {
  /** Remembers a job until its end. Settles as `work` does. */
  during(name: string, work: Promise<void>): Promise<void>;
  /** Resolves when no job runs. */
  untilNone(): Promise<void>;
  names(): string[];
}

export function openRunningJobs(): RunningJobs {
  const running = new Map<Promise<void>, string>();
  return {
    during: async (name, work) => {
      running.set(work, name);
      try {
        await work;
      } finally {
        running.delete(work);
      }
    },
    untilNone: async () => {
      while (running.size > 0) await Promise.allSettled(running.keys());
    },
    names: () => [...running.values()],
  };
}
