/**
 * Finds requests whose balance before is not the player's last balance after, in a ledger that has every movement
 * (`ledger.balances: "complete"`). The chain is per currency, over all products.
 */

import type { CallbackEntry } from "../callback.ts";
import { formatInstant, type Instant, showInstant } from "../clock.ts";
import type { MismatchContent } from "../mismatch.ts";
import { type Amount, formatMoney, sumAmounts, ZERO } from "../money.ts";
import {
  type Answer,
  answersIn,
  contentOfRequest,
  contradicts,
  findRepeats,
  repeatsItsFirst,
} from "./balance.ts";
import { allowanceOf, differByAtMost, type Tolerance } from "./sums.ts";
import { followTrails, type Trails, type Way } from "./trails.ts";

/** What the operator answered to one request. */
interface Link {
  readonly answer: Answer;
  /**
   * The balances that it may have had; null: it took no part. Several: the answer contradicts itself, which is a
   * mismatch of its own. Empty: both balances are unknown, and cannot be concluded from what it moved.
   */
  readonly ways: readonly (Way<Answer> | null)[];
  /** the money moved between the callback's own time and its receipt */
  readonly from: Instant;
  readonly to: Instant;
}

/** A request that does not follow from the one before it. */
export interface BrokenLink {
  readonly content: MismatchContent;
  readonly entries: readonly CallbackEntry[];
  /** the last receipt of the entries of both requests */
  readonly receivedAt: Instant;
}

export interface JudgedChain {
  readonly broken: readonly BrokenLink[];
  /** the entries of all judged requests, the broken ones included */
  readonly judged: readonly CallbackEntry[];
  /** the entries of requests that overlap requests that were not loaded, or would be compared with them */
  readonly left: readonly CallbackEntry[];
  /** all requests of these times were judged, also those that are gone */
  readonly times: readonly JudgedTime[];
}

/** From the first to the last judged request of a currency; null: there is no request before, or after. */
interface JudgedTime {
  readonly currency: string;
  readonly from: Instant | null;
  readonly to: Instant | null;
}

/** Facts beside the entries of a chain. */
interface ChainSettings {
  /** the amount that stands for a null `moved`, by entryId */
  readonly asked: ReadonlyMap<string, Amount>;
  /** further entries of the same items, of any time: an item that came before moves nothing */
  readonly earlier?: readonly CallbackEntry[];
  readonly tolerance: Tolerance;
  /** whether there are earlier, or later, entries: requests that overlap them are not judged */
  readonly cut: { readonly before: boolean; readonly after: boolean };
}

/**
 * Finds links that fit in no order. Links whose times overlap may have come in any order: of two debits from 100 to
 * 90 and from 100 to 80, the later one is broken. An unknown balance is concluded from what the requests moved:
 * after 100 > 90 and a request without balances that moved -10, the next one starts from 80.
 * @param entries of one player, of all products, without a gap
 */
export function findBrokenLinks(entries: readonly CallbackEntry[], settings: ChainSettings): JudgedChain {
  const { links, silent } = linksOf(entries, settings);
  const chains = [...Map.groupBy(links, ({ answer }) => currencyOf(answer))].map(([currency, own]) => {
    const { tolerance, cut } = settings;
    const clusters = clustersOf(own);
    const whole = clusters.slice(cut.before ? 1 : 0, cut.after ? -1 : undefined);
    const { broken, starts, ends } = walk(whole, currency, tolerance);
    const judged = whole.slice(cut.before ? starts : 0).flatMap(entriesOf);
    const known = new Set(judged);
    const unsure = [...(cut.before ? whole.slice(0, starts) : []), ...(cut.after ? whole.slice(ends) : [])];
    const left = [...clusters.filter((cluster) => !whole.includes(cluster)), ...unsure];
    const times = judged.map(({ occurredAt }) => occurredAt);
    const edge = (isCut: boolean, at: Instant) => (isCut ? at : null);
    return {
      broken: broken.filter((one) => one.entries.every((entry) => known.has(entry))),
      judged,
      left: left.flatMap(entriesOf),
      times: {
        currency,
        from: edge(cut.before, Math.min(...times)),
        to: edge(cut.after, Math.max(...times)),
      },
    };
  });
  const judged = new Set(chains.flatMap((chain) => chain.judged));
  // A repeat has the time of its first request, whose mismatch must not end with it.
  const unjudged = new Set(
    links
      .flatMap(({ answer }) => answer.entries)
      .filter((one) => !judged.has(one))
      .map(subjectOfLink),
  );
  return {
    broken: chains.flatMap(({ broken }) => broken),
    judged: [...silent.filter((one) => !unjudged.has(subjectOfLink(one))), ...judged],
    left: chains.flatMap(({ left }) => left),
    times: chains.filter((chain) => chain.judged.length > 0).map(({ times }) => times),
  };
}

