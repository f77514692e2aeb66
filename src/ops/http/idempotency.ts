/** `Idempotency-Key` on the POSTs of the API: a repeated request gets the first answer again, and does nothing (docs/api.md#repeat-a-request). */

import { createHash, randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  CLAIM_MS,
  claimKey,
  type KeptAnswer,
  type KeyedRequest,
  keepAnswer,
  releaseKey,
  renewClaim,
} from "../../access/idempotency-store.ts";
import { monotonicMs, systemClock } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { SentLines } from "./sent-lines.ts";

const KEY = /^[\x21-\x7e]{1,255}$/;
const LONGEST_WAIT_MS = 10_000;
const RENEW_EVERY_MS = CLAIM_MS / 4;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
/** A longer answer is not kept. Only actions have such ones, which may be repeated without a key. */
const LONGEST_ANSWER = 1024 * 1024;

interface Claim {
  readonly keyed: KeyedRequest;
  readonly claim: string;
}

const claims = new WeakMap<FastifyRequest, Claim>();

/**
 * Must be called before the routes are added, and before anything that changes what `send` was given.
 * @param api a scope with access rules
 * @param times how long a repetition waits for the first request, and how often a request that runs renews its claim
 */
export function addIdempotency(
  api: FastifyInstance,
  { sql, clock, log }: FlowContext,
  { longestWaitMs = LONGEST_WAIT_MS, renewEveryMs = RENEW_EVERY_MS } = {},
): void {
  api.addHook("onRoute", (route) => {
    if (route.method !== "POST" || route.config?.isReading === true) return;
    route.schema = { ...route.schema, headers: HEADERS };
    const { handler } = route;
    route.handler = async function whileRenewed(request, reply) {
      const held = claims.get(request);
      if (held === undefined) return await handler.call(this, request, reply);
      const renew = () =>
        renewClaim(sql, held.keyed, held.claim, clock.now()).catch((error: unknown) => {
          log.warn(
            { url: request.url, error: describeError(error) },
            "an Idempotency-Key could not be renewed: the worker tries again",
          );
        });
      const timer = setInterval(renew, renewEveryMs).unref();
      try {
        return await handler.call(this, request, reply);
      } finally {
        clearInterval(timer);
      }
    };
  });
  api.addHook("preHandler", async (request, reply) => {
    if (request.method !== "POST" || request.routeOptions.config.isReading === true) return;
    const key = readKey(request);
    if (key === null) return;
    const keyed = { id: identityOf(request, key), bodyHash: hashOfContent(request) };
    const claim = randomUUID();
    const claimNow = () => claimKey(sql, keyed, claim, clock.now());
    const found = await claimOrWait(claimNow, reply, key, monotonicMs() + longestWaitMs);
    if (found === "claimed") claims.set(request, { keyed, claim });
    else return await replay(reply, found);
  });
  api.addHook("onSend", async (request, reply, payload) => {
    const held = claims.get(request);
    if (held === undefined) return;
    const { keyed, claim } = held;
    // What says "try again later" must not be the answer to all that is sent then.
    const isFinal = reply.statusCode < 500 && !reply.hasHeader("retry-after");
    const isShort = typeof payload === "string" && payload.length <= LONGEST_ANSWER;
    try {
      if (isFinal && isShort) {
        const kept = { status: reply.statusCode, answer: payload, location: locationOf(reply) };
        await keepAnswer(sql, keyed, claim, kept);
      } else await releaseKey(sql, keyed, claim);
    } catch (error) {
      const { asker, url } = request;
      log.error(
        { who: asker.name, url, error: describeError(error) },
        "an answer could not be kept for its Idempotency-Key",
      );
    }
  });
}

/** What the document says of the header. */
const HEADERS = {
  type: "object",
  properties: {
    "idempotency-key": {
      type: "string",
      minLength: 1,
      maxLength: 255,
      description: "a repetition within 24 hours gets the first answer again, and does nothing",
    },
  },
} as const;

/**
 * Stores the answer in the transaction that creates something, so that a crash between the two cannot create it twice. Does nothing if
 * the request has no key.
 * @throws ReconError `idempotency-key-in-use` if another request took the key over meanwhile
 */
export async function keepWith(
  tx: Query,
  request: FastifyRequest,
  status: number,
  answer: unknown,
  location: string | null = null,
): Promise<void> {
  const held = claims.get(request);
  if (held === undefined) return;
  const { keyed, claim } = held;
  const isOwn = await keepAnswer(tx, keyed, claim, { status, answer: JSON.stringify(answer), location });
  if (!isOwn) throw inUse("another request with it");
}

/** @returns null: there is no such header @throws ReconError `usage` */
function readKey({ headers }: FastifyRequest): string | null {
  const key = headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key === "string" && KEY.test(key)) return key;
  const message = `Idempotency-Key must be 1 to 255 printable ASCII characters without spaces, but is "${String(key).slice(0, 60)}"`;
  throw new ReconError("usage", message, { fields: [{ name: "Idempotency-Key", message }] });
}

/** Keys of different people and paths are different keys. */
function identityOf({ asker, method, url }: FastifyRequest, key: string): string {
  return digest(JSON.stringify([asker.by, asker.name, method, url.split("?")[0], key]));
}

function hashOfContent({ body, query }: FastifyRequest): string {
  // The JSON of lines says only how many there are.
  const content = body instanceof SentLines ? body.bytes : (JSON.stringify(body) ?? "");
  return digest(JSON.stringify(query ?? {}), content);
}

function digest(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url");
}

type Found = Awaited<ReturnType<typeof claimKey>>;

/** @throws ReconError `idempotency-key-reused`; `idempotency-key-in-use` after a wait */
async function claimOrWait(
  claim: () => Promise<Found>,
  reply: FastifyReply,
  key: string,
  until: number,
): Promise<"claimed" | KeptAnswer> {
  for (let pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const found = await claim();
    if (found === "other-body") {
      throw new ReconError(
        "idempotency-key-reused",
        `the Idempotency-Key "${key}" was sent with another body or query before: nothing was done. Use a new key`,
      );
    }
    if (found !== "in-use") return found;
    if (monotonicMs() >= until || reply.raw.destroyed) {
      reply.header("retry-after", 1);
      throw inUse(`the first request with the Idempotency-Key "${key}"`);
    }
    await systemClock.sleep(pauseMs);
  }
}

function inUse(what: string): ReconError {
  const message = `${what} has not ended yet: repeat this one later with the same key`;
  return new ReconError("idempotency-key-in-use", message, { retryable: true });
}

async function replay(reply: FastifyReply, { status, answer, location }: KeptAnswer): Promise<FastifyReply> {
  if (location !== null) reply.header("location", location);
  const type = status < 400 ? "application/json; charset=utf-8" : "application/problem+json";
  return await reply.code(status).header("idempotency-replayed", "true").type(type).send(answer);
}

function locationOf(reply: FastifyReply): string | null {
  const location = reply.getHeader("location");
  return typeof location === "string" ? location : null;
}
