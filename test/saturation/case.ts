/** One case of the saturation suite: too much load, or a part that stands still. */

export interface Check {
  /** what is measured, in words: "requests of the product served most against the one served least" */
  readonly what: string;
  readonly value: number | string;
  /** the limit: "≤ 2" */
  readonly bar: string;
  readonly holds: boolean;
}

/** Gets checks as soon as they are known. */
export type Report = (...checks: readonly Check[]) => void;

export interface SaturationCase {
  readonly name: string;
  /** one sentence: what is overloaded, or what stands still */
  readonly what: string;
  /** Starts what the case needs and ends it again; leftovers are a fault of the case. */
  run(report: Report, options: SaturationOptions): Promise<void>;
}

interface SaturationOptions {
  /** how long a case runs that can run for any time; undefined: its own length */
  readonly minutes?: number;
}

/** @param value "never": it did not happen within the wait */
export function atMost(what: string, value: number | "never", most: number): Check {
  return { what, value, bar: `≤ ${most}`, holds: value !== "never" && value <= most };
}

export function none(what: string, count: number): Check {
  return { what, value: count, bar: "0", holds: count === 0 };
}

export function same(what: string, value: string, expected: string): Check {
  return { what, value, bar: expected, holds: value === expected };
}

/** @param problem null: there is none */
export function someProblem(what: string, problem: string | null): Check {
  return { what, value: problem ?? "nothing", bar: "a problem", holds: problem !== null };
}

/** Always passes. */
export function forInformation(what: string, value: number): Check {
  return { what, value, bar: "for information", holds: true };
}
