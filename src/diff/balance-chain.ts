/**
 * Finds requests whose balance before is not the player's last balance after, in a ledger that has every movement
 * (`ledger.balances: "complete"`). The chain is per currency, over all products.
 */

import type { CallbackEntry } from "../callback.ts";
import type { Instant } from "../clock.ts";
import type { Finding } from "../mismatch.ts";
import { type Amount, formatMoney, sumAmounts, ZERO } from "../money.ts";
import { findingOfRequest, subjectOfRequest } from "./balance.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./tolerance.ts";

/** What the operator answered to one request. */
interface Link {
  readonly entries: readonly CallbackEntry[];
  /** null: a balance is unknown, or the request contradicts itself, which is a mismatch of its own */
  readonly balances: { readonly before: Amount; readonly after: Amount } | null;
  /** the money moved between the callback's own time and its receipt */
  readonly from: Instant;
  readonly to: Instant;
}

/** A request that does not follow from the one before it. */
export interface BrokenLink {
  readonly finding: Finding;
  readonly entries: readonly CallbackEntry[];
  /** the last receipt of the entries of both requests */
  readonly receivedAt: Instant;
}

export interface JudgedChain {
  readonly broken: readonly BrokenLink[];
  /** the entries of all judged requests, the broken ones included */
  readonly judged: readonly CallbackEntry[];
  /** the entries of requests that overlap what was not loaded */
  readonly left: readonly CallbackEntry[];
}

/**
 * Links whose times overlap may have come in any order, so they are broken only if they fit in none: of two debits from
 * 100 to 90 and from 100 to 80 the later one is broken.
 * @param entries of one player, of all products, without a gap
 * @param asked the amount that stands for a null `moved`, by entryId
 * @param cut whether there are earlier, or later, entries: what overlaps them is not judged
 */
export function findBrokenLinks(
  entries: readonly CallbackEntry[],
  asked: ReadonlyMap<string, Amount>,
  tolerance: Tolerance,
  cut: { readonly before: boolean; readonly after: boolean },
): JudgedChain {
  const chains = [...Map.groupBy(entries, ({ currency }) => currency)].map(([currency, own]) => {
    const clusters = clustersOf(linksOf(own, asked, tolerance));
    const whole = clusters.slice(cut.before ? 1 : 0, cut.after ? -1 : undefined);
    const left = clusters.filter((cluster) => !whole.includes(cluster));
    return {
      broken: walk(whole, currency, tolerance),
      judged: whole.flat().flatMap((link) => link.entries),
      left: left.flat().flatMap((link) => link.entries),
    };
  });
  return {
    broken: chains.flatMap(({ broken }) => broken),
    judged: chains.flatMap(({ judged }) => judged),
    left: chains.flatMap(({ left }) => left),
  };
}

export function subjectOfLink(entry: CallbackEntry): string {
  return `chain:${subjectOfRequest(entry).slice("request:".length)}`;
}

/** Without what moved nothing: requests whose items are all skipped, and replays, which repeat the first answer. */
function linksOf(
  entries: readonly CallbackEntry[],
  asked: ReadonlyMap<string, Amount>,
  tolerance: Tolerance,
): Link[] {
  const movedFor = (entry: CallbackEntry) => entry.moved ?? asked.get(entry.entryId) ?? null;
  const nameOf = (entry: CallbackEntry) => JSON.stringify([entry.productId, subjectOfRequest(entry)]);
  const answers = [...Map.groupBy(entries, keyOfAnswer).values()].map((items) => {
    const [first] = items as [CallbackEntry];
    const { balanceBefore: before, balanceAfter: after } = first;
    const known = items.map(movedFor).filter((amount) => amount !== null);
    const moved = known.length < items.length ? null : sumAmounts(known);
    const changed = before === null || after === null ? null : after.minus(before);
    const allowance = allowanceOf(tolerance, first.currency, items.length);
    const fits = moved === null || (changed !== null && differByAtMost(changed, moved, allowance));
    const times = items.flatMap(({ occurredAt, receivedAt }) => [occurredAt, receivedAt]);
    const balances = before !== null && after !== null && fits ? { before, after } : null;
    return {
      name: nameOf(first),
      changed,
      movesNothing: items.every((entry) => movedFor(entry)?.eq(ZERO)),
      link: { entries: items, balances, from: Math.min(...times), to: Math.max(...times) },
    };
  });
  const isReplay = (one: (typeof answers)[number]) =>
    one.movesNothing &&
    (one.changed === null || answers.some((other) => other !== one && isFirstOf(other, one)));
  const isFirstOf = (first: (typeof answers)[number], replay: (typeof answers)[number]) =>
    first.name === replay.name && first.link.balances !== null && first.changed?.eq(replay.changed ?? ZERO);
  return answers
    .filter((one) => !one.link.entries.every((entry) => entry.skipBalanceUpdate) && !isReplay(one))
    .map(({ link }) => link);
}

