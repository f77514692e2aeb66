import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // Only what hangs reaches these, on a busy machine too: a test fails by what it expects, not by its time.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 180_000 } },
    // Much of a test's time is spent waiting for other processes: three use two cores better than two.
    maxWorkers: 3,
    // What a file needs is in its own database; to load the program anew for each takes a minute in all.
    isolate: false,
    execArgv: ["--max-semi-space-size=32"],
  },
});
