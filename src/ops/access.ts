/** Who may use the ops server: bearer tokens; without any, this machine alone. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isLoopback, type Settings } from "../config.ts";
import { sendProblem } from "./problem.ts";

type Tokens = Settings["ops"]["tokens"];

/** A hook that lets a request through or answers it with 401 or 403. */
export function guardAccess(tokens: Tokens) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (tokens.length > 0) {
      if (findToken(tokens, request.headers.authorization) !== null) return;
      reply.header("www-authenticate", "Bearer");
      await sendProblem(reply, 401, "Unauthorized", "a bearer token of OPS_TOKENS is needed");
      return;
    }
    // A page of another site could reach a loopback port through its visitor's browser; Host and Origin betray it.
    const { host, origin } = request.headers;
    if (isOwnHost(host) && (origin === undefined || (URL.canParse(origin) && isOwnHost(new URL(origin).host)))) return;
    await sendProblem(reply, 403, "Forbidden", "without OPS_TOKENS only this machine is served, by its own name");
  };
}

/** Compares digests, so that neither the token nor its length can be timed. */
function findToken(tokens: Tokens, header: string | undefined): Tokens[number] | null {
  const given = digest(/^Bearer (.+)$/.exec(header ?? "")?.[1] ?? "");
  let found: Tokens[number] | null = null;
  for (const token of tokens) {
    if (timingSafeEqual(digest(token.token), given)) found = token;
  }
  return found;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function isOwnHost(host: string | undefined): boolean {
  return isLoopback((host ?? "").replace(/:\d+$/, ""));
}