function keyOfAnswer(entry: CallbackEntry): string {
  const { productId, occurredAt, receivedAt, balanceBefore, balanceAfter } = entry;
  const balances = [balanceBefore?.toFixed(), balanceAfter?.toFixed()];
  return JSON.stringify([productId, subjectOfRequest(entry), occurredAt, receivedAt, ...balances]);
}

/** Links whose times overlap, together, in the order of time. */
function clustersOf(links: readonly Link[]): Link[][] {
  const clusters: Link[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const link of [...links].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (link.from > end) clusters.push([]);
    clusters.at(-1)?.push(link);
    end = Math.max(end, link.to);
  }
  return clusters;
}

function walk(clusters: readonly Link[][], currency: string, tolerance: Tolerance): BrokenLink[] {
  const broken: BrokenLink[] = [];
  /** the balances that the player may have; null: unknown */
  let possible: readonly Amount[] | null = null;
  let last: Link | undefined;
  for (const cluster of clusters) {
    if (cluster.some(({ balances }) => balances === null)) possible = null;
    else {
      const found = followTrails(cluster, possible, allowanceOf(tolerance, currency, 1));
      for (const link of found.starts) {
        const before = cluster[cluster.indexOf(link) - 1] ?? last;
        if (before !== undefined) broken.push(toBrokenLink(link, before));
      }
      possible = found.ends;
    }
    last =
      cluster.findLast(({ balances }) => possible?.some((one) => balances?.after.eq(one))) ?? cluster.at(-1);
  }
  return broken;
}

/**
 * Follows the balances of links that may have come in any order: each balance is a place, each link a way from one to
 * another. All of them fit in one chain if one trail takes every way once (Euler); else each further trail has a start.
 */
function followTrails(cluster: readonly Link[], possible: readonly Amount[] | null, allowance: Amount) {
  const ways = cluster.flatMap((link) => (link.balances === null ? [] : [{ link, ...link.balances }]));
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
  /** where a trail begins: at one way, or, if it is a circle, at any of several */
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
  const others = starts.filter((start) => start !== expected).flatMap(([way]) => way?.link ?? []);
  const ends = ways.filter(({ after }) => (surplus.get(placeOf(after)) ?? 0) < 0).map(({ after }) => after);
  // A circle ends where it begins. After an error the player may also have the balance from before it.
  const circles = starts.filter((start) =>
    start.every(({ before }) => (surplus.get(placeOf(before)) ?? 0) <= 0),
  );
  const isAtBegin = ({ before }: (typeof ways)[number]) => begins.size === 0 || begins.has(placeOf(before));
  const closed = circles.flatMap((start) => (start === expected ? start.filter(isAtBegin) : start));
  const kept = others.length > 0 ? (possible ?? []) : [];
  return { starts: others, ends: [...ends, ...closed.map(({ before }) => before), ...kept] };
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

function toBrokenLink(link: Link, last: Link): BrokenLink {
  const [[first], [other]] = [link.entries, last.entries] as [[CallbackEntry], [CallbackEntry]];
  const [before, after] = [link.balances?.before ?? ZERO, last.balances?.after ?? ZERO];
  const money = (amount: Amount) => formatMoney(amount, first.currency);
  const finding = findingOfRequest(link.entries, {
    subject: subjectOfLink(first),
    amountAtRisk: before.minus(after).abs(),
    moved: (link.balances?.after ?? ZERO).minus(before),
    reason: `the balance before the ${first.callback} request ${first.requestId} was ${money(before)}, but the ${other.callback} request ${other.requestId} of ${other.productId}, the player's last one, left ${money(after)}`,
  });
  const receivedAt = [...link.entries, ...last.entries].reduce((at, one) => Math.max(at, one.receivedAt), 0);
  return { finding, entries: link.entries, receivedAt };
}
