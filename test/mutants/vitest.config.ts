/** Runs only the tests of one decider, which need nothing but their own process. */

import { globSync } from "node:fs";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: globSync(process.env["MUTANTS_TESTS"] ?? ""), testTimeout: 600_000 },
});
