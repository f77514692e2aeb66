/** What is said again and again: a log has it at once, and then once a minute with the number of repetitions. */

import type { Clock } from "./clock.ts";

const SAY_EVERY_MS = 60_000;

/** @returns for something to say: how often it was left out since it was last said; null: leave it out */
export function openRepeats(clock: Clock): (what: string) => number | null {
  const said = new Map<string, { readonly at: number; leftOut: number }>();
  return (what) => {
    const last = said.get(what);
    if (last !== undefined && clock.now() - last.at < SAY_EVERY_MS) {
      last.leftOut += 1;
      return null;
    }
    // Forgets what was said long ago, so that ever new texts take no memory.
    for (const [words, { at }] of said) if (clock.now() - at >= SAY_EVERY_MS) said.delete(words);
    said.set(what, { at: clock.now(), leftOut: 0 });
    return last?.leftOut ?? 0;
  };
}

/** An error and the number of its repetitions, for a log. */
export function repeatedError(error: string, repeated: number): { error: string; repeated?: number } {
  return repeated === 0 ? { error } : { error, repeated };
}
