/** Where the queues live: Redis where there is one, else the same PostgreSQL as everything else. */

import { createPostgresBackend, type Processor, Queue, Worker, type WorkerOptions } from "bullmq";
import { Redis } from "ioredis";
import { describeError, ReconError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";

/** Every job names its product. */
export interface JobData {
  readonly productId: string;
}

export type JobQueue = Queue<JobData, void, string>;
export type JobWorker = Worker<JobData, void, string>;

export interface QueueBackend {
  openQueue(name: string): JobQueue;
  openWorker(name: string, run: Processor<JobData, void, string>, concurrency: number): JobWorker;
  /** @throws ReconError `queue-unreachable` */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Finished jobs are kept for a look at what ran, not as truth: that lives in PostgreSQL. */
const KEEP = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1000 } };

/**
 * A job whose worker was lost runs again after this and up to two checks. Until then its product may have no next
 * tick: together they must stay below the minute within which work goes on.
 */
const LOCK_MS = 20_000;
const STALLED_CHECK_MS = 10_000;

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
      return listen(worker, log) as unknown as JobWorker;
    },
    // The database is checked by who opened it.
    check: async () => {},
    close: async () => {},
  };
}

function openRedisBackend(redisUrl: string, log: Log): QueueBackend {
  // BullMQ waits for Redis itself, so a command is never given up.
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, lazyConnect: true });
  connection.on("error", (error: Error) => log.warn({ error: describeError(error) }, "Redis does not answer"));
  return {
    openQueue: (name) => listen(new Queue<JobData, void, string>(name, { connection, defaultJobOptions: KEEP }), log),
    openWorker: (name, run, concurrency) =>
      listen(new Worker<JobData, void, string>(name, run, { connection, ...workerOptions(concurrency) }), log),
    check: () => checkRedis(redisUrl),
    close: async () => {
      connection.disconnect();
    },
  };
}

function workerOptions(concurrency: number): Omit<WorkerOptions, "connection"> {
  return { concurrency, ...KEEP, lockDuration: LOCK_MS, stalledInterval: STALLED_CHECK_MS };
}

async function checkRedis(redisUrl: string): Promise<void> {
  const probe = new Redis(redisUrl, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
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
