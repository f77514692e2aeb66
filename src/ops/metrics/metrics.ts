/** The metrics of one worker: a registry of its own, filled anew for each scrape. */

import type { FastifyInstance } from "fastify";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { DatabaseClock } from "../../db/database-clock.ts";
import { describeError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { readStateAtHand, readStateThatIsOver } from "./read-state.ts";
import { shareReading } from "./shared-reading.ts";
import { addStateGauges, type QueueState } from "./state-gauges.ts";
import { addWorkCounters, type WorkCounters } from "./work-counters.ts";

/** However often, and by however many, the metrics are asked for. */
const READ_EVERY_MS = 5_000;
const READ_OVER_EVERY_MS = 300_000;
/** Prometheus gives up after 10 s by default. */
const LONGEST_READ_MS = 3_000;
/** How exactly the delays of the event loop are seen; a finer look wakes an idle process up more often. */
const EVENT_LOOP_MS = 100;

/** Their names end in `_total` as only those of counters may; `nodejs_active_handles` and the like say the same. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

export interface Metrics extends WorkCounters {
  /** In the text format of Prometheus. Never rejects for what is down: that is a metric. */
  show(): Promise<{ readonly type: string; readonly text: string }>;
}

/**
 * @param countQueues rejects, or waits for ever, where the queues do not answer
 * @param longestReadMs what has not answered by then is down
 */
export function openMetrics(
  context: FlowContext & { readonly databaseClock?: DatabaseClock },
  countQueues: () => Promise<readonly QueueState[]>,
  longestReadMs = LONGEST_READ_MS,
): Metrics {
  const { sql, config, clock, databaseClock } = context;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const work = addWorkCounters(registry, config, clock);
  const showState = addStateGauges(registry, config);
  const showClock = addClockGauge(registry, databaseClock);

  const share = <Read>(what: string, everyMs: number, read: () => Promise<Read>) =>
    shareReading(read, { everyMs, longestMs: longestReadMs }, clock, (error) =>
      context.log.warn({ error: describeError(error) }, `the metrics lack ${what}`),
    );
  const readAtHand = share("what is in the database", READ_EVERY_MS, () =>
    readStateAtHand(sql, config, clock.now()),
  );
  const readOver = share("what is over", READ_OVER_EVERY_MS, () => readStateThatIsOver(sql));
  const readQueues = share("the queues", READ_EVERY_MS, countQueues);

  return {
    ...work,
    show: async () => {
      const [atHand, over, queues] = await Promise.all([readAtHand(), readOver(), readQueues()]);
      showState({ atHand, over, queues }, clock.now());
      showClock();
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** Of this worker, unlike the state of the whole; what is not known has no value. */
function addClockGauge(registry: Registry, clock: DatabaseClock | undefined): () => void {
  const gauge = new Gauge({
    name: "recon_clock_ahead_seconds",
    help: "By how much this worker's clock is ahead of the database's; beyond 5 either way it does no work.",
    registers: [registry],
  });
  return () => {
    gauge.reset();
    const aheadMs = clock?.aheadMs() ?? null;
    if (aheadMs === null) gauge.remove();
    else gauge.set(aheadMs / 1000);
  };
}

/** `GET /metrics`, open to whoever reaches the port, as the health checks are. Without metrics there is nothing there. */
export function addMetrics(app: FastifyInstance, metrics: Metrics | undefined): void {
  if (metrics === undefined) return;
  app.get("/metrics", async (_request, reply) => {
    const { type, text } = await metrics.show();
    return await reply.type(type).send(text);
  });
}
