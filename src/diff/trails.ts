/** Orders requests of one moment by their balances: each starts from the balance that the one before it left. */

import type { Amount } from "../money.ts";
import { differByAtMost } from "./sums.ts";

/** A request's balances before and after. */
export interface Way<Item> {
  readonly item: Item;
  readonly before: Amount;
  readonly after: Amount;
}

export interface Trails<Item> {
  /** the ways with which a trail begins that should not: each is a difference */
  readonly starts: readonly Way<Item>[];
  /** the balances after all of them */
  readonly ends: readonly Amount[];
}

/**
 * Follows the balances of links that may have come in any order: each balance is a place, each link a way from one
 * place to another. All links fit in one chain if one trail takes every way once (Euler). Otherwise each further
 * trail has a start.
 * @param possible the balances before all of them; null: unknown
 */
export function followTrails<Item>(
  ways: readonly Way<Item>[],
  possible: readonly Amount[] | null,
  allowance: Amount,
): Trails<Item> {
  const placeOf = placesOf(
    [...ways.flatMap(({ before, after }) => [before, after]), ...(possible ?? [])],
    allowance,
  );
  const surplus = new Map<number, number>();
  const parents = new Map<number, number>();
  const rootOf = (place: number): number => {
    let root = place;
    for (let up = parents.get(root); up !== undefined; up = parents.get(root)) root = up;
    return root;
  };
  for (const { before, after } of ways) {
    const [from, to] = [placeOf(before), placeOf(after)];
    surplus.set(from, (surplus.get(from) ?? 0) + 1);
    surplus.set(to, (surplus.get(to) ?? 0) - 1);
    if (rootOf(from) !== rootOf(to)) parents.set(rootOf(from), rootOf(to));
  }
  /** the beginning of each trail: one way, or, if the trail is a circle, any of several */
  const starts: (typeof ways)[] = [];
  for (const own of Map.groupBy(ways, ({ before }) => rootOf(placeOf(before))).values()) {
    const needed = [...Map.groupBy(own, ({ before }) => placeOf(before))].flatMap(([place, from]) => {
      const more = Math.max(0, surplus.get(place) ?? 0);
      return more === 0 ? [] : from.slice(-more).map((way) => [way]);
    });
    starts.push(...(needed.length === 0 ? [own] : needed));
  }
  const begins = new Set(possible?.map(placeOf));
  const expected = starts.find(
    (start) => possible === null || start.some(({ before }) => begins.has(placeOf(before))),
  );
  const others = starts.filter((start) => start !== expected).flatMap(([way]) => way ?? []);
  const ends = ways.filter(({ after }) => (surplus.get(placeOf(after)) ?? 0) < 0).map(({ after }) => after);
  // A circle ends at its own beginning.
  const circles = starts.filter((start) =>
    start.every(({ before }) => (surplus.get(placeOf(before)) ?? 0) <= 0),
  );
  const isAtBegin = ({ before }: Way<Item>) => begins.size === 0 || begins.has(placeOf(before));
  const closed = circles.flatMap((start) => (start === expected ? start.filter(isAtBegin) : start));
  const still = ways.length === 0 ? (possible ?? []) : [];
  return { starts: others, ends: [...ends, ...closed.map(({ before }) => before), ...still] };
}

/** Balances that differ by no more than the tolerance are one place. */
function placesOf(balances: readonly Amount[], allowance: Amount): (balance: Amount) => number {
  const sorted = [...balances].sort((a, b) => a.cmp(b));
  const places = new Map<string, number>();
  sorted.forEach((balance, index) => {
    const before = sorted[index - 1];
    const same = before !== undefined && differByAtMost(balance, before, allowance);
    places.set(balance.toFixed(), same ? (places.get(before.toFixed()) ?? 0) : index);
  });
  return (balance) => places.get(balance.toFixed()) ?? -1;
}
