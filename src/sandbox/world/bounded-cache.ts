/** Remembers costly values up to a total weight. Forgets the least recently used value first. */

export interface Cache<V> {
  /** @returns the remembered value of the key, or a new one from `make` */
  get(key: string, make: () => V): V;
}

/** @param most the total weight; a single heavier value is remembered alone */
export function createCache<V>(most: number, weigh: (value: V) => number): Cache<V> {
  const kept = new Map<string, V>();
  let weight = 0;
  return {
    get(key, make) {
      let value = kept.get(key);
      if (value === undefined) {
        value = make();
        weight += weigh(value);
      } else {
        kept.delete(key);
      }
      kept.set(key, value);
      for (const [oldest, forgotten] of kept) {
        if (weight <= most || kept.size === 1) break;
        kept.delete(oldest);
        weight -= weigh(forgotten);
      }
      return value;
    },
  };
}
