/** The metrics of one worker: its own registry, filled at each scrape. */

import type { FastifyInstance } from "fastify";
import { Gauge, Registry } from "prom-client";
import type { DatabaseClock } from "../../db/database-clock.ts";
import { describeError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { addProcessMetrics } from "./process-metrics.ts";
import { readFinishedState, readOpenState } from "./read-state.ts";
import { shareReading } from "./shared-reading.ts";
import { addStateGauges, type QueueState } from "./state-gauges.ts";
import { readDatabaseState } from "./storage-gauges.ts";
import { addWorkCounters, type WorkCounters } from "./work-counters.ts";

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
  const readFinished = share("finished work", READ_FINISHED_EVERY_MS, () => readFinishedState(sql));
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
