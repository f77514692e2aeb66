/** The answers of the ops server if there is no route, or a route fails or takes too long. */

import { METHODS, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers";
import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Sql } from "../../db/client.ts";
import { describeLimit, isConnectionLost } from "../../db/database-error.ts";
import { type ErrorCode, ReconError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { endsInTime } from "../../in-time.ts";
import { renderPage } from "./layout.ts";
import { codeOfStatus, sendProblem, typeOf, wantsPage } from "./problem.ts";
import { isChange, isOwnChange } from "./same-origin.ts";

/** The limit of a statement (PEOPLE_LIMITS), and a little more. */
export const PAGE_MS = 35_000;
/** Reports wait for their turn and rest; files are received or sent piece by piece. */
const LONG_ROUTES = /^\/(?:report|imports$|evidence|queues|.*\.csv$)/;

/**
 * Must be called before the hooks that ask the database. Fastify's own limit (handlerTimeout) ends no request with a body.
 * @param isHeld whether the server holds the answer on purpose
 */
export function limitPages(
  scope: FastifyInstance,
  pageMs: number,
  isHeld: (reply: FastifyReply) => boolean,
): void {
  scope.addHook("onRequest", async (request, reply) => {
    if (!wantsPage(request) || LONG_ROUTES.test(request.routeOptions.url ?? "")) return;
    const timer = setTimeout(() => {
      if (reply.sent || reply.raw.headersSent || isHeld(reply)) return;
      reply.send(new ReconError("database-unreachable", `the page was not ready within ${pageMs / 1000} s`));
    }, pageMs);
    reply.raw.once("close", () => clearTimeout(timer));
  });
}

interface Failure {
  readonly status: number;
  readonly title: string;
  /** what happened, and what to do: sentences */
  readonly says: string;
  /** whether the request certainly changed nothing */
  readonly isUnchanged: boolean;
}

const FORM = "application/x-www-form-urlencoded";
/** A form that arrives later, or larger, is not shown again. */
const LONGEST_READ_MS = 2_000;
const LARGEST_FORM = 64 * 1024;
/** Fields that the page itself wrote into its form. The user typed all others. */
const FIXED = new Set(["action", "from", "scope", "id", "shown", "back", "step"]);
/** A sign-in's form holds a secret. */
const SECRET_FORMS = /^\/sign-/;

/** Sends the page. Never fails for want of a database. */
async function sendFailurePage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, title, says, isUnchanged }: Failure,
): Promise<FastifyReply> {
  const { asker, method, url, headers } = request;
  const isForm = isChange(method) && (headers["content-type"] ?? "").startsWith(FORM);
  const mayRepeat = isForm && !SECRET_FORMS.test(url) && isOwnChange(headers, "refuse");
  const fields = mayRepeat ? await readFields(request) : [];
  const changed = isUnchanged
    ? html`<p>Nothing was changed.</p>`
    : html`<p><strong>It is unknown whether your change was made.</strong> Open the page again and check before you repeat it.</p>`;
  const main = html`<h1>${title}</h1><p>${says}</p>
${isChange(method) ? changed : html`<p><a class="button" href="${url}">Try again</a></p>`}
${fields.length === 0 ? null : renderTyped(url, fields)}`;
  const page = renderPage({
    title,
    visitor: asker ?? null,
    path: url,
    main,
    hasMenu: !SECRET_FORMS.test(url),
  });
  return await reply.code(status).type("text/html; charset=utf-8").send(page);
}

function renderTyped(url: string, fields: readonly (readonly [string, string])[]): SafeHtml {
  const shown = fields.map(([name, value]) =>
    FIXED.has(name)
      ? html`<input type="hidden" name="${name}" value="${value}">`
      : html`<p><label class="note">${name} <textarea name="${name}" rows="2">${value}</textarea></label></p>`,
  );
  return html`<section class="sheet" aria-labelledby="typed-head"><h2 id="typed-head">What you sent</h2>
<form method="post" action="${url}" id="typed">${shown}<p><button>Send it again</button></p></form></section>`;
}

/** The fields of the form; a request that failed before its form was read still holds it. */
async function readFields({ body, raw }: FastifyRequest): Promise<(readonly [string, string])[]> {
  if (typeof body === "object" && body !== null) {
    return Object.entries(body).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, String(value)]),
    );
  }
  const chunks: Buffer[] = [];
  const read = async () => {
    let bytes = 0;
    for await (const chunk of raw) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > LARGEST_FORM) throw new Error("the form is too large");
    }
  };
  const isWhole = await endsInTime(read(), LONGEST_READ_MS).catch(() => false);
  return isWhole ? [...new URLSearchParams(Buffer.concat(chunks).toString("utf8"))] : [];
}

/** The errors that the asker can correct. */
const STATUS_OF: Partial<Readonly<Record<ErrorCode, number>>> = {
  usage: 400,
  "not-found": 404,
  conflict: 409,
  "idempotency-key-reused": 409,
  "idempotency-key-in-use": 409,
  "bets-deleted": 410,
  "cursor-unknown": 410,
  "round-too-wide": 422,
  "session-too-long": 422,
  "database-limit": 503,
  "database-refuses-writes": 503,
  "too-many-reports": 503,
  "report-left": 499,
};

/** @returns the status of an error that the asker can correct; null: another kind of error */
export function statusOfRefusal(error: unknown): number | null {
  return error instanceof ReconError ? (STATUS_OF[error.code] ?? null) : null;
}

/** @returns an error with its status, if the asker may see it; null: the error is internal */
export function refusalOf(sql: Sql, error: unknown): { status: number; error: ReconError } | null {
  const reported = error instanceof ReconError ? error : describeLimit(sql, error);
  const status = reported === null ? undefined : STATUS_OF[reported.code];
  return reported === null || status === undefined ? null : { status, error: reported };
}

