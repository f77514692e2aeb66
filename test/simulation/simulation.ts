/** What all simulations share: running seeds, and reporting for each seed what was found and what went wrong. */

export interface SeedRun {
  readonly seed: number;
  /** what the seed stood for, in words */
  readonly summary: string;
  /** how many faults were planted, and how many of them were found correctly */
  readonly planted: number;
  readonly found: number;
  /** of all that was found, the share that was planted */
  readonly precision: number;
  /** of all that was planted, the share that was found */
  readonly recall: number;
  /** how many of each kind of mismatch were planted; empty if none are */
  readonly kinds: Readonly<Record<string, number>>;
  /** one line for each fault */
  readonly problems: readonly string[];
}

export interface Simulation {
  /** the limit of seeds that run at the same time */
  readonly seedsAtOnce: number;
  run(seed: number): Promise<SeedRun>;
  close(): Promise<void>;
}

export function holds({ precision, recall, problems }: SeedRun): boolean {
  return precision === 1 && recall === 1 && problems.length === 0;
}

/**
 * Runs the seeds, as many at once as the simulation allows.
 * @param report is called for each seed, in the order of the seeds
 */
export async function runSeeds(
  simulation: Simulation,
  seeds: readonly number[],
  report: (run: SeedRun) => void,
): Promise<SeedRun[]> {
  const runs = new Map<number, SeedRun>();
  const reported: SeedRun[] = [];
  let next = 0;
  const thread = async () => {
    for (let seed = seeds[next++]; seed !== undefined; seed = seeds[next++]) {
      runs.set(seed, await simulation.run(seed));
      for (let due = seeds[reported.length]; due !== undefined; due = seeds[reported.length]) {
        const run = runs.get(due);
        if (run === undefined) break;
        reported.push(run);
        report(run);
      }
    }
  };
  await Promise.all(Array.from({ length: simulation.seedsAtOnce }, thread));
  return reported;
}
