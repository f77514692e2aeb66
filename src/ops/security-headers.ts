/** Headers that keep browsers from doing with an answer what it is not meant for. */

import helmet from "@fastify/helmet";
import type { FastifyInstance, FastifyReply } from "fastify";
import { cameByHttps } from "./sessions.ts";

const YEAR_SECONDS = 31_536_000;

/**
 * The referrer stays within this server instead of nowhere: with "no-referrer" browsers send `Origin: null` with a form,
 * and our own pages could not be told from foreign ones where they send nothing better.
 */
const REFERRER = "same-origin";

/** Nothing inline, nothing of others, no page inside another one. */
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

/** For every answer; nothing is kept by browsers or proxies unless its route says so. */
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

/** The headers that matter, where a request cannot even be read: nothing of what is set up above is run for it. */
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

/** The option `helmet` of a route whose pages need something else; all the rest stays as it is. */
export function withPolicy(changes: Partial<Readonly<Record<keyof typeof POLICY, string[]>>>) {
  return { contentSecurityPolicy: { useDefaults: false, directives: { ...POLICY, ...changes } } };
}
