import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Much of a test's time is spent waiting for other processes: three use two cores better than two.
    maxWorkers: 3,
    // What a file needs is in its own database; to load the program anew for each takes a minute in all.
    isolate: false,
    execArgv: ["--max-semi-space-size=32"],
  },
});
