/**
 * Decides who may use the ops server: bearers of a token of OPS_TOKENS and their sessions, and users who signed in at a trusted
 * proxy; without either, only this machine.
 */

import { once } from "node:events";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isLoopback } from "../../config.ts";
import type { Log } from "../../log.ts";
import { hasRole, type Role, type RoleName } from "../../roles.ts";
import { sendProblem, wantsPage } from "../http/problem.ts";
import { isChange, isOwnChange } from "../http/same-origin.ts";
import type { FailedSignIns } from "./failed-sign-ins.ts";
import type { TrustedProxies } from "./proxies.ts";
import type { KnownTokens, Sessions } from "./sessions.ts";

/** The person or program that sends a request, and in whose name changes happen. */
export interface Asker {
  readonly name: string;
  readonly role: RoleName;
  /** the proof: a bearer token, a session's cookie, the header of a trusted proxy, or a loopback address */
  readonly by: "token" | "session" | "proxy" | "loopback";
}

/** Whether the asker may do what needs a role. */
export function may({ role }: Asker, needed: Role): boolean {
  return hasRole(role, needed);
}

declare module "fastify" {
  interface FastifyRequest {
    /** the asker; set in every handler behind `addAccess` */
    asker: Asker;
  }
  interface FastifyContextConfig {
    /** a POST that only reads what was sent: `view` is enough, and the audit has no row of it */
    readonly isReading?: boolean;
    /** the role that a POST needs; default: `admin` */
    readonly needs?: Role;
  }
}

/** Options of a POST that decides about money. */
export const DECIDES = { config: { needs: "decide" } } as const;

/** What identifies an asker. */
export interface Gate {
  readonly tokens: KnownTokens;
  readonly sessions: Sessions;
  /** null: no proxy signs users in */
  readonly proxies: TrustedProxies | null;
  readonly failures: FailedSignIns;
  readonly log: Log;
  /** counts a request whose token is not in OPS_TOKENS */
  readonly countWrongToken: () => void;
}

/** Without tokens and proxies, everybody on this machine may do everything. */
const LOCAL: Asker = { name: "local", role: "write", by: "loopback" };

/**
 * Refuses unknown askers, and changes by askers without the role for them, for all routes of this scope. A page redirects its
 * visitor to the sign-in; every other route answers 401.
 */
export function addAccess(scope: FastifyInstance, gate: Gate): void {
  scope.addHook("onRequest", async (request, reply) => {
    const problem = problemOfProxied(gate, request);
    if (problem !== null) return await sendProblem(reply, 403, "Forbidden", problem);
    const asker = await findAsker(gate, request);
    if (asker === null) {
      const isWrong = gate.tokens.areSet && bearerOf(request) !== null;
      const waitMs = isWrong ? await noteFailure(gate, request, reply) : 0;
      if (waitMs === null) return await closeUnanswered(reply);
      return waitMs > 0 ? await sendTooManyFailures(reply, waitMs) : await sendUnknown(gate, request, reply);
    }
    request.asker = asker;
    if (isChange(request.method)) await checkChange(request, reply);
  });
}

/** @returns null if the caller is unknown, or no longer known */
async function findAsker(gate: Gate, request: FastifyRequest): Promise<Asker | null> {
  const bearer = bearerOf(request);
  // oauth2-proxy can send a bearer token of its own beside the user's name.
  if (!gate.tokens.areSet || bearer === null || gate.proxies?.userOf(request) != null)
    return await findVisitor(gate, request);
  const token = gate.tokens.find(bearer);
  return token === null ? null : { name: token.name, role: token.role, by: "token" };
}

/**
 * The user of a trusted proxy or of a browser session; ignores bearer tokens.
 * @returns null if there is no user and no session, or the session has ended
 */
export async function findVisitor(
  { tokens, sessions, proxies }: Gate,
  request: FastifyRequest,
): Promise<Asker | null> {
  if (proxies === null && !tokens.areSet) return LOCAL;
  const user = proxies?.userOf(request) ?? null;
  if (user !== null) return "problem" in user ? null : { ...user, by: "proxy" };
  if (!tokens.areSet) return null;
  const token = await sessions.find(request);
  return token === null ? null : { name: token.name, role: token.role, by: "session" };
}

/** Why a trusted proxy's user is refused; null: there is none, or the user has a role. */
function problemOfProxied({ proxies }: Gate, request: FastifyRequest): string | null {
  const user = proxies?.userOf(request) ?? null;
  return user !== null && "problem" in user ? user.problem : null;
}

/**
 * Counts a failed sign-in and logs its address, never its token. Beyond the limit it holds the answer until its turn
 * instead, so that guessing fills neither memory nor log.
 * @returns the wait to announce, in milliseconds; null: no answer may be sent, because the caller hung up or too many
 * answers are held
 */
