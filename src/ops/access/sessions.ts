/**
 * The tokens of OPS_TOKENS, which are compared in constant time, and sessions of the dashboard: a cookie stands for a token, so the user types the token once and nothing stores it.
 * The session proves the token by an HMAC keyed with the cookie's value: a reader of the database can neither sign in nor
 * guess tokens offline. A removed or changed token ends its sessions.
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { endSession, findSession, insertSession } from "../../access/session-store.ts";
import type { Settings } from "../../config.ts";
import type { FlowContext } from "../../flows/context.ts";
import { cameByHttps } from "../http/same-origin.ts";

const COOKIE = "recon_session";
const ID_BYTES = 32;
const HOUR_MS = 3_600_000;
/** A working day; afterwards the user signs in again. */
const SESSION_MS = 12 * HOUR_MS;

export interface Sessions {
  /** Begins a session, and ends the visitor's former one. */
  begin(request: FastifyRequest, reply: FastifyReply, token: OpsToken): Promise<void>;
  /**
   * @returns the token of the visitor's session; null: there is no session, it has ended, or its token was removed
   */
  find(request: FastifyRequest): Promise<OpsToken | null>;
  /** Ends the visitor's session, on every worker. */
  end(request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

export function openSessions({ sql, clock }: FlowContext, tokens: KnownTokens): Sessions {
  const endOf = async (request: FastifyRequest) => {
    const id = request.cookies[COOKIE];
    if (id !== undefined) await endSession(sql, hashOf(id), clock.now());
  };
  return {
    begin: async (request, reply, token) => {
      await endOf(request);
      const id = randomBytes(ID_BYTES).toString("base64url");
      const now = clock.now();
      const session = { idHash: hashOf(id), name: token.name, tokenProof: proveToken(token, id) };
      await insertSession(sql, { ...session, expiresAt: now + SESSION_MS }, now);
      reply.setCookie(COOKIE, id, { ...cookieOptions(request), maxAge: SESSION_MS / 1000 });
    },
    find: async (request) => {
      const id = request.cookies[COOKIE];
      if (id === undefined) return null;
      const session = await findSession(sql, hashOf(id), clock.now());
      return session === null ? null : tokens.findByProof(session.name, session.tokenProof, id);
    },
    end: async (request, reply) => {
      await endOf(request);
      reply.clearCookie(COOKIE, cookieOptions(request));
    },
  };
}

function cookieOptions(request: FastifyRequest) {
  return { httpOnly: true, sameSite: "strict", path: "/", secure: cameByHttps(request) } as const;
}

function hashOf(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}

export type OpsToken = Settings["ops"]["tokens"][number];

export interface KnownTokens {
  /** false: the server answers only this machine */
  readonly areSet: boolean;
  /** @returns null if no token matches */
  find(given: string): OpsToken | null;
  /** The token of a session; null: the token was removed or changed. */
  findByProof(name: string, proof: string, sessionId: string): OpsToken | null;
}

/** Digests have one length, and every token is compared even after a match. */
export function openTokens(tokens: readonly OpsToken[]): KnownTokens {
  const known = tokens.map((token) => ({ token, digest: digest(token.token) }));
  return {
    areSet: tokens.length > 0,
    find: (given) => {
      const digestGiven = digest(given);
      let found: OpsToken | null = null;
      for (const one of known) {
        if (timingSafeEqual(one.digest, digestGiven)) found = one.token;
      }
      return found;
    },
    findByProof: (name, proof, sessionId) => {
      const mine = tokens.filter((token) => token.name === name);
      return mine.find((token) => isEqual(proveToken(token, sessionId), proof)) ?? null;
    },
  };
}

/**
 * Proves the token of a session. The key is the session's id, which only the cookie contains, so a reader of the
 * database cannot test tokens against the proof (56).
 */
function proveToken({ token }: OpsToken, sessionId: string): string {
  return createHmac("sha256", sessionId).update(token).digest("base64url");
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
