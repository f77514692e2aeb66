/** Headers that limit what browsers may do with an answer. */

import helmet from "@fastify/helmet";
import type { FastifyInstance, FastifyReply } from "fastify";
import { cameByHttps } from "./http/same-origin.ts";

const YEAR_SECONDS = 31_536_000;

/**
 * The referrer policy is "same-origin". With "no-referrer" browsers send `Origin: null` with a form, so the server
 * could not distinguish its own pages from foreign ones (57).
 */
const REFERRER = "same-origin";

/** No inline code, nothing from other sites, no frames. */
const POLICY = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", "data:"],
  fontSrc: ["'self'"],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: ["'none'"],
};

/** For every answer. Browsers and proxies store nothing unless a route allows it. */
export async function addSecurityHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: POLICY },
    referrerPolicy: { policy: REFERRER },
    frameguard: { action: "deny" },
    strictTransportSecurity: false,
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    if (cameByHttps(request)) reply.header("strict-transport-security", `max-age=${YEAR_SECONDS}`);
  });
}

/** The most important headers for requests that cannot be parsed: the hooks above do not run for them. */
export function setHeadersAtLeast(reply: FastifyReply): void {
  const policy = Object.entries(POLICY).map(([name, sources]) => [toKebab(name), ...sources].join(" "));
  reply.headers({
    "content-security-policy": policy.join(";"),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": REFERRER,
    "cache-control": "no-store",
  });
}

function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The option `helmet` of a route with a different policy. Everything else stays. */
export function withPolicy(changes: Partial<Readonly<Record<keyof typeof POLICY, string[]>>>) {
  return { contentSecurityPolicy: { useDefaults: false, directives: { ...POLICY, ...changes } } };
}
