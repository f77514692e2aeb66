/** The backend of the queues: Redis where REDIS_URL is set, otherwise PostgreSQL. */

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

/** A job about one product. */
export interface ProductJob {
  readonly productId: string;
  /** of a comparison with several turns: 1 and 2 alternate; undefined: the scheduled job */
  readonly turn?: number;
}

/** A job about everything that is due, of all products. */
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
  /** Closes the connections of queues and workers, even those in use: pending commands get no answer. */
  close(): Promise<void>;
}

/** Finished jobs stay for people who want to see what ran. PostgreSQL holds all state. */
const KEEP = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1000 } };

/**
 * @param redisUrl null: BullMQ's own PostgreSQL backend, in the schema `bullmq` of the database
 * @param telemetry receives the spans of all jobs; without it there are no traces
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

/** The options of queues and workers besides their connection. */
type Traced = Pick<WorkerOptions, "telemetry">;

/** The schema of BullMQ's tables; with a given pool BullMQ supports no other name. */
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
    // The queues are in the database, which has a check of its own.
    check: async () => {},
    close,
  };
}

/**
 * The longest wait of a worker for its next job. BullMQ waits by the machine's clock: after the clock was set back,
 * it would wait for as long, up to an hour (decision 132). With Redis, BullMQ itself asks every ten seconds.
 */
export const LONGEST_WAIT_SECONDS = 4;

const createWatchfulBackend: typeof createPostgresBackend = (...args) =>
  Object.defineProperty(createPostgresBackend(...args), "maximumBlockTimeout", {
    value: LONGEST_WAIT_SECONDS,
  });

function openRedisBackend(redisUrl: string, log: Log, traced: Traced): QueueBackend {
  // BullMQ waits for Redis itself, so commands have no retry limit.
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

/** The wait of a worker after a broken connection. During the wait the worker can neither work nor close. */
const RETRY_MS = 1_000;

function workerOptions(concurrency: number): Omit<WorkerOptions, "connection"> {
  return { concurrency, runRetryDelay: RETRY_MS, ...KEEP };
}

/** The longest wait for an answer of a Redis that accepts connections. */
const LONGEST_CHECK_MS = 3_000;
/** Errors of a missing or wrong password, or of missing rights: waiting does not help. */
const LASTING_REFUSAL = /^(NOAUTH|WRONGPASS|NOPERM)/;

/** @throws ReconError `queue-unreachable` that names the host, never the password */
export async function checkRedis(redisUrl: string): Promise<void> {
  await askRedis(redisUrl, (probe) => probe.ping());
}

export interface RedisFacts {
  /** "7.0.15" */
  readonly version: string;
  /** `maxmemory-policy`: any other value than noeviction can lose jobs */
  readonly evictionPolicy: string;
}

/** @throws ReconError `queue-unreachable` that names the host, never the password */
export async function readRedisFacts(redisUrl: string): Promise<RedisFacts> {
  const info = await askRedis(redisUrl, (probe) => probe.info());
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "unknown";
  return { version: read("redis_version"), evictionPolicy: read("maxmemory_policy") };
}

async function askRedis<Answer>(
  redisUrl: string,
  question: (probe: Redis) => Promise<Answer>,
): Promise<Answer> {
  const probe = new Redis(redisUrl, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: LONGEST_CHECK_MS,
    commandTimeout: LONGEST_CHECK_MS,
  });
  // The rejected command reports the failure; without a listener ioredis prints it too.
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

/** An error event without a listener would end the process. */
function listen<Emitter extends { on(event: "error", heard: (error: Error) => void): unknown }>(
  emitter: Emitter,
  report: (error: unknown) => void,
): Emitter {
  emitter.on("error", report);
  return emitter;
}
