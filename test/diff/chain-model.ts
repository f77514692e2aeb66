/**
 * What design and docs say about a chain of balances, as plainly as possible: every order of the requests is tried that their
 * times allow, and the order with the fewest differences counts. Requests that a chain of overlaps connects may have come in any
 * order. Slow: for a handful of requests. Amounts are in cents.
 */

/** One request of a player in one currency. */
export interface ModelRequest {
  readonly name: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly moved: number | null;
  readonly from: number;
  readonly to: number;
}

/** Every balance that the player may have; null: any. */
type Balances = readonly number[] | null;

/** @returns the names of the requests that differ, in the order with the fewest */
export function modelChain(requests: readonly ModelRequest[]): string[] {
  let best: string[] | null = null;
  const go = (left: readonly ModelRequest[], balances: Balances, differ: readonly string[]) => {
    if (best !== null && differ.length >= best.length) return;
    if (left.length === 0) best = [...differ];
    for (const one of left) {
      if (left.some((other) => other !== one && other.to < one.from)) continue;
      const { fits, next } = step(one, balances);
      go(
        left.filter((other) => other !== one),
        next,
        fits ? differ : [...differ, one.name],
      );
    }
  };
  go(asMoments(requests), null, []);
  return best ?? [];
}

/** Gives all requests of a chain of overlaps the time from the first to the last of them. */
function asMoments(requests: readonly ModelRequest[]): ModelRequest[] {
  const moments: ModelRequest[][] = [];
  for (const one of [...requests].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = moments.at(-1);
    if (last?.some(({ to }) => to >= one.from)) last.push(one);
    else moments.push([one]);
  }
  return moments.flatMap((moment) => {
    const [from, to] = [Math.min(...moment.map((one) => one.from)), Math.max(...moment.map((one) => one.to))];
    return moment.map((one) => ({ ...one, from, to }));
  });
}

/** What one request says, and the balances that the player may have after it. */
function step({ before, after, moved }: ModelRequest, balances: Balances): { fits: boolean; next: Balances } {
  if (before === null && after === null)
    return { fits: true, next: moved === null ? null : (balances?.map((one) => one + moved) ?? null) };
  const readings: { from: number | null; to: number | null }[] = [];
  if (moved === null) readings.push({ from: before, to: after });
  else {
    // One of before, after and moved is wrong, or null: it follows from the other two.
    if (before !== null && after !== null) readings.push({ from: before, to: after });
    if (before !== null) readings.push({ from: before, to: before + moved });
    if (after !== null) readings.push({ from: after - moved, to: after });
  }
  const fitting = readings.filter(
    ({ from }) => from === null || balances === null || balances.includes(from),
  );
  const ends = (some: typeof readings) => some.flatMap(({ to }) => to ?? []);
  if (fitting.length > 0) {
    const next = ends(fitting);
    return { fits: true, next: next.length === 0 ? null : next };
  }
  // The new balance, the one before it, or that one with what was moved.
  const kept = [...(balances ?? []), ...(moved === null ? [] : (balances ?? []).map((one) => one + moved))];
  const next = ends(readings);
  return { fits: false, next: next.length === 0 ? null : [...new Set([...next, ...kept])].slice(0, MOST) };
}

/** After several errors only this many balances are thought possible, those of the latest requests first. */
const MOST = 8;
