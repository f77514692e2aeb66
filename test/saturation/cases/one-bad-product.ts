import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { atMost, type Check, type SaturationCase } from "../case.ts";
import { longestSilence, productNames, underLoad } from "../pulling.ts";

const PRODUCTS = productNames(12);
const [BAD = "", ...OTHERS] = PRODUCTS;
const EVERY_MS = 2_000;
/** The first rounds are over by then. */
const SETTLED_MS = 10_000;
const WATCHED_MS = 40_000;
/** A tick, a request, and what a busy machine adds. */
const BAR_MS = 3 * EVERY_MS;

const WAYS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "never answers": () => {},
  "answers HTTP 503": (response) => response.writeHead(503).end(),
  "answers HTTP 429 with Retry-After": (response) => response.writeHead(429, { "retry-after": "20" }).end(),
};

export const saturation: SaturationCase = {
  name: "one-bad-product",
  what: `one of ${PRODUCTS.length} products never answers, or is refused; there are two places`,
  run: async (report) => {
    for (const [way, answer] of Object.entries(WAYS)) report(await measure(way, answer));
  },
};

async function measure(way: string, answer: (response: ServerResponse) => void): Promise<Check> {
  const config = {
    products: PRODUCTS.map((productId) => ({ productId })),
    pull: { every: `PT${EVERY_MS / 1000}S`, concurrency: 2, settleDelay: "PT0S", requestTimeout: "PT5S" },
  };
  const load = {
    config,
    workers: 1,
    queues: "Redis",
    answerMs: 20,
    answer: ({ productId }: { readonly productId: string }, response: ServerResponse) => {
      if (productId !== BAD) return false;
      answer(response);
      return true;
    },
  } as const;
  return await underLoad(load, async ({ asked, nowMs }) => {
    await pause(SETTLED_MS);
    const from = nowMs();
    await pause(WATCHED_MS);
    const { productId, ms } = longestSilence(OTHERS, asked, from, nowMs());
    const own = asked.filter((one) => one.productId === BAD).length;
    const what = `it ${way} (${own} requests): longest time in which another (${productId}) was not asked, in ms`;
    return atMost(what, ms, BAR_MS);
  });
}
