/** The backend of the queues: Redis if REDIS_URL is set, otherwise PostgreSQL. */

import {
  type ConnectionOptions,
  createPostgresBackend,
  type IQueueBackend,
  type JobProgress,
  type PgPool,
  type Processor,
  Queue,
  type RedisQueueBackend,
  runMigrations,
  type Telemetry,
  Worker,
  type WorkerOptions,
} from "bullmq";
import { reportRepeatedErrors } from "../src/calm-log.ts";
import { systemClock } from "../src/clock.ts";
import { readDatabaseUrl } from "../src/database-url.ts";
import type { Sql } from "../src/db/client.ts";
import { openQueuePool } from "../src/db/queue-pool.ts";
import type { Log } from "../src/log.ts";
import { DEFAULT_PREFIX, openQueueConnection, type RedisPlace } from "./redis.ts";

/** `failed` jobs are kept for inspection; they do not run again. */
const COUNTED_STATES = ["waiting", "prioritized", "active", "delayed", "failed"] as const;

export interface QueueCounts {
  readonly queue: string;
  readonly jobs: ReadonlyMap<string, number>;
}

/** While the queues are unreachable, this rejects or waits, perhaps for ever. */
export async function countJobs(queues: readonly JobQueue[]): Promise<QueueCounts[]> {
  return await Promise.all(
    queues.map(async (queue) => {
      const counts = await queue.getJobCounts(...COUNTED_STATES);
      return { queue: queue.name, jobs: new Map(COUNTED_STATES.map((state) => [state, counts[state] ?? 0])) };
    }),
  );
}

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
  /**
   * Writes over the connections of queues and workers.
   * @throws ReconError `queue-unreachable`, `redis-shared` or `database-refuses-writes`
   */
  check(): Promise<void>;
  /** Closes the connections of queues and workers, even those in use: pending commands get no answer. */
  close(): Promise<void>;
}

/** Finished jobs are kept so that ops can see what ran. PostgreSQL holds all state. */
const KEEP = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1000 } };

/** What not every user of the queues has. */
export interface BackendParts {
  /** of all keys in Redis; default: that of BullMQ */
  readonly redisPrefix?: string;
  /** is written into Redis, and another installation's is refused; without it neither is done */
  readonly installationId?: string;
  /** receives the spans of all jobs; without it there are no traces */
  readonly telemetry?: Telemetry | undefined;
  /** the pool with whose connections those of queues in PostgreSQL are replaced */
  readonly sql?: Sql;
}

/** @param redisUrl null: BullMQ's own PostgreSQL backend, in the schema `bullmq` of the database */
export function openBackend(
  redisUrl: string | null,
  databaseUrl: string,
  log: Log,
  { redisPrefix = DEFAULT_PREFIX, installationId, telemetry, sql }: BackendParts = {},
): QueueBackend {
  const traced = telemetry === undefined ? {} : { telemetry };
  return redisUrl === null
    ? openPostgresBackend(databaseUrl, log, traced, sql)
    : openRedisBackend(
        { redisUrl, prefix: redisPrefix, installationId: installationId ?? null },
        log,
        traced,
      );
}

/** The options of queues and workers besides their connection. */
type Traced = Pick<WorkerOptions, "telemetry">;

/** The schema of BullMQ's tables; with a given pool BullMQ supports no other name. */
const SCHEMA = "bullmq";
/** Finds no row, and is refused as every other write is. */
const PROOF = `delete from ${SCHEMA}.migration where false`;

function openPostgresBackend(
  databaseUrl: string,
  log: Log,
  traced: Traced,
  sql: Sql | undefined,
): QueueBackend {
  const report = reportRepeatedErrors(log, "the queues report an error");
  const { pool, check, close } = openQueuePool(
    databaseUrl,
    SCHEMA,
    (client) => runMigrations(client, SCHEMA),
    PROOF,
    report,
    sql,
  );
  const connection = pool as PgPool;
  // Two installations in one database share the tables of the queues, but no queue.
  const { schema } = readDatabaseUrl(databaseUrl);
  const nameOf = (name: string) => (schema === "public" ? name : `${schema}.${name}`);
  return {
    openQueue: (name) => {
      const queue = new Queue(
        nameOf(name),
        { connection, defaultJobOptions: KEEP, ...traced },
        createPostgresBackend,
      );
      return listen(queue, report) as unknown as JobQueue;
    },
    openWorker: (name, run, concurrency) => {
      const options = { connection, ...workerOptions(concurrency), ...traced };
      const worker = new PatientWorker(nameOf(name), run, options, createWatchfulBackend);
      return listen(worker, report);
    },
    check,
    close,
  };
}

/**
 * The longest wait of a worker for its next job. BullMQ waits by the machine's clock: after the clock was set back,
 * it would wait for as long, up to an hour. With Redis, BullMQ itself asks every ten seconds.
 */
export const LONGEST_WAIT_SECONDS = 4;

const createWatchfulBackend: typeof createPostgresBackend = (...args) =>
  Object.defineProperty(createPostgresBackend(...args), "maximumBlockTimeout", {
    value: LONGEST_WAIT_SECONDS,
  });

function openRedisBackend(place: RedisPlace, log: Log, traced: Traced): QueueBackend {
  const report = reportRepeatedErrors(log, "the queues report an error of Redis");
  const { redis: connection, check } = openQueueConnection(place, report);
  const options = { connection, prefix: place.prefix, ...traced };
  return {
    openQueue: (name) =>
      listen(new Queue<JobData, void, string>(name, { ...options, defaultJobOptions: KEEP }), report),
    openWorker: (name, run, concurrency) =>
      listen(new PatientWorker(name, run, { ...options, ...workerOptions(concurrency) }), report),
    check,
    close: async () => {
      connection.disconnect();
    },
  };
}

/** The wait of a worker after a broken connection or a refusal. During the wait the worker can neither work nor close. */
const RETRY_MS = 1_000;

/**
 * BullMQ asks again at once after an error of a server that answers: a Redis without memory refused 1,300 requests a
 * second.
 */
class PatientWorker<
  Data extends JobData,
  Backend extends IQueueBackend = RedisQueueBackend,
  Connections = ConnectionOptions,
> extends Worker<Data, void, string, Backend, JobProgress, Connections> {
  protected override async moveToActive(token: string, name?: string) {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      await systemClock.sleep(RETRY_MS);
      throw error;
    }
  }
}

function workerOptions(concurrency: number): Omit<WorkerOptions, "connection"> {
  return { concurrency, runRetryDelay: RETRY_MS, ...KEEP };
}

/** An error event without a listener would end the process. */
function listen<Emitter extends { on(event: "error", heard: (error: Error) => void): unknown }>(
  emitter: Emitter,
  report: (error: unknown) => void,
): Emitter {
  emitter.on("error", report);
  return emitter;
}
