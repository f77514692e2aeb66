/** Who may use the ops server: a token of OPS_TOKENS, a session signed in with one; without any, this machine alone. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isLoopback } from "../config.ts";
import type { Log } from "../log.ts";
import { isChange, isOwnChange } from "./cross-origin.ts";
import type { FailedSignIns } from "./failed-sign-ins.ts";
import { sendProblem, wantsPage } from "./problem.ts";
import type { Sessions } from "./sessions.ts";
import type { KnownTokens } from "./tokens.ts";

/** Who asks, in whose name things are done. */
export interface Asker {
  readonly name: string;
  readonly role: "read" | "write";
  /** how we know: a bearer token, a session's cookie, or that nobody else can reach us */
  readonly by: "token" | "session" | "loopback";
}

declare module "fastify" {
  interface FastifyRequest {
    /** who asks; set in every handler behind `addAccess` */
    asker: Asker;
  }
}

/** What decides who somebody is. */
export interface Gate {
  readonly tokens: KnownTokens;
  readonly sessions: Sessions;
  readonly failures: FailedSignIns;
  readonly log: Log;
}

/** Without tokens whoever reaches this machine's own port is its user. */
const LOCAL: Asker = { name: "local", role: "write", by: "loopback" };

/**
 * Lets nobody past who is not known, and nothing change without the role for it, whatever is registered in this scope.
 * A page sends its visitor to the sign-in; everything else is answered with 401.
 */
export function addAccess(scope: FastifyInstance, gate: Gate): void {
  scope.addHook("onRequest", async (request, reply) => {
    const asker = await findAsker(gate, request);
    if (asker === null) {
      const waitMs = gate.tokens.areSet && bearerOf(request) !== null ? await noteFailure(gate, request) : 0;
      return waitMs > 0 ? await sendTooManyFailures(reply, waitMs) : await sendUnknown(request, reply);
    }
    request.asker = asker;
    if (isChange(request.method)) await checkChange(request, reply);
  });
}

/** @returns null: not known, or known no more */
async function findAsker(gate: Gate, request: FastifyRequest): Promise<Asker | null> {
  const bearer = bearerOf(request);
  if (!gate.tokens.areSet || bearer === null) return await findVisitor(gate, request);
  const token = gate.tokens.find(bearer);
  return token === null ? null : { name: token.name, role: token.role, by: "token" };
}

/** A person in front of a browser; a bearer token is not looked at. @returns null: not signed in, or no more */
export async function findVisitor(
  { tokens, sessions }: Gate,
  request: FastifyRequest,
): Promise<Asker | null> {
  if (!tokens.areSet) return LOCAL;
  const token = await sessions.find(request);
  return token === null ? null : { name: token.name, role: token.role, by: "session" };
}

/**
 * Counts a sign-in that failed, and the log names it: from where, never with what. Beyond the limit neither is done, so that
 * guessing fills neither memory nor log.
 * @returns how long whoever guesses is asked to wait, in milliseconds; where that is not 0, the answer is held back too
 */
export async function noteFailure(
  { failures, log }: Gate,
  { ip, method, url }: FastifyRequest,
): Promise<number> {
  const waitMs = failures.waitOf(ip);
  if (waitMs > 0) {
    await failures.slowDown();
    return waitMs;
  }
  failures.note(ip);
  log.warn(
    { address: ip, method, path: url.split("?")[0] },
    "somebody brought a token that is none of OPS_TOKENS",
  );
  return 0;
}

async function sendTooManyFailures(reply: FastifyReply, waitMs: number): Promise<FastifyReply> {
  const seconds = Math.ceil(waitMs / 1000);
  reply.header("retry-after", seconds);
  const detail = `this token is none of OPS_TOKENS, and too many sign-ins have failed: wait ${seconds} s`;
  return await sendProblem(reply, 429, "Too Many Requests", detail);
}

async function sendUnknown(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  if (!isChange(request.method) && wantsPage(request)) {
    return await reply.redirect(`/sign-in?${new URLSearchParams({ to: request.url })}`, 303);
  }
  reply.header("www-authenticate", "Bearer");
  return await sendProblem(reply, 401, "Unauthorized", "a bearer token of OPS_TOKENS is needed");
}

async function checkChange(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { asker, method, headers } = request;
  if (asker.by !== "token" && !isOwnChange(headers, asker.by === "session" ? "refuse" : "accept")) {
    const detail = "a page of another site asked for this: only this server's own pages may";
    await sendProblem(reply, 403, "Forbidden", detail);
  } else if (asker.role !== "write") {
    const detail = `the token of "${asker.name}" may only read: ${method} needs one that may write`;
    await sendProblem(reply, 403, "Forbidden", detail);
  }
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

/** null: none was brought; what is empty is none. */
function bearerOf({ headers }: FastifyRequest): string | null {
  return /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1] ?? null;
}

function isOwnHost(host: string | undefined): boolean {
  return isLoopback((host ?? "").replace(/:\d+$/, "").toLowerCase());
}
