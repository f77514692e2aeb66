/** Style and scripts of the pages, as files that browsers keep: their address changes with their content. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import type { FastifyInstance } from "fastify";
import { showDuration } from "../../clock.ts";
import { groupThousands } from "../../money.ts";
import { sendProblem } from "./problem.ts";

const FOLDER = join(import.meta.dirname, "../dashboard/assets");

/** The texts, by the names of the files. */
const ASSETS: ReadonlyMap<string, string> = readAssets();

/** Of all assets together, because they name each other. */
const ASSETS_VERSION = versionOf(ASSETS);

/** The address of their folder, without a slash at its end. They name each other relative to it. */
export const ASSETS_AT = `/assets/${ASSETS_VERSION}`;

function readAssets(): Map<string, string> {
  const own = readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), "utf8")] as const);
  const { resolve } = createRequire(import.meta.url);
  const readPackage = (path: string) => readFileSync(resolve(path), "utf8");
  return new Map([
    ...own,
    ["idiomorph.js", readPackage("idiomorph/dist/idiomorph.esm.js")],
    // The package has no small module: its module is three times as large as this.
    ["uplot.js", `${readPackage("uplot/dist/uPlot.iife.min.js")}\nexport { uPlot };\n`],
    ["uplot.css", readPackage("uplot/dist/uPlot.min.css")],
    // Pages and browsers say lengths of time and numbers by one rule.
    ["show-duration.js", `export ${showDuration}\n`],
    ["group-thousands.js", `export ${groupThousands}\n`],
  ]);
}

/** The same for the same texts, on every machine. */
function versionOf(assets: ReadonlyMap<string, string>): string {
  const named = [...assets].sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(named)).digest("hex").slice(0, 16);
}

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
