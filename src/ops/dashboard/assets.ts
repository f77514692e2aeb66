/** Style and scripts of the pages, sent as files. */

import { createRequire } from "node:module";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import { showDuration } from "../../clock.ts";

/** They contain no data, so that the sign-in page may use them. */
export function addAssets(app: FastifyInstance): void {
  app.register(fastifyStatic, {
    root: join(import.meta.dirname, "assets"),
    prefix: "/assets/",
    cacheControl: true,
    maxAge: 0,
  });
  const idiomorph = createRequire(import.meta.url).resolve("idiomorph/dist/idiomorph.esm.js");
  app.get("/assets/idiomorph.js", (_request, reply) =>
    reply.sendFile("idiomorph.esm.js", join(idiomorph, "..")),
  );
  // Pages and browsers say lengths of time by one rule.
  app.get("/assets/show-duration.js", (_request, reply) =>
    reply
      .type("text/javascript; charset=utf-8")
      .header("cache-control", "public, max-age=0")
      .send(`export ${showDuration}\n`),
  );
}
