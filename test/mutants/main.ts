/**
 * `npm run mutants -- [NAME…]`: changes the pure deciders in small ways (Stryker) and runs the tests of each against
 * every change. A change that no test notices survives: kill it with a test, or explain it in `survivors.md`.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The deciders (Stryker reads a list with commas, no braces), and the tests that must notice their mutants. */
const DECIDERS: Readonly<Record<string, { readonly mutate: string; readonly tests: string }>> = {
  money: { mutate: "src/money.ts", tests: "test/money.test.ts" },
  fold: {
    mutate: ["fold", "apply-entry", "change-bet", "entry-order"]
      .map((name) => `src/ledger/${name}.ts`)
      .join(),
    tests: "test/{ledger/{fold,lives,one-second},callbacks/judge,simulation/small-worlds}.test.ts",
  },
  match: { mutate: "src/diff/match.ts", tests: "test/diff/*.test.ts" },
  compare: {
    mutate: ["compare", "sums", "money-moved"].map((name) => `src/diff/${name}.ts`).join(),
    tests: "test/diff/*.test.ts",
  },
  conditions: { mutate: "src/diff/required-conditions.ts", tests: "test/diff/*.test.ts" },
  transitions: { mutate: "src/mismatches/transitions.ts", tests: "test/mismatches/transitions.test.ts" },
  range: { mutate: "src/sync/range-control.ts", tests: "test/sync/range-control.test.ts" },
  failure: { mutate: "src/sync/after-failure.ts", tests: "test/sync/after-failure.test.ts" },
  verify: { mutate: "src/verify/decide.ts", tests: "test/verify/decide.test.ts" },
};
/** Statuses of mutants that were run, or that no test reaches. Static ones are ignored: they would load every test anew. */
const COUNTED = new Set(["Killed", "Timeout", "Survived", "NoCoverage"]);
const LEAST_SCORE = 90;
const ROOT = join(import.meta.dirname, "../..");
/** Installed when needed, like the peers of the bench: 173 packages that no other command uses. */
const PACKAGES = ["@stryker-mutator/core@10.1.1", "@stryker-mutator/vitest-runner@10.1.1"];
const REPORT = join(ROOT, "node_modules/.cache/mutants.json");

if (!existsSync(join(ROOT, "node_modules/.bin/stryker"))) {
  execFileSync("npm", ["install", "--no-save", "--no-audit", "--no-fund", ...PACKAGES], { cwd: ROOT });
}
const chosen = process.argv.slice(2);
for (const name of chosen.length === 0 ? Object.keys(DECIDERS) : chosen) {
  const score = scoreOf(name);
  console.log(`${name}: ${score.killed} of ${score.all} killed, ${score.percent} %`);
  for (const survivor of score.survivors) console.log(`  ${survivor}`);
  if (Number(score.percent) < LEAST_SCORE) process.exitCode = 1;
}

function scoreOf(name: string) {
  const decider = DECIDERS[name];
  if (decider === undefined) throw new Error(`"${name}" is none of ${Object.keys(DECIDERS).join(", ")}`);
  const { status } = spawnSync(
    process.execPath,
    ["node_modules/.bin/stryker", "run", "test/mutants/stryker.config.json", "--mutate", decider.mutate],
    {
      cwd: ROOT,
      env: { ...process.env, MUTANTS_TESTS: decider.tests },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  if (status !== 0) throw new Error(`Stryker ended with ${status} for ${name}`);
  const { files }: { files: Record<string, { mutants: Mutant[] }> } = JSON.parse(
    readFileSync(REPORT, "utf8"),
  );
  const counted = Object.entries(files).flatMap(([file, { mutants }]) =>
    mutants.filter(({ status }) => COUNTED.has(status)).map((mutant) => ({ ...mutant, file })),
  );
  const survivors = counted.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  const killed = counted.length - survivors.length;
  return {
    killed,
    all: counted.length,
    percent: ((100 * killed) / counted.length).toFixed(1),
    survivors: survivors.map(
      ({ file, location, mutatorName, replacement }) =>
        `${file}:${location.start.line}:${location.start.column} ${mutatorName}: ${replacement?.replace(/\s+/g, " ")}`,
    ),
  };
}

interface Mutant {
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
}