/** Names its time too: a repeat at another time under the same request id is another link. */
export function subjectOfLink({ callback, requestId, occurredAt }: CallbackEntry): string {
  return `chain:${JSON.stringify([callback, requestId, formatInstant(occurredAt)])}`;
}

const firstOf = ({ entries }: Answer) => entries[0] as CallbackEntry;
const currencyOf = (answer: Answer) => firstOf(answer).currency;
const entriesOf = (links: readonly Link[]) => links.flatMap(({ answer }) => answer.entries);

/** @returns `silent`: entries whose answer says nothing about the balance: skipped items, and items that had come before */
function linksOf(entries: readonly CallbackEntry[], { asked, earlier = [], tolerance }: ChainSettings) {
  const answers = answersIn(entries, asked);
  const repeats = findRepeats(answers, [...entries, ...earlier]);
  const links: Link[] = [];
  const silent: CallbackEntry[] = [];
  for (const answer of answers) {
    const firsts = repeats.get(answer) ?? null;
    const movedNothing = answer.moved?.eq(ZERO) ?? true;
    const isSkipped = movedNothing && answer.entries.every((entry) => entry.skipBalanceUpdate);
    const isStill = isSkipped || firsts !== null;
    const isContrary = contradicts(answer, tolerance);
    if (isStill && (!isContrary || (firsts !== null && repeatsItsFirst(answer, firsts)))) {
      silent.push(...answer.entries);
      continue;
    }
    const ways = waysOf(answer, isContrary);
    const times = answer.entries.flatMap(({ occurredAt, receivedAt }) => [occurredAt, receivedAt]);
    links.push({
      answer,
      ways: isStill ? [...ways, null] : ways,
      from: Math.min(...times),
      to: Math.max(...times),
    });
  }
  return { links, silent };
}

