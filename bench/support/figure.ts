/** A figure: a ratio that is measured in one run on one machine, and compared with its bar. */

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly bar: string;
  readonly holds: boolean;
  /** both sides of the ratio, in words */
  readonly detail: string;
}

export function atLeast(name: string, value: number, bar: number, detail: string): Figure {
  return { name, value: round(value), bar: `≥ ${bar}`, holds: value >= bar, detail };
}

export function atMost(name: string, value: number, bar: number, detail: string): Figure {
  return { name, value: round(value), bar: `≤ ${bar}`, holds: value <= bar, detail };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
