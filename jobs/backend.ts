/** Where the queues live: Redis where there is one, else the same PostgreSQL as everything else. */

import { createPostgresBackend, type Processor, Queue, Worker, type WorkerOptions } from "bullmq";
import { Redis } from "ioredis";
import { describeError, ReconError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";

/** A job that is about one product. */
export interface ProductJob {
  readonly productId: string;
}

/** A job that is about whatever is due, of any product. */
type Tick = Readonly<Record<string, never>>;

export type JobData = ProductJob | Tick;
export type JobQueue = Queue<JobData, void, string>;
export type JobWorker = Pick<Worker, "close" | "waitUntilReady">;

export interface QueueBackend {
  openQueue(name: string): JobQueue;
  openWorker<Data extends JobData>(
    name: string,
    run: Processor<Data, void, string>,
    concurrency: number,
  ): JobWorker;
  /** @throws ReconError `queue-unreachable` */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Finished jobs are kept for a look at what ran, not as truth: that lives in PostgreSQL. */
const KEEP = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1000 } };

/** @param redisUrl null: BullMQ's own PostgreSQL backend, in the schema `bullmq` of the database */
export function openBackend(redisUrl: string | null, databaseUrl: string, log: Log): QueueBackend {
  return redisUrl === null ? openPostgresBackend(databaseUrl, log) : openRedisBackend(redisUrl, log);
}

function openPostgresBackend(connectionString: string, log: Log): QueueBackend {
  const connection = { connectionString, migrate: true, max: 4, application_name: "wallet-recon queues" };
  return {
    openQueue: (name) => {
      const queue = new Queue(name, { connection, defaultJobOptions: KEEP }, createPostgresBackend);
      return listen(queue, log) as unknown as JobQueue;
    },
    openWorker: (name, run, concurrency) => {
      const options = { connection, ...workerOptions(concurrency) };
      const worker = new Worker(name, run, options, createPostgresBackend);
      return listen(worker, log);
    },
    // The database is checked by who opened it.
    check: async () => {},
    close: async () => {},
  };
}

function openRedisBackend(redisUrl: string, log: Log): QueueBackend {
  // BullMQ waits for Redis itself, so a command is never given up.
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, lazyConnect: true });
  connection.on("error", (error: Error) =>
    log.warn({ error: describeError(error) }, "Redis does not answer"),
  );
  return {
    openQueue: (name) =>
      listen(new Queue<JobData, void, string>(name, { connection, defaultJobOptions: KEEP }), log),
    openWorker: (name, run, concurrency) =>
      listen(new Worker(name, run, { connection, ...workerOptions(concurrency) }), log),
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

async function checkRedis(redisUrl: string): Promise<void> {
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
    await probe.ping();
  } catch (error) {
    const { host } = new URL(redisUrl);
    throw new ReconError(
      "queue-unreachable",
      `Redis at ${host} does not answer: ${describeError(failure ?? error)}. Check REDIS_URL and that Redis runs.`,
      { cause: error, retryable: true },
    );
  } finally {
    probe.disconnect();
  }
}

/** An unheard error event would end the process. */
function listen<Emitter extends { on(event: "error", heard: (error: Error) => void): unknown }>(
  emitter: Emitter,
  log: Log,
): Emitter {
  emitter.on("error", (error) => log.warn({ error: describeError(error) }, "the queue reports an error"));
  return emitter;
}
