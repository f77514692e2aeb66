/** Style and scripts of the pages, and the address that changes with their content. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { showDuration } from "../../clock.ts";
import { groupThousands } from "../../money.ts";

const FOLDER = join(import.meta.dirname, "../dashboard/assets");

/** The texts, by the names of the files. */
export const ASSETS: ReadonlyMap<string, string> = readAssets();

/** Of all assets together, because they name each other. */
export const ASSETS_VERSION = versionOf(ASSETS);

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
