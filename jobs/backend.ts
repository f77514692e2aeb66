/** Where the queues live: Redis where there is one, else the same PostgreSQL as everything else. */

import {
  createPostgresBackend,
  type PgPool,
  type Processor,
  Queue,
  runMigrations,
  type Telemetry,
  Worker,
  type WorkerOptions,
} from "bullmq";
import { Redis } from "ioredis";
import { openQueuePool } from "../src/db/queue-pool.ts";
import { describeError, ReconError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";
import { reportRepeatedErrors } from "./report-repeated-errors.ts";

/** A job that is about one product. */
export interface ProductJob {
  readonly productId: string;
  /** of a comparison that takes several turns, 1 and 2 by turns; undefined: the scheduled one */
  readonly turn?: number;
}

/** A job that is about whatever is due, of any product. */
type Tick = Readonly<Record<string, never>>;

export type JobData = ProductJob | Tick;
export type JobQueue = Queue<JobData, void, string>;
export type JobWorker = Pick<Worker, "close" | "waitUntilReady" | "pause" | "resume">;

export interface QueueBackend {
  openQueue(name: string): JobQueue;
  openWorker<Data extends JobData>(
    name: string,
    run: Processor<Data, void, string>,
    concurrency: number,
  ): JobWorker;
  /** @throws ReconError `queue-unreachable` */
  check(): Promise<void>;
  /** Closes what queues and workers share, and breaks what is still in use: whoever waits for an answer gets none. */
  close(): Promise<void>;
}

/** Finished jobs are kept for a look at what ran, not as truth: that lives in PostgreSQL. */
const KEEP = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1000 } };

/**
 * @param redisUrl null: BullMQ's own PostgreSQL backend, in the schema `bullmq` of the database
 * @param telemetry hears of every job; without it nothing is traced
 */
export function openBackend(
  redisUrl: string | null,
  databaseUrl: string,
  log: Log,
  telemetry?: Telemetry,
): QueueBackend {
  const traced = telemetry === undefined ? {} : { telemetry };
  return redisUrl === null
    ? openPostgresBackend(databaseUrl, log, traced)
    : openRedisBackend(redisUrl, log, traced);
}

/** What queues and workers get beside their connection. */
type Traced = Pick<WorkerOptions, "telemetry">;

/** In which BullMQ's tables lie; where it is given a pool it knows no other. */
const SCHEMA = "bullmq";

function openPostgresBackend(databaseUrl: string, log: Log, traced: Traced): QueueBackend {
  const report = reportRepeatedErrors(log, "the queues report an error");
  const { pool, close } = openQueuePool(
    databaseUrl,
    SCHEMA,
    (client) => runMigrations(client, SCHEMA),
    report,
  );
  const connection = pool as PgPool;
  return {
    openQueue: (name) => {
      const queue = new Queue(
        name,
        { connection, defaultJobOptions: KEEP, ...traced },
        createPostgresBackend,
      );
      return listen(queue, report) as unknown as JobQueue;
    },
    openWorker: (name, run, concurrency) => {
      const options = { connection, ...workerOptions(concurrency), ...traced };
      const worker = new Worker(name, run, options, createWatchfulBackend);
      return listen(worker, report);
    },
    // The database is checked by who opened it.
    check: async () => {},
    close,
  };
}

/**
 * A worker waits for its next job by its own clock. After that was set back it would wait for as long as it was set back,
 * up to an hour and even where it is right again; so it looks this often, and in Redis every ten seconds.
 */
export const LONGEST_WAIT_SECONDS = 4;

const createWatchfulBackend: typeof createPostgresBackend = (...args) =>
  Object.defineProperty(createPostgresBackend(...args), "maximumBlockTimeout", {
    value: LONGEST_WAIT_SECONDS,
  });

function openRedisBackend(redisUrl: string, log: Log, traced: Traced): QueueBackend {
  // BullMQ waits for Redis itself, so a command is never given up.
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, lazyConnect: true });
  const report = reportRepeatedErrors(log, "the queues report an error of Redis");
  connection.on("error", report);
  return {
    openQueue: (name) =>
      listen(
        new Queue<JobData, void, string>(name, { connection, defaultJobOptions: KEEP, ...traced }),
        report,
      ),
    openWorker: (name, run, concurrency) =>
      listen(new Worker(name, run, { connection, ...workerOptions(concurrency), ...traced }), report),
    check: () => checkRedis(redisUrl),
    close: async () => {
      connection.disconnect();
    },
  };
}

/** After a broken connection a worker asks for jobs again this soon; until then it can neither work nor be closed. */
const RETRY_MS = 1_000;

function workerOptions(concurrency: number): Omit<WorkerOptions, "connection"> {
  return { concurrency, runRetryDelay: RETRY_MS, ...KEEP };
}

/** A Redis that takes connections but never answers is as good as none. */
const LONGEST_CHECK_MS = 3_000;
/** A password that is missing, wrong or not enough: waiting mends none of it. */
const LASTING_REFUSAL = /^(NOAUTH|WRONGPASS|NOPERM)/;

/** @throws ReconError `queue-unreachable` that names the host, never the password */
export async function checkRedis(redisUrl: string): Promise<void> {
  await askRedis(redisUrl, (probe) => probe.ping());
}

export interface RedisFacts {
  /** "7.0.15" */
  readonly version: string;
  /** `maxmemory-policy`: with any other than noeviction jobs can vanish */
  readonly evictionPolicy: string;
}

/** @throws ReconError `queue-unreachable` that names the host, never the password */
export async function readRedisFacts(redisUrl: string): Promise<RedisFacts> {
  const info = await askRedis(redisUrl, (probe) => probe.info());
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "unknown";
  return { version: read("redis_version"), evictionPolicy: read("maxmemory_policy") };
}

async function askRedis<Told>(redisUrl: string, question: (probe: Redis) => Promise<Told>): Promise<Told> {
  const probe = new Redis(redisUrl, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: LONGEST_CHECK_MS,
    commandTimeout: LONGEST_CHECK_MS,
  });
  // The failure is told by the rejected command; without a listener ioredis prints it as well.
  let failure: unknown = null;
  probe.on("error", (error: Error) => {
    failure = error;
  });
  try {
    await probe.connect();
    return await question(probe);
  } catch (error) {
    const { host } = new URL(redisUrl);
    const reason = describeError(failure ?? error);
    throw new ReconError(
      "queue-unreachable",
      `Redis at ${host} does not answer: ${reason}. Check REDIS_URL and that Redis runs.`,
      { cause: error, retryable: !LASTING_REFUSAL.test(reason) },
    );
  } finally {
    probe.disconnect();
  }
}

/** An unheard error event would end the process. */
function listen<Emitter extends { on(event: "error", heard: (error: Error) => void): unknown }>(
  emitter: Emitter,
  report: (error: unknown) => void,
): Emitter {
  emitter.on("error", report);
  return emitter;
}
