/**
 * `npm run live -- [--minutes N] [--seed N] [--json]`: plays in real time and audits the result. Exits with 1 if a
 * mismatch opened that was not planted, a planted one is not open, or the statement leaves a rest.
 */

import { parseArgs } from "node:util";
import { planLiveRun } from "./live-plan.ts";
import { type LiveRun, runLive } from "./live-run.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "10" },
    json: { type: "boolean", default: false },
  },
});
const seed = readNumber("--seed", values.seed, /^\d{1,9}$/);
const minutes = readNumber("--minutes", values.minutes, /^\d{1,4}(\.\d{1,3})?$/);
if (minutes === 0) fail("--minutes 0 is no time to play");

const run = await runLive(planLiveRun(seed, minutes), (line) => console.error(line));
if (values.json) console.log(JSON.stringify(toJson(run), null, 2));
else print(run);
process.exitCode = run.problems.length === 0 ? 0 : 1;

function toJson({ planted, found, precision, recall, cost, kinds, summary, problems, ...rest }: LiveRun) {
  const { p50, p95, max } = delaysOf(rest.delays);
  return {
    runs: [{ seed, planted, found, precision, recall }],
    delaysMs: { p50, p95, max },
    excused: rest.excused.length,
    cost,
    kinds,
    summary,
    problems,
  };
}

function print({
  planted,
  found,
  precision,
  recall,
  delays,
  cost,
  kinds,
  summary,
  problems,
  excused,
}: LiveRun) {
  const { p50, p95, max } = delaysOf(delays);
  for (const line of summary) console.log(line);
  console.log(`planted ${planted}, found ${found}, precision ${precision}, recall ${recall}`);
  console.log(`found after the earliest possible moment: p50 ${p50} ms, p95 ${p95} ms, max ${max} ms`);
  if (excused.length > 0)
    console.log(`${excused.length} alarms were right: a callback came later than callbackGrace`);
  console.log(`kinds: ${JSON.stringify(kinds)}`);
  console.log(`cost: ${JSON.stringify(cost)}`);
  for (const problem of problems) console.log(problem);
  console.log(problems.length === 0 ? "the run holds" : `${problems.length} problems`);
}

function delaysOf(delays: readonly number[]) {
  const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}

function readNumber(option: string, text: string, form: RegExp): number {
  if (form.test(text)) return Number(text);
  fail(`${option} "${text}" is not a number`);
}

function fail(problem: string): never {
  console.error(`live: ${problem}`);
  process.exit(2);
}
