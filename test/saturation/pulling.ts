/** Real workers that have more to pull than they can, from a provider that the case owns. */

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { startOwnRedis } from "../simulation/own-redis.ts";
import {
  type OwnWorkers,
  type OwnWorkersPlan,
  type QueuePlace,
  withOwnWorkers,
} from "./support/own-workers.ts";

/** One request for a page of bets. */
export interface AskedPage {
  readonly productId: string;
  readonly from: number;
  readonly to: number;
  /** of the page; null: the first one */
  readonly nextId: string | null;
  /** milliseconds since the load began */
  readonly atMs: number;
}

export interface PullLoad extends Pick<OwnWorkersPlan, "config" | "workers" | "prepare"> {
  readonly queues: QueuePlace;
  /** how long the provider takes for an answer without records */
  readonly answerMs: number;
  /** answers in another way instead; returns whether it did */
  readonly answer?: (asked: AskedPage, response: ServerResponse) => boolean;
}

export interface RunningLoad extends OwnWorkers {
  /** all requests so far, in order */
  readonly asked: readonly AskedPage[];
  nowMs(): number;
}

export function productNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `P${index + 1}`);
}

/** Starts database, queues, provider and workers, lets `watch` observe them, and ends all of them. */
export async function underLoad<Seen>(
  { queues, answerMs, answer, ...plan }: PullLoad,
  watch: (running: RunningLoad) => Promise<Seen>,
): Promise<Seen> {
  const begunAt = performance.now();
  const nowMs = () => performance.now() - begunAt;
  const asked: AskedPage[] = [];
  const provider: RequestListener = async (request, response) => {
    if (request.url?.startsWith("/heartbeat")) {
      response.writeHead(200).end();
      return;
    }
    const one = { ...readRequest(request), atMs: nowMs() };
    asked.push(one);
    if (answer?.(one, response)) return;
    await pause(answerMs);
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"reqId":"r","code":0,"message":"success","data":{"txns":[]}}');
  };
  const redis = queues === "Redis" ? await startOwnRedis() : null;
  try {
    return await withOwnWorkers({ ...plan, redisUrl: redis?.url ?? null, provider }, (own) =>
      watch({ ...own, asked, nowMs }),
    );
  } finally {
    await redis?.stop();
  }
}

function readRequest({ url = "/" }: IncomingMessage): Omit<AskedPage, "atMs"> {
  const { searchParams } = new URL(url, "http://provider");
  const timeOf = (name: string) => Date.parse(searchParams.get(name) ?? "");
  return {
    productId: searchParams.get("productId") ?? "",
    from: timeOf("startTime"),
    to: timeOf("endTime"),
    nextId: searchParams.get("nextId"),
  };
}

/** How often each product was requested, including those that never were. */
export function countByProduct(
  products: readonly string[],
  asked: readonly Pick<AskedPage, "productId">[],
): ReadonlyMap<string, number> {
  const counts = new Map(products.map((productId) => [productId, 0]));
  for (const { productId } of asked) counts.set(productId, (counts.get(productId) ?? 0) + 1);
  return counts;
}

/** Requests of the product served most for each request of the one served least; infinite if one was never served. */
export function unfairness(
  products: readonly string[],
  asked: readonly Pick<AskedPage, "productId">[],
): number {
  const counts = [...countByProduct(products, asked).values()];
  const least = Math.min(...counts);
  return least === 0 ? Number.POSITIVE_INFINITY : Math.max(...counts) / least;
}

/** The longest time without a request for a product, from the beginning of the load or from a request on, in milliseconds. */
export function longestSilence(
  products: readonly string[],
  asked: readonly AskedPage[],
  fromMs: number,
  untilMs: number,
): { readonly productId: string; readonly ms: number } {
  const silences = products.map((productId) => {
    const own = asked.filter(
      (one) => one.productId === productId && one.atMs >= fromMs && one.atMs <= untilMs,
    );
    const times = [fromMs, ...own.map(({ atMs }) => atMs), untilMs];
    const ms = Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? atMs)));
    return { productId, ms: Math.round(ms) };
  });
  return silences.reduce((worst, one) => (one.ms > worst.ms ? one : worst));
}