/** @param isContrary balances and movement do not fit: one of the three is wrong */
function waysOf(answer: Answer, isContrary: boolean): Way<Answer>[] {
  const { before, after, moved } = answer;
  const way = (from: Amount | null | undefined, to: Amount | null | undefined) =>
    from == null || to == null ? [] : [{ item: answer, before: from, after: to }];
  const said = way(before, after);
  if (said.length > 0 && !isContrary) return said;
  if (moved === null) return said;
  return [...said, ...way(before, before?.plus(moved)), ...way(after?.minus(moved), after)];
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

/** The last request with a known balance, and what came after it without one. */
interface LastBalance {
  readonly answer: Answer;
  readonly after: Amount;
  readonly since: readonly Amount[];
}

/** @returns `starts` clusters had nothing to be compared with; nothing follows those from `ends` on */
function walk(clusters: readonly Link[][], currency: string, tolerance: Tolerance) {
  const allowance = allowanceOf(tolerance, currency, 1);
  const broken: BrokenLink[] = [];
  /** the balances that the player may have; null: unknown */
  let possible: readonly Amount[] | null = null;
  let last: LastBalance | null = null;
  let [starts, ends] = [0, 0];
  for (const [index, cluster] of clusters.entries()) {
    if (last === null) starts = index + 1;
    const found = follow(cluster, possible, allowance);
    const known = cluster.map(toLast).filter(isKnown);
    for (const { item, before } of found.broken) {
      const others = known.filter(({ answer }) => answer !== item);
      const index = known.findIndex(({ answer }) => answer === item);
      const from: LastBalance | null = (index > 0 ? others[index - 1] : last) ?? others[0] ?? null;
      if (from !== null) broken.push(toBrokenLink(item, before, from));
    }
    possible = found.ends.length === 0 ? null : distinct(found.ends).slice(0, MOST_POSSIBLE);
    if (known.length > 0) ends = index;
    const isPossible = (balance: Amount) => possible?.some((one) => balance.eq(one)) ?? false;
    last = known.findLast(({ after }) => isPossible(after)) ?? known.at(-1) ?? last;
    const hidden = cluster.flatMap(({ ways, answer }) => (ways.length === 0 ? [answer.moved ?? ZERO] : []));
    if (last !== null && !isPossible(expectedAfter(last)))
      last = { ...last, since: [...last.since, ...hidden] };
  }
  return { broken, starts, ends };
}

/** @returns null if no balance of the request is known */
function toLast({ answer, ways: [way] }: Link): LastBalance | null {
  const after = way?.after ?? answer.after;
  return after === null ? null : { answer, after, since: [] };
}

const isKnown = (one: LastBalance | null) => one !== null;
const expectedAfter = ({ after, since }: LastBalance) => after.plus(sumAmounts(since));

/** After an error the player may have one of several balances. Those of the latest requests count. */
const MOST_POSSIBLE = 8;
/** The most combinations of one cluster. Each link that contradicts itself, or has no balances, has several ways. */
const MOST_CHOICES = 1_000;

interface Followed {
  readonly broken: readonly { readonly item: Answer; readonly before: Amount }[];
  /** the balances that the player may have then; empty: unknown */
  readonly ends: readonly Amount[];
}

/** Compares the links of one cluster with each other, and with the balances that the player may have had before it. */
function follow(cluster: readonly Link[], possible: readonly Amount[] | null, allowance: Amount): Followed {
  const hidden = cluster.filter(({ ways }) => ways.length === 0);
  const [only] = hidden;
  if (only !== undefined && cluster.length === 1) return followUnknown(only.answer, possible, allowance);
  const moved = sumKnown(cluster.map((link) => link.answer.moved));
  const bySum = moved === null ? [] : (possible ?? []).map((balance) => balance.plus(moved));
  const known = cluster.filter(({ ways }) => ways.length > 0);
  const whole = placeHidden(hidden, known, possible);
  if (whole === null) {
    // Any of them may stand between any two of the others.
    const { starts } = fewestStarts(known, possible, allowance);
    const ends = hidden.some((link) => link.answer.moved === null) ? [] : bySum;
    return { broken: starts.slice(hidden.length), ends };
  }
  const { starts, ends } = fewestStarts([...whole, ...known], possible, allowance);
  // After an error the player may also have the balance from before it, or the sum of all requests together.
  const kept = starts.length > 0 ? [...(possible ?? []), ...bySum] : [];
  return { broken: starts, ends: [...ends, ...kept] };
}

/** A request without a balance, or with one of them and without what it moved. */
function followUnknown(item: Answer, possible: readonly Amount[] | null, allowance: Amount): Followed {
  const { before, after, moved } = item;
  if (moved !== null) return { broken: [], ends: possible?.map((one) => one.plus(moved)) ?? [] };
  const fits = (balance: Amount) => possible?.some((one) => differByAtMost(one, balance, allowance)) ?? true;
  const broken = before === null || fits(before) ? [] : [{ item, before }];
  return { broken, ends: after === null ? [] : [after] };
}

/**
 * Gives requests without balances every way that they can have beside the others: from what another one left, or to
 * what another one started from, also with each other in between.
 * @returns null: an amount is unknown, or there are too many ways
 */
function placeHidden(
  hidden: readonly Link[],
  known: readonly Link[],
  possible: readonly Amount[] | null,
): Link[] | null {
  const ways = known.flatMap((link) => link.ways.filter((way) => way !== null));
  const placed: Link[] = [];
  for (const link of hidden) {
    const { moved } = link.answer;
    if (moved === null) return null;
    const others = hidden.filter((other) => other !== link).map(({ answer }) => answer.moved ?? ZERO);
    const shifts = others.reduce((sums, one) => sums.flatMap((sum) => [sum, sum.plus(one)]), [ZERO]);
    const left = [...(possible ?? []), ...ways.map(({ after }) => after)];
    const starts = possible === null ? ways.map(({ before }) => before.minus(moved)) : [];
    const from = distinct([
      ...left.flatMap((balance) => shifts.map((shift) => balance.plus(shift))),
      ...starts.flatMap((balance) => shifts.map((shift) => balance.minus(shift))),
    ]);
    if (hidden.length > MOST_HIDDEN || from.length === 0) return null;
    placed.push({
      ...link,
      ways: from.map((before) => ({ item: link.answer, before, after: before.plus(moved) })),
    });
  }
  const choices = [...placed, ...known].reduce((product, link) => product * link.ways.length, 1);
  return choices > MOST_CHOICES ? null : placed;
}

/** The number of balances to try doubles with each of them. */
const MOST_HIDDEN = 3;

/** The combination of ways that fits best. If several fit equally, the player may have any of their ends. */
function fewestStarts(
  cluster: readonly Link[],
  possible: readonly Amount[] | null,
  allowance: Amount,
): Trails<Answer> {
  let choices: (readonly Way<Answer>[])[] = [[]];
  for (const { ways } of cluster) {
    const tried = choices.length * ways.length > MOST_CHOICES ? ways.slice(0, 1) : ways;
    choices = choices.flatMap((chosen) => tried.map((way) => (way === null ? chosen : [...chosen, way])));
  }
  const all = choices.map((chosen) => followTrails(chosen, possible, allowance));
  const fewest = Math.min(...all.map(({ starts }) => starts.length));
  const best = all.filter(({ starts }) => starts.length === fewest);
  const ofKnown = best.find(({ starts }) => starts.every(({ item }) => item.before ?? item.after));
  return { starts: (ofKnown ?? best[0])?.starts ?? [], ends: best.flatMap(({ ends }) => ends) };
}

function sumKnown(amounts: readonly (Amount | null)[]): Amount | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length < amounts.length ? null : sumAmounts(known);
}