export async function noteFailure(
  { failures, log, countWrongToken }: Gate,
  { ip, method, url }: FastifyRequest,
  { raw }: FastifyReply,
): Promise<number | null> {
  countWrongToken();
  const waitMs = failures.waitOf(ip);
  if (waitMs > 0) return (await failures.hold(raw)) ? waitMs : null;
  failures.note(ip);
  log.warn(
    { address: ip, method, path: url.split("?")[0] },
    "a request had a token that is not in OPS_TOKENS",
  );
  return 0;
}

/** Ends the connection of a request that gets no answer. */
export async function closeUnanswered(reply: FastifyReply): Promise<FastifyReply> {
  reply.hijack();
  reply.request.raw.socket.destroy();
  return reply;
}

/**
 * A hook that handles the requests of one connection one after the other. Otherwise a connection could send a thousand
 * wrong tokens at once, and learn from what changes whether one of them was right, without waiting for any answer.
 */
export async function waitForTurn(_request: FastifyRequest, { raw }: FastifyReply): Promise<void> {
  // Node gives the connection to an answer when all earlier ones of it have been sent.
  if (raw.socket === null) await once(raw, "socket");
}

async function sendTooManyFailures(reply: FastifyReply, waitMs: number): Promise<FastifyReply> {
  const seconds = Math.ceil(waitMs / 1000);
  reply.header("retry-after", seconds);
  const detail = `this token is not in OPS_TOKENS, and too many sign-ins have failed: wait ${seconds} s`;
  return await sendProblem(reply, 429, "Too Many Requests", detail);
}

async function sendUnknown(
  { tokens, proxies }: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (!tokens.areSet && proxies !== null) {
    const detail = "this request names no user: sign in at the proxy in front of this server";
    return await sendProblem(reply, 401, "Unauthorized", detail);
  }
  if (!isChange(request.method) && wantsPage(request)) {
    return await reply.redirect(`/sign-in?${new URLSearchParams({ to: request.url })}`, 303);
  }
  reply.header("www-authenticate", "Bearer");
  const problem =
    bearerOf(request) === null ? "this request has no bearer token" : "this token is not in OPS_TOKENS";
  const detail = `${problem}: send "Authorization: Bearer …" with a token of OPS_TOKENS`;
  return await sendProblem(reply, 401, "Unauthorized", detail);
}

async function checkChange(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { asker, method, headers } = request;
  if (asker.by !== "token" && !isOwnChange(headers, asker.by === "loopback" ? "accept" : "refuse")) {
    const detail = "a page of another site sent this request: only pages of this server may change anything";
    await sendProblem(reply, 403, "Forbidden", detail);
    return;
  }
  const { isReading = false, needs = "admin" } = request.routeOptions.config;
  if (isReading || may(asker, needs)) return;
  await sendProblem(reply, 403, "Forbidden", describeMissing(asker, needs, method));
}

function describeMissing({ name, role, by }: Asker, needs: Role, method: string): string {
  if (role === "read") return `the token of "${name}" may only read: ${method} needs a write token`;
  const whose = by === "proxy" ? `"${name}"` : `the token of "${name}"`;
  return `${whose} has the role ${role}: this needs the role ${needs}`;
}

/** What a proxy adds to a request that it forwards. */
const OF_PROXY = /^(?:forwarded|via|x-real-ip|x-forwarded-.*)$/;

/**
 * A hook that answers 403 unless this machine asks under its own name. A page of another site could reach a loopback
 * port through a visitor's browser; Host and Origin show this. A proxy on this machine would let in everybody: nginx
 * forwards with its own Host, `127.0.0.1:3000`, and as HTTP/1.0 unless it is told otherwise.
 */
export async function refuseForeign({ headers, raw }: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { host, origin } = headers;
  const isForwarded = raw.httpVersionMajor === 1 && raw.httpVersionMinor === 0;
  if (isForwarded || Object.keys(headers).some((name) => OF_PROXY.test(name))) {
    const detail =
      "a proxy forwarded this request, and without OPS_TOKENS the server answers only this machine: set OPS_TOKENS";
    await sendProblem(reply, 403, "Forbidden", detail);
    return;
  }
  if (isOwnHost(host) && (origin === undefined || (URL.canParse(origin) && isOwnHost(new URL(origin).host))))
    return;
  await sendProblem(
    reply,
    403,
    "Forbidden",
    "without OPS_TOKENS the server answers only this machine, under its own name",
  );
}

/** @returns null if there is no token, or an empty one */
function bearerOf({ headers }: FastifyRequest): string | null {
  return /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1] ?? null;
}

function isOwnHost(host: string | undefined): boolean {
  return isLoopback((host ?? "").replace(/:\d+$/, "").toLowerCase());
}
