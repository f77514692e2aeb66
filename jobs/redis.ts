/** The connections to Redis, and what makes sure that work can use them (docs/operations.md#outages). */

import { Redis, type RedisOptions } from "ioredis";
import { explainTls } from "../src/certificates.ts";
import { systemClock } from "../src/clock.ts";
import { describeError, ReconError } from "../src/errors.ts";
import { endsInTime } from "../src/in-time.ts";
import { nameRedis, readRedisUrl } from "../src/redis-url.ts";

/** What BullMQ takes by itself. */
export const DEFAULT_PREFIX = "bull";

/** The Redis address and key prefix of an installation. */
export interface RedisPlace {
  readonly redisUrl: string;
  /** of every key of the queues */
  readonly prefix: string;
  /** null: it is not written, and any other is accepted */
  readonly installationId: string | null;
}

const CONNECTION = {
  // BullMQ waits for Redis itself, so commands have no retry limit.
  maxRetriesPerRequest: null,
  lazyConnect: true,
  // After a failover behind one name the connection leads to the old primary, which is a replica now. A new connection
  // leads to the new one. The command that was refused is not sent again: its error says what is wrong.
  reconnectOnError: ({ message }: Error) => /READONLY|UNBLOCKED/.test(message),
  // A server that hangs closes no connection. An idle connection of a worker waits 10 s at most for its next job.
  socketTimeout: 20_000,
} satisfies RedisOptions;

/** The longest wait for an answer over connections in use: `/readyz` answers within 15 seconds even if Redis hangs. */
const LONGEST_CHECK_MS = 10_000;
/** The same for a connection of its own. */
const LONGEST_PROBE_MS = 3_000;
const LOOK_AGAIN_MS = 100;
/** Errors of a missing or wrong password, or of missing rights: waiting does not help. */
const LASTING_REFUSAL = /^(NOAUTH|WRONGPASS|NOPERM)/;

export interface QueueConnection {
  /** for queues and workers, which make duplicates of it that wait for jobs */
  readonly redis: Redis;
  /**
   * Writes, and makes sure that the duplicates are connected too.
   * @throws ReconError `queue-unreachable` or `redis-shared`, which never show the password
   */
  check(): Promise<void>;
}

export function openQueueConnection(place: RedisPlace, report: (error: unknown) => void): QueueConnection {
  const redis = new Redis({ ...CONNECTION, ...placeOptions(place) });
  let failure: unknown = null;
  redis.on("error", (error) => {
    failure = error;
    report(error);
  });
  redis.on("ready", () => {
    failure = null;
  });
  const waiting = new Set<Redis>();
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (options) => {
    const one = duplicate(options);
    waiting.add(one);
    return one;
  };
  let underWay: Promise<void> | null = null;
  const check = async () => {
    await refuseCluster(redis, place);
    await claim(redis, place);
    while ([...waiting].some(({ status }) => status !== "ready")) await systemClock.sleep(LOOK_AGAIN_MS);
  };
  return {
    redis,
    check: async () => {
      // Callers share it, so that a server that hangs piles up nothing.
      underWay ??= check().finally(() => {
        underWay = null;
      });
      try {
        if (await endsInTime(underWay, LONGEST_CHECK_MS)) return;
      } catch (error) {
        throw explain(place, error);
      }
      throw unreachable(place, failure ?? new Error(`no answer for ${LONGEST_CHECK_MS / 1000} s`));
    },
  };
}

/**
 * Checks over a connection of its own that Redis takes writes, and that no other installation uses it.
 * @throws ReconError `queue-unreachable` or `redis-shared`, which never show the password
 */
export async function checkRedis(place: RedisPlace): Promise<void> {
  await askRedis(place, (probe) => claim(probe, place));
}

export interface RedisFacts {
  /** "7.0.15" */
  readonly version: string;
  /** `maxmemory-policy`: any other value than noeviction can lose jobs */
  readonly evictionPolicy: string;
}

/** Writes too, but does not claim Redis for the installation. @throws ReconError as `checkRedis` */
export async function readRedisFacts(place: RedisPlace): Promise<RedisFacts> {
  const info = await askRedis(place, async (probe) => {
    await claim(probe, { ...place, installationId: null });
    refuseOther(place, await probe.get(keyOf(place)));
    return await probe.info();
  });
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "unknown";
  return { version: read("redis_version"), evictionPolicy: read("maxmemory_policy") };
}

function keyOf({ prefix }: RedisPlace): string {
  return `${prefix}:installation`;
}

/** Redis refuses this write as it refuses every other one, also when the key is there already. */
async function claim(redis: Redis, place: RedisPlace): Promise<void> {
  const { installationId, prefix } = place;
  if (installationId === null) await redis.set(`${prefix}:written`, "", "PX", 1);
  else if ((await redis.set(keyOf(place), installationId, "NX")) === null)
    refuseOther(place, await redis.get(keyOf(place)));
}

