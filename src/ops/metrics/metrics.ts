/** The metrics of one worker: its own registry, filled at each scrape. */

import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Clock, Instant } from "../../clock.ts";
import type { Config } from "../../config-file.ts";
import type { DatabaseClock } from "../../db/database-clock.ts";
import { describeError } from "../../errors.ts";
import type { CommittedPage, FlowContext } from "../../flows/context.ts";
import { endsInTime } from "../../in-time.ts";
import type { WatchRequest } from "../../provider-request.ts";
import { addProcessMetrics } from "./process-metrics.ts";
import { readFinishedState, readOpenState } from "./read-state.ts";
import { addStateGauges, type QueueState, readDatabaseState } from "./state-gauges.ts";

const RECORD_OUTCOMES = ["created", "changed", "unchanged", "rejected"] as const;

/**
 * The endpoints that the worker calls by itself, and the outcomes whose first occurrence must show as an increase.
 */
const OWN_ENDPOINTS = ["seamless/betTransactionsV2", "verifyDepositWithdraw"];
const AWAITED_OUTCOMES = ["ok", "provider-refused"];

/** Seconds. A page takes tens of milliseconds; by default a request is given up after 30 s. */
const LATENCIES = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

interface WorkCounters {
  readonly onPage: (page: CommittedPage) => void;
  readonly watch: WatchRequest;
  readonly onWrongToken: () => void;
}

/** Begins with 0 for every product of the config, so that the first records show as an increase. */
function addWorkCounters(registry: Registry, { products }: Config, clock: Clock): WorkCounters {
  const registers = [registry];
  const records = new Counter({
    name: "recon_records_total",
    help: "Bet records of committed pages, by outcome; a record that is fetched again counts again.",
    labelNames: ["product", "outcome"] as const,
    registers,
  });
  const requests = new Counter({
    name: "recon_provider_requests_total",
    help: 'Requests to the provider that have ended, by endpoint and outcome: "ok", the code of the error, or "aborted" if this program ended the request.',
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

interface ReadingLimits {
  /** the time for which a result, or a failure, is used */
  readonly everyMs: number;
  /** the longest wait of a caller; the reading continues, and no other one begins before its end */
  readonly longestMs: number;
}

/**
 * @param onFailure called for each failed reading
 * @returns the last result; null: the last reading failed, or takes too long. Never rejects.
 */
function shareReading<Read>(
  read: () => Promise<Read>,
  { everyMs, longestMs }: ReadingLimits,
  clock: Clock,
  onFailure: (error: unknown) => void,
): () => Promise<Read | null> {
  let last: { readonly at: Instant; readonly read: Read | null } | null = null;
  let underWay: Promise<Read | null> | null = null;

  const readAnew = async (): Promise<Read | null> => {
    const found = await read().catch((error: unknown) => {
      onFailure(error);
      return null;
    });
    last = { at: clock.now(), read: found };
    underWay = null;
    return found;
  };

  return async () => {
    if (underWay === null && last !== null && clock.now() - last.at < everyMs) return last.read;
    underWay ??= readAnew();
    const reading = underWay;
    return (await endsInTime(reading, longestMs)) ? await reading : null;
  };
}

/** The shortest interval between two readings, for all scrapers together. */
const READ_EVERY_MS = 5_000;
const READ_FINISHED_EVERY_MS = 300_000;
const READ_DATABASE_EVERY_MS = 15_000;
/** Prometheus gives up after 10 s by default. */
const LONGEST_READ_MS = 3_000;
export interface Metrics extends WorkCounters {
  /** The metrics in the text format of Prometheus. Does not reject if a service is down: that is a metric too. */
  show(): Promise<{ readonly type: string; readonly text: string }>;
}

/**
 * @param countQueues rejects, or waits for ever, if the queues do not answer
 * @param longestReadMs the longest wait for a reading
 */
export function openMetrics(
  context: FlowContext & { readonly databaseClock?: DatabaseClock },
  countQueues: () => Promise<readonly QueueState[]>,
  longestReadMs = LONGEST_READ_MS,
): Metrics {
  const { sql, config, clock, databaseClock } = context;
  const registry = new Registry();
  addProcessMetrics(registry);
  const work = addWorkCounters(registry, config, clock);
  const showState = addStateGauges(registry, config);
  const showClock = addClockGauge(registry, databaseClock);

  const share = <Read>(what: string, everyMs: number, read: () => Promise<Read>) =>
    shareReading(read, { everyMs, longestMs: longestReadMs }, clock, (error) =>
      context.log.warn({ error: describeError(error) }, `the metrics lack ${what}`),
    );
  const readOpen = share("what is in the database", READ_EVERY_MS, () =>
    readOpenState(sql, config, clock.now()),
  );
  const readFinished = share("finished work", READ_FINISHED_EVERY_MS, () =>
    readFinishedState(sql, clock.now()),
  );
  const readDatabase = share("the size and the upkeep of the database", READ_DATABASE_EVERY_MS, () =>
    readDatabaseState(sql),
  );
  const readQueues = share("the queues", READ_EVERY_MS, countQueues);

  return {
    ...work,
    show: async () => {
      const [open, finished, queues, database] = await Promise.all([
        readOpen(),
        readFinished(),
        readQueues(),
        readDatabase(),
      ]);
      showState({ open, finished, queues, database }, clock.now());
      showClock();
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** A gauge of this worker's clock; without a value if the difference is unknown. */
function addClockGauge(registry: Registry, clock: DatabaseClock | undefined): () => void {
  const gauge = new Gauge({
    name: "recon_clock_ahead_seconds",
    help: "Seconds by which this worker's clock is ahead of the database's; beyond 5 in either direction the worker does no work.",
    registers: [registry],
  });
  return () => {
    gauge.reset();
    const aheadMs = clock?.aheadMs() ?? null;
    if (aheadMs === null) gauge.remove();
    else gauge.set(aheadMs / 1000);
  };
}

/**
 * `GET /metrics`, open to everybody who reaches the port, like the health checks. Without metrics the route does not
 * exist.
 */
export function addMetrics(app: FastifyInstance, metrics: Metrics | undefined): void {
  if (metrics === undefined) return;
  app.get("/metrics", async (_request, reply) => {
    const { type, text } = await metrics.show();
    return await reply.type(type).send(text);
  });
}
