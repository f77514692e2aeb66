/** One case of the saturation suite: more load than can be done, or something that stands still. */

export interface Check {
  /** what is measured, in words: "requests of the product served most against the one served least" */
  readonly what: string;
  readonly value: number | string;
  /** what holds: "≤ 2" */
  readonly bar: string;
  readonly holds: boolean;
}

export interface SaturationCase {
  readonly name: string;
  /** one sentence: what is overloaded, or what stands still */
  readonly what: string;
  /** Starts what it needs and ends it again; whatever it leaves behind is a fault of the case. */
  run(): Promise<Check[]>;
}