function refuseOther(place: RedisPlace, owner: string | null): void {
  const { redisUrl, installationId, prefix } = place;
  const { master } = readRedisUrl(redisUrl);
  if (owner === null || installationId === null || owner === installationId) return;
  throw new ReconError(
    "redis-shared",
    `Redis at ${addressOf(place)} has the queues of another installation (${owner}; this one is ${installationId}), and each would slow the other. Set REDIS_PREFIX, or use another Redis or another of its databases (${master === null ? "redis://host:6379/1" : `redis+sentinel://…/${master}/1`}). If the other installation does not use it any more: redis-cli del ${prefix}:installation`,
  );
}

async function askRedis<Answer>(
  place: RedisPlace,
  question: (probe: Redis) => Promise<Answer>,
): Promise<Answer> {
  const probe = new Redis({
    ...placeOptions(place),
    lazyConnect: true,
    sentinelRetryStrategy: () => null,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: LONGEST_PROBE_MS,
    commandTimeout: LONGEST_PROBE_MS,
  });
  // The rejected command reports the failure; without a listener ioredis prints it too.
  let failure: unknown = null;
  probe.on("error", (error: Error) => {
    failure = error;
  });
  try {
    await probe.connect();
    await refuseCluster(probe, place);
    return await question(probe);
  } catch (error) {
    throw explain(place, error instanceof ReconError ? error : (failure ?? error));
  } finally {
    probe.disconnect();
  }
}

/** Redis answered with an error: it works, and refuses. */
const REFUSED_WRITE = /^(OOM|READONLY|MISCONF|NOREPLICAS|LOADING|MASTERDOWN)/;

function explain(place: RedisPlace, error: unknown): ReconError {
  if (error instanceof ReconError) return error;
  const reason = describeError(error);
  if (reason.startsWith("WRONGTYPE")) {
    return new ReconError(
      "queue-unreachable",
      `Redis at ${addressOf(place)}: the key ${keyOf(place)} is not what wallet-recon writes there. Run redis-cli del ${keyOf(place)}, and find out which program wrote it.`,
      { cause: error, retryable: true },
    );
  }
  if (!REFUSED_WRITE.test(reason)) return unreachable(place, error);
  return new ReconError("queue-unreachable", `Redis at ${addressOf(place)} refuses writes: ${reason}`, {
    cause: error,
    retryable: true,
  });
}

/** What a client without a certificate sees, depending on whether the alert or the end of the connection arrives first. */
const HUNG_UP = /ECONNRESET|EPIPE|Connection is closed/;
const CERTIFICATE_HINT =
  " If it asks for a client certificate, let it accept clients without one (tls-auth-clients no).";

function unreachable(place: RedisPlace, error: unknown): ReconError {
  const reason = describeError(error);
  const tls = explainTls(error);
  const hint = HUNG_UP.test(reason) && readRedisUrl(place.redisUrl).tls ? CERTIFICATE_HINT : "";
  const problem =
    tls === null
      ? `does not answer: ${reason}. Check REDIS_URL and that Redis runs.${hint}`
      : `cannot be used: ${tls}.`;
  return new ReconError("queue-unreachable", `Redis at ${addressOf(place)} ${problem}`, {
    cause: error,
    retryable: !LASTING_REFUSAL.test(reason),
  });
}

function addressOf({ redisUrl }: RedisPlace): string {
  return nameRedis(readRedisUrl(redisUrl));
}

/** What ioredis needs to find and enter the server. */
function placeOptions({ redisUrl }: RedisPlace) {
  const { hosts, master, tls, username, password, sentinelPassword, db } = readRedisUrl(redisUrl);
  const shared = {
    db,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
  if (master === null) return { ...shared, ...hosts[0], ...(tls ? { tls: {} } : {}) };
  return {
    ...shared,
    sentinels: hosts.map((one) => ({ ...one })),
    name: master,
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  };
}

/** BullMQ's scripts touch keys of several slots. A user that may not ask hears it from Redis at the first script. */
async function refuseCluster(redis: Redis, place: RedisPlace): Promise<void> {
  const info = await redis.info("cluster").catch((error: unknown) => {
    if (describeError(error).startsWith("NOPERM")) return "";
    throw error;
  });
  if (!/^cluster_enabled:1/m.test(info)) return;
  throw new ReconError(
    "queue-unreachable",
    `Redis at ${addressOf(place)} is a Redis Cluster, which is not supported. Use a Redis without cluster mode, or sentinels (redis+sentinel://host:26379/master).`,
  );
}
