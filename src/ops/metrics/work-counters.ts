/** The work of this process: written pages, sent requests. Counters begin at 0 with each process. */

import { Counter, Histogram, type Registry } from "prom-client";
import type { Clock } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { CommittedPage } from "../../flows/context.ts";
import type { WatchRequest } from "../../provider-request.ts";

const RECORD_OUTCOMES = ["created", "changed", "unchanged", "rejected"] as const;

/**
 * The endpoints that the worker calls by itself, and the outcomes whose first occurrence must show as an increase.
 */
const OWN_ENDPOINTS = ["seamless/betTransactionsV2", "verifyDepositWithdraw"];
const AWAITED_OUTCOMES = ["ok", "provider-refused"];

/** Seconds. A page takes tens of milliseconds; by default a request is given up after 30 s. */
const LATENCIES = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

export interface WorkCounters {
  readonly onPage: (page: CommittedPage) => void;
  readonly watch: WatchRequest;
  readonly onWrongToken: () => void;
}

/** Begins with 0 for every product of the config, so that the first records show as an increase. */
export function addWorkCounters(registry: Registry, { products }: Config, clock: Clock): WorkCounters {
  const registers = [registry];
  const records = new Counter({
    name: "recon_records_total",
    help: "Bet records of committed pages, by outcome; a record that is fetched again counts again.",
    labelNames: ["product", "outcome"] as const,
    registers,
  });
  const requests = new Counter({
    name: "recon_provider_requests_total",
    help: 'Requests to the provider that have ended, by endpoint and outcome: "ok", the code of the error, or "aborted" where this program ended the request.',
    labelNames: ["product", "endpoint", "outcome"] as const,
    registers,
  });
  const durations = new Histogram({
    name: "recon_provider_request_duration_seconds",
    help: "Time from the sending of a request to the provider to the end of the answer, for any outcome; without the wait for the request budget.",
    labelNames: ["product", "endpoint"] as const,
    buckets: LATENCIES,
    registers,
  });
  const wrongTokens = new Counter({
    name: "recon_wrong_tokens_total",
    help: "Requests to the ops server whose token is not in OPS_TOKENS.",
    registers,
  });
  const known = new Set(products.map(({ productId }) => productId));
  for (const product of known) {
    for (const outcome of RECORD_OUTCOMES) records.inc({ product, outcome }, 0);
    for (const endpoint of OWN_ENDPOINTS) {
      for (const outcome of AWAITED_OUTCOMES) requests.inc({ product, endpoint, outcome }, 0);
    }
  }
  return {
    onWrongToken: () => wrongTokens.inc(),
    onPage: (page) => {
      const { productId: product } = page;
      for (const outcome of RECORD_OUTCOMES) records.inc({ product, outcome }, page[outcome]);
    },
    watch: ({ endpoint, productId }) => {
      // A transfer may name a product that has left the config. Unknown products share one series.
      const product = productId !== null && known.has(productId) ? productId : "";
      const begunAt = clock.now();
      return ({ outcome }) => {
        requests.inc({ product, endpoint, outcome });
        durations.observe({ product, endpoint }, (clock.now() - begunAt) / 1000);
      };
    },
  };
}
