/**
 * `npm run simulate -- [--ledger own|insert|relation|changing|import-entries|import-callbacks|tap] [--cost] [--callbacks] [--faults hostile|none] [--kills K]
 * --seed N | --seeds A..B [--json]`: runs seeds
 * and audits them. With `--callbacks` a world is played through real callbacks to real processes that are killed.
 * Without, with kills or faults, the worker pulls as real processes that are killed; else a world is played through,
 * with `--transfers` one of transfers and top-ups, with `--year` a thinned year with closing and
 * retention, with `--short` some weeks of it. `--cost` shows instead what an hour of play costs in requests.
 */

import { parseArgs } from "node:util";
import { CHOICES, chooseSimulation } from "./choose-simulation.ts";
import { showCost } from "./show-cost.ts";
import { holds, runSeeds, type SeedRun, type Simulation } from "./simulation.ts";

const MOST_SHOWN = 5;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    cost: { type: "boolean", default: false },
    ...CHOICES,
    json: { type: "boolean", default: false },
  },
});
if (values.cost) {
  await showCost();
  process.exit();
}
const [first, last] = readSeeds(values.seeds ?? values.seed ?? "1");
const open = choose();

const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
const simulation = await open();
const runs = await runSeeds(simulation, seeds, (run) => {
  if (!values.json) printRun(run);
}).finally(() => simulation.close());
if (values.json) {
  const shown = runs.map(({ seed, planted, found, precision, recall }) => ({
    seed,
    planted,
    found,
    precision,
    recall,
  }));
  const problems = runs.flatMap(({ seed, problems }) =>
    problems.map((problem) => `seed ${seed}: ${problem}`),
  );
  console.log(JSON.stringify({ runs: shown, problems }, null, 2));
} else {
  printKinds(runs);
}
process.exitCode = runs.every(holds) ? 0 : 1;

function printRun({ seed, summary, planted, found, precision, recall, problems }: SeedRun): void {
  console.log(`seed ${seed}: planted ${planted}, found ${found}, precision ${precision}, recall ${recall}`);
  console.log(`  ${summary}`);
  for (const problem of problems.slice(0, MOST_SHOWN)) console.log(`  ${problem}`);
  if (problems.length > MOST_SHOWN) console.log(`  and ${problems.length - MOST_SHOWN} more problems`);
}

function printKinds(all: readonly SeedRun[]): void {
  const counts = new Map<string, number>();
  for (const [kind, count] of all.flatMap(({ kinds }) => Object.entries(kinds))) {
    counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  const failed = all.filter((run) => !holds(run)).map(({ seed }) => seed);
  if (counts.size > 0) console.log(`planted over ${all.length} seeds:`);
  for (const [kind, count] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`  ${kind}: ${count}`);
  console.log(failed.length === 0 ? "every seed holds" : `seeds that do not hold: ${failed.join(", ")}`);
}

function choose(): () => Promise<Simulation> {
  try {
    return chooseSimulation(values, (line) => (values.json ? console.error(line) : console.log(line)));
  } catch (error) {
    fail((error as Error).message);
  }
}

function readSeeds(text: string): [number, number] {
  const [, from, to] = /^(\d{1,9})(?:\.\.(\d{1,9}))?$/.exec(text) ?? [];
  const seeds: [number, number] = [Number(from), Number(to ?? from)];
  if (from !== undefined && seeds[0] <= seeds[1]) return seeds;
  fail(`seeds "${text}" is not a number N or a range A..B`);
}

function fail(problem: string): never {
  console.error(`simulate: ${problem}`);
  process.exit(2);
}
