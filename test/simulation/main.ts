/**
 * `npm run simulate -- [--faults hostile|none] [--kills K] --seed N | --seeds A..B [--json]`: runs seeds and audits them.
 * With kills or faults the worker pulls as real processes that are killed; else a world is played through.
 */

import { parseArgs } from "node:util";
import { openKills } from "./kills.ts";
import { openPlays } from "./plays.ts";
import { holds, type SeedRun } from "./simulation.ts";

const MOST_SHOWN = 5;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    faults: { type: "string" },
    kills: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const [first, last] = readSeeds(values.seeds ?? values.seed ?? "1");
const open = chooseSimulation(values.faults, values.kills);

const runs: SeedRun[] = [];
const simulation = await open();
try {
  for (let seed = first; seed <= last; seed += 1) {
    const run = await simulation.run(seed);
    runs.push(run);
    if (!values.json) printRun(run);
  }
} finally {
  await simulation.close();
}
if (values.json) {
  const shown = runs.map(({ seed, planted, found, precision, recall }) => ({
    seed,
    planted,
    found,
    precision,
    recall,
  }));
  console.log(JSON.stringify({ runs: shown }, null, 2));
}
process.exitCode = runs.every(holds) ? 0 : 1;

function printRun({ seed, told, planted, found, precision, recall, problems }: SeedRun): void {
  console.log(`seed ${seed}: planted ${planted}, found ${found}, precision ${precision}, recall ${recall}`);
  console.log(`  ${told}`);
  for (const problem of problems.slice(0, MOST_SHOWN)) console.log(`  ${problem}`);
  if (problems.length > MOST_SHOWN) console.log(`  and ${problems.length - MOST_SHOWN} more problems`);
}

function chooseSimulation(faults: string | undefined, kills: string | undefined) {
  if (faults === undefined && kills === undefined) return openPlays;
  if (kills !== undefined && !/^\d{1,4}$/.test(kills))
    fail(`--kills "${kills}" is not a number from 0 to 9999`);
  if (faults !== undefined && faults !== "hostile" && faults !== "none") {
    fail(`--faults "${faults}" is neither hostile nor none`);
  }
  return () => openKills(Number(kills ?? 0), faults === "hostile" ? "hostile" : "none");
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