function distinct(amounts: readonly Amount[]): Amount[] {
  return [...new Map(amounts.map((amount) => [amount.toFixed(), amount])).values()];
}

function toBrokenLink(answer: Answer, before: Amount, last: LastBalance): BrokenLink {
  const first = firstOf(answer);
  const { productId, callback, requestId, occurredAt } = firstOf(last.answer);
  const money = (amount: Amount) => formatMoney(amount, first.currency);
  const [passed, expected] = [sumAmounts(last.since), expectedAfter(last)];
  const had =
    answer.before === null
      ? `was ${money(before)} (it left ${money(answer.after ?? ZERO)} and moved ${money(answer.moved ?? ZERO)})`
      : `was ${money(before)}`;
  const then =
    last.since.length === 0
      ? ""
      : `, and after it ${last.since.length === 1 ? "a request" : `${last.since.length} requests`} without a balance moved ${money(passed)}, which leaves ${money(expected)}`;
  const content = contentOfRequest(answer.entries, {
    subject: subjectOfLink(first),
    amountAtRisk: before.minus(expected).abs(),
    moved: answer.moved ?? (answer.after ?? before).minus(before),
    previous: [{ productId, callback, requestId, at: formatInstant(occurredAt) }],
    reason: `the balance before the ${first.callback} request ${first.requestId} ${had}, but the ${callback} request ${requestId} of ${productId}, the player's last one${then === "" ? "" : " with a balance"}, left ${money(last.after)} at ${showInstant(occurredAt)}${then}`,
  });
  const all = [...answer.entries, ...last.answer.entries];
  return { content, entries: answer.entries, receivedAt: Math.max(...all.map((one) => one.receivedAt)) };
}
