/** What every kind of simulation does: it runs seeds, and says of each what was found and what went wrong. */

export interface SeedRun {
  readonly seed: number;
  /** in words: what the seed stood for */
  readonly told: string;
  /** how many things there were to find, and how many were found right */
  readonly planted: number;
  readonly found: number;
  /** of all that was found, the share that was planted */
  readonly precision: number;
  /** of all that was planted, the share that was found */
  readonly recall: number;
  /** one line for each thing that is not as it must be */
  readonly problems: readonly string[];
}

export interface Simulation {
  run(seed: number): Promise<SeedRun>;
  close(): Promise<void>;
}

export function holds({ precision, recall, problems }: SeedRun): boolean {
  return precision === 1 && recall === 1 && problems.length === 0;
}
