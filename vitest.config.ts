import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * These play whole worlds, mostly waiting for other processes or for ticks, or install, compile and build: begun last, they
 * would go on alone for minutes.
 */
const FIRST = [
  "/test/crash/",
  "/test/simulation/",
  "/test/package/",
  "/test/image/",
  "/test/jobs/",
  "/test/dashboard/every-page",
];

/** Without the durations of an earlier run vitest begins with the largest file, and the longest are small. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification) => FIRST.some((folder) => moduleId.includes(folder));
    const sorted = await super.sort(files);
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // Only what hangs reaches these, on a busy machine too: a test fails by what it expects, not by its time.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 180_000 } },
    // Much of a test's time is spent waiting for other processes: four use two cores better than two.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // What a file needs is in its own database; to load the program anew for each takes a minute in all.
    isolate: false,
    // Of scripts that tests start: to compile the program again takes a second each time.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/wallet-recon") },
    execArgv: ["--max-semi-space-size=32"],
  },
});