/** Must be called before any route is added, so that it knows all routes. */
export function addRefusals(app: FastifyInstance, { log, sql }: FlowContext): void {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook("onRoute", ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    methodsOf.set(url, methods);
  });
  app.setNotFoundHandler(async (request, reply) => {
    const allowed = allowedAt(methodsOf, request);
    if (allowed.length === 0) {
      return await sendProblem(reply, 404, "Not Found", `there is nothing at ${request.url}`);
    }
    reply.header("allow", allowed.join(", "));
    const detail = `${request.method} is not allowed at ${request.url}: use ${allowed.join(", ")}`;
    return await sendProblem(reply, 405, "Method Not Allowed", detail);
  });
  const handled = new WeakSet<FastifyRequest>();
  app.addHook("preHandler", async (request) => {
    handled.add(request);
  });
  app.setErrorHandler(async (error: FastifyError | ReconError, request, reply) => {
    const refusal = refusalOf(sql, error);
    if (refusal !== null && refusal.status >= 500 && wantsPage(request)) {
      const { status, error } = refusal;
      const title = STATUS_CODES[status] ?? "Refused";
      // Every refusal of this kind ends a transaction without a change.
      const failure = { status, title, says: sentence(error.message), isUnchanged: true };
      return await sendFailurePage(request, reply, failure);
    }
    if (refusal !== null) return await sendError(reply, refusal.status, refusal.error);
    const status = error instanceof ReconError ? undefined : error.statusCode;
    if (status !== undefined && status < 500) return await sendError(reply, status, error);
    log.error({ requestId: request.id, err: error }, "a request to the ops server failed");
    if (wantsPage(request))
      return await sendFailurePage(request, reply, failureOf(error, handled.has(request)));
    if (isSilent(error)) {
      const code = "database-unreachable";
      return await sendProblem(reply, 503, "Service Unavailable", saySilent(request), { code });
    }
    return await sendProblem(reply, 500, "Internal Server Error", "the request failed; the log says why");
  });
}

const DATABASE_SILENT = {
  status: 503,
  title: "The database does not answer",
  says: "The worker runs, but its database does not answer. Try again in a minute. If that does not help, check that PostgreSQL runs.",
} as const;

/** Whether the request failed because the database did not answer. */
function isSilent(error: unknown): boolean {
  return isConnectionLost(error) || (error instanceof ReconError && error.code === "database-unreachable");
}

/** @param isHandled whether the request's own work had begun: then it may have changed something */
function failureOf(error: unknown, isHandled: boolean): Failure {
  if (isSilent(error)) return { ...DATABASE_SILENT, isUnchanged: !isHandled };
  const says =
    "The worker had an internal error. Its log says why: look for “a request to the ops server failed”.";
  return { status: 500, title: "Internal Server Error", says, isUnchanged: !isHandled };
}

/** The same for a program. */
function saySilent({ method }: FastifyRequest): string {
  const silent =
    "the database does not answer: try again in a minute, and if that does not help, check that PostgreSQL runs";
  return isChange(method)
    ? `${silent}. It is unknown whether the change was made: check before you send it again`
    : silent;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}

const LONGEST_GOODBYE_MS = 5_000;
const STATUS_OF_BROKEN: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers a request that has not arrived whole in time, and closes its connection. */
export function refuseLate(socket: Socket): void {
  refuseBroken(Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
}

/** Answers a request that cannot be parsed, and closes its connection. */
export function refuseBroken({ code = "" }: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS_OF_BROKEN[code] ?? 400;
  const title = STATUS_CODES[status] ?? "Refused";
  const detail =
    code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? "the request did not arrive completely in time: send it again"
      : `the request cannot be parsed (${code})`;
  const problemCode = codeOfStatus(status);
  const body = JSON.stringify({ type: typeOf(problemCode, ""), title, status, detail, code: problemCode });
  const head = `HTTP/1.1 ${status} ${title}\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
  // The client may never close its side of the connection.
  socket.setTimeout(LONGEST_GOODBYE_MS, () => socket.destroy());
}

/** After a refusal that may not last: another process closes days, or too many reports wait. */
const RETRY_AFTER_SECONDS = 60;

async function sendError(reply: FastifyReply, status: number, error: Error): Promise<FastifyReply> {
  const parts = error instanceof ReconError ? { code: error.code, fields: error.fields } : {};
  const mayRepeat = error instanceof ReconError && error.retryable;
  if (mayRepeat && !reply.hasHeader("retry-after")) reply.header("retry-after", RETRY_AFTER_SECONDS);
  return await sendProblem(reply, status, STATUS_CODES[status] ?? "Refused", error.message, parts);
}

/** The methods of the path, in the order of Node's list. */
function allowedAt(methodsOf: ReadonlyMap<string, ReadonlySet<string>>, { url }: FastifyRequest): string[] {
  const [path = ""] = url.split("?");
  const allowed = new Set<string>();
  for (const [pattern, methods] of methodsOf) {
    if (fits(pattern, path)) for (const method of methods) allowed.add(method);
  }
  return METHODS.filter((method) => allowed.has(method));
}

/** @param pattern as routes are registered: "/api/mismatches/:id", "/queues/*" */
function fits(pattern: string, path: string): boolean {
  const parts = pattern.split("/");
  const given = path.split("/");
  const isOpen = parts.at(-1) === "*";
  if (isOpen ? given.length < parts.length : given.length !== parts.length) return false;
  return parts.every(
    (part, index) => part === "*" || (part.startsWith(":") && given[index] !== "") || part === given[index],
  );
}
