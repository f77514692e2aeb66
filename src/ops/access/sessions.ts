/**
 * Sessions of the dashboard: a cookie stands for a token, so the user types the token once and nothing stores it.
 * The session proves the token by an HMAC keyed with the cookie's value: a reader of the database can neither sign in nor
 * guess tokens offline. A removed or changed token ends its sessions.
 */

import { createHash, randomBytes } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { endSession, findSession, insertSession } from "../../access/session-store.ts";
import type { FlowContext } from "../../flows/context.ts";
import { cameByHttps } from "../http/same-origin.ts";
import { type KnownTokens, type OpsToken, proveToken } from "./tokens.ts";

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
