/** Who may use the ops server: bearer tokens; without any, this machine alone. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isLoopback, type Settings } from "../config.ts";
import { sendProblem } from "./problem.ts";

type Tokens = Settings["ops"]["tokens"];

const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * A hook that lets requests with a token through, and answers others with 401; with 403 where the token may only read
 * and the request would change something.
 */
export function requireToken(tokens: Tokens) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const token = findToken(tokens, request.headers.authorization);
    if (token === null) {
      reply.header("www-authenticate", "Bearer");
      await sendProblem(reply, 401, "Unauthorized", "a bearer token of OPS_TOKENS is needed");
    } else if (token.role !== "write" && !READS.has(request.method)) {
      const detail = `the token of "${token.name}" may only read: ${request.method} needs one that may write`;
      await sendProblem(reply, 403, "Forbidden", detail);
    }
  };
}

/**
 * A hook that answers with 403 what this machine did not ask for by its own name: a page of another site could
 * reach a loopback port through its visitor's browser, but Host and Origin betray it.
 */
export async function refuseForeign(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { host, origin } = request.headers;
  if (isOwnHost(host) && (origin === undefined || (URL.canParse(origin) && isOwnHost(new URL(origin).host))))
    return;
  await sendProblem(
    reply,
    403,
    "Forbidden",
    "without OPS_TOKENS only this machine is served, by its own name",
  );
}

/** Who is told of to have done what a request asks for: its token's name; without tokens "local". */
export function nameAsker(tokens: Tokens) {
  return ({ headers }: FastifyRequest): string =>
    tokens.length === 0 ? "local" : (findToken(tokens, headers.authorization)?.name ?? "unknown");
}

/** Compares digests, so that neither the token nor its length can be timed. */
function findToken(tokens: Tokens, header: string | undefined): Tokens[number] | null {
  const given = digest(/^Bearer (.+)$/i.exec(header ?? "")?.[1] ?? "");
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
