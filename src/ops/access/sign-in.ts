/** Signing in to the dashboard with a token, and out again. */

import formbody from "@fastify/formbody";
import { html } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import { renderPage } from "../http/layout.ts";
import { sendProblem } from "../http/problem.ts";
import { isOwnChange, readOwnPath } from "../http/same-origin.ts";
import { closeUnanswered, findVisitor, type Gate, noteFailure } from "./access.ts";
import { addAudit } from "./audit.ts";

interface SignInForm {
  /** the path after signing in */
  readonly to: string;
  /** why the last attempt failed; null: this is the first attempt */
  readonly error: string | null;
}

/** A whole document. The page does not show the typed token again. */
function renderSignIn({ to, error }: SignInForm): string {
  const complaint = error === null ? null : html`<p id="complaint" class="error" role="alert">${error}</p>`;
  const refers = error === null ? null : html` aria-invalid="true" aria-describedby="complaint"`;
  const main = html`<h1>Sign in</h1>
<form method="post" action="/sign-in" class="sign-in">
${complaint}
<p><label for="token">Token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="current-password"${refers}></p>
<p class="hint">A token of <code>OPS_TOKENS</code>. You stay signed in for 12 hours.</p>
<input type="hidden" name="to" value="${to}">
<button type="submit">Sign in</button>
</form>`;
  return renderPage({ title: "Sign in", visitor: null, path: "/sign-in", main });
}

/**
 * A page that makes the browser load the path again. After a link from another site (an alert in a chat) browsers do
 * not send a strict cookie; for this page's own request they do.
 */
function renderComeAgain(to: string): string {
  const path = `/sign-in?${new URLSearchParams({ to })}`;
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=${path}">
<title>wallet-recon</title>
</head>
<body><p><a href="${path}">Continue</a></p></body>
</html>
`;
  return String(document);
}

const LONGEST_FORM = 8 * 1024;

interface SignInFields {
  readonly token?: unknown;
  readonly to?: unknown;
}

/** `GET` and `POST /sign-in`, `POST /sign-out`: outside of the scope that needs an asker. */
export function addSignIn(app: FastifyInstance, gate: Gate, context: FlowContext): void {
  app.register(async (scope) => {
    await scope.register(formbody, { bodyLimit: LONGEST_FORM });
    addAudit(scope, context);
    scope.get<{ Querystring: SignInFields }>("/sign-in", async (request, reply) => {
      const to = readOwnPath(request.query.to);
      if ((await findVisitor(gate, request)) !== null) return await reply.redirect(to, 303);
      const isFromAnotherSite = request.headers["sec-fetch-site"] === "cross-site";
      return await sendPage(
        reply,
        200,
        isFromAnotherSite ? renderComeAgain(to) : renderSignIn({ to, error: null }),
      );
    });
    scope.post<{ Body: SignInFields | undefined }>("/sign-in", async (request, reply) => {
      if (!isOwnChange(request.headers, "accept")) return await sendForeign(reply);
      return await signIn(gate, request, reply);
    });
    scope.post("/sign-out", async (request, reply) => {
      if (!isOwnChange(request.headers, "refuse")) return await sendForeign(reply);
      const asker = await findVisitor(gate, request);
      if (asker !== null) request.asker = asker;
      await gate.sessions.end(request, reply);
      return await reply.redirect("/sign-in", 303);
    });
  });
}

async function signIn(
  gate: Gate,
  request: FastifyRequest<{ Body: SignInFields | undefined }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { token: typed, to: wanted } = request.body ?? {};
  const to = readOwnPath(wanted);
  if (!gate.tokens.areSet) return await reply.redirect(to, 303);
  const token = typeof typed === "string" && typed !== "" ? gate.tokens.find(typed.trim()) : null;
  if (token === null) {
    const waitMs = await noteFailure(gate, request, reply);
    if (waitMs === null) return await closeUnanswered(reply);
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000);
      reply.header("retry-after", seconds);
      const error = `This token is not in OPS_TOKENS, and too many sign-ins have failed. Try again in ${seconds} seconds.`;
      return await sendPage(reply, 429, renderSignIn({ to, error }));
    }
    const error = "This token is not in OPS_TOKENS.";
    return await sendPage(reply, 401, renderSignIn({ to, error }));
  }
  await gate.sessions.begin(request, reply, token);
  request.asker = { name: token.name, role: token.role, by: "session" };
  gate.log.info({ name: token.name, role: token.role, address: request.ip }, "signed in");
  return await reply.redirect(to, 303);
}

async function sendForeign(reply: FastifyReply): Promise<FastifyReply> {
  const detail = "a page of another site sent this request: only pages of this server may change anything";
  return await sendProblem(reply, 403, "Forbidden", detail);
}

async function sendPage(reply: FastifyReply, status: number, page: string): Promise<FastifyReply> {
  return await reply.code(status).type("text/html; charset=utf-8").send(page);
}
