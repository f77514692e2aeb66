/** Seeded chance: one seed gives the same games on every machine and after every restart. */

export interface Random {
  /** a whole number from 0, below the limit; the limit is at most 2^32 */
  below(limit: number): number;
  /** a whole number from `least` to `most` */
  between(least: number, most: number): number;
  /** true in one of `times` calls on average */
  oneIn(times: number): boolean;
  pick<T>(choices: readonly [T, ...T[]]): T;
}

/** A stream of chance that depends only on its seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    oneIn: (times) => below(times) === 0,
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
  };
}

/** Hashes a text to a whole number below 2^32 (FNV-1a with the finalizer of MurmurHash3). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
