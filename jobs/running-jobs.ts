/** The jobs that are being worked on in this process, so that its end can wait for them, and name those it abandons. */

export interface RunningJobs {
  /** Keeps a job in mind until it has ended. Settles as `work` does. */
  during(name: string, work: Promise<void>): Promise<void>;
  /** Resolves when none is left. */
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
