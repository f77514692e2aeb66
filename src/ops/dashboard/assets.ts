/** Sends style and scripts of the pages as files that browsers keep. */

import { extname } from "node:path";
import type { FastifyInstance } from "fastify";
import { ASSETS, ASSETS_VERSION } from "../http/assets.ts";
import { sendProblem } from "../http/problem.ts";

const KEPT = "public, max-age=31536000, immutable";
const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

interface AssetRoute {
  readonly Params: { readonly version: string; readonly name: string };
}

/** They contain no data, so that the sign-in page may use them. */
export function addAssets(app: FastifyInstance): void {
  app.get<AssetRoute>("/assets/:version/:name", async (request, reply) => {
    const { version, name } = request.params;
    const text = ASSETS.get(name);
    const type = TYPES[extname(name)];
    if (text === undefined || type === undefined) {
      return await sendProblem(reply, 404, "Not Found", `there is nothing at ${request.url}`);
    }
    // During an upgrade, workers of two versions answer: the page of one works with assets of the other, which must not be cached.
    if (version === ASSETS_VERSION) reply.header("cache-control", KEPT);
    return await reply.type(type).send(text);
  });
}
