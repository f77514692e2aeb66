/** Remembers what is costly to make again, up to a weight; what was not asked for longest is forgotten first. */

export interface Cache<V> {
  /** The value of the key, made anew where it is not remembered. */
  get(key: string, make: () => V): V;
}

/** @param most the weight of everything remembered; a single heavier value is still remembered, alone */
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
