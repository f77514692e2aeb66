/**
 * `npm run test:quick`: the tests that need no database, no Redis, no browser and no process of their own, without the worlds
 * of the sandbox. A new test of that kind is among them by itself.
 */

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** What the whole run provides, or what starts another process. */
const NEEDS_MORE = /\binject\(|from "(?:node:child_process|playwright-core)"/;
const OWN_IMPORT = /from "(\.{1,2}\/[^"]+\.ts)"/g;

/** Whether a file of test/, or what it imports from test/, needs more than its own process. */
function needsMore(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || !path.startsWith("test/")) return path.includes("src/embedded/");
  seen.add(path);
  const file = join(import.meta.dirname, path);
  // A test of import rules names files that do not exist.
  if (!existsSync(file)) return false;
  const text = readFileSync(file, "utf8");
  if (NEEDS_MORE.test(text)) return true;
  return [...text.matchAll(OWN_IMPORT)].some(([, to = ""]) => needsMore(join(dirname(path), to), seen));
}

const quick = globSync("test/**/*.test.ts", {
  cwd: import.meta.dirname,
  exclude: ["test/sandbox/**", "test/simulation/**"],
}).filter((path) => !needsMore(path));

export default defineConfig({ test: { ...config.test, include: quick, globalSetup: [] } });
