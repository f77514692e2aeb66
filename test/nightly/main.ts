/**
 * `npm run nightly -- --minutes N [--folder F] [--docs]`: plays new seeds of every simulation, live and saturation until the time
 * is over. What had the least time, and what changed, comes first. Each failure is written to a file with its seed, commit and
 * shortest command; failed seeds of `npm run simulate` join `test/simulation/kept-seeds.json`. With `--docs` the table of
 * `docs/correctness.md` is written anew. Exits with 1 if anything failed.
 */

import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { KEPT_SEEDS_FILE, type KeptSeed, readKeptSeeds } from "../simulation/seeds.ts";
import { choosePlay, type History } from "./choose-play.ts";
import { type NightlyPlay, nameOf, PLAYS } from "./plays.ts";
import { type Round, replacePlayed, reportHistory, reportNight } from "./report.ts";
import { type Failure, runPlay } from "./run-play.ts";

const PLAYED_PAGE = new URL("../../docs/correctness.md", import.meta.url);
/** Below, seeds are played by hand. */
const FIRST_SEED = 10_000;
const LAST_SEED = 999_999_000;
/** More are the same fault, most likely, and would fill the night and the list. */
const MOST_KEPT = 3;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "120" },
    folder: { type: "string", default: ".recon/nightly" },
    docs: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
if (!/^\d{1,4}$/.test(values.minutes) || minutes === 0) {
  console.error(`nightly: --minutes "${values.minutes}" is not a number from 1 to 9999`);
  process.exit(2);
}
const head = git("rev-parse", "HEAD");
const commit = git("status", "--porcelain") === "" ? head : `${head} with changes`;
const failuresFolder = join(values.folder, "failures");
mkdirSync(failuresFolder, { recursive: true });
const historyFile = join(values.folder, "history.json");
let history = halve(existsSync(historyFile) ? JSON.parse(readFileSync(historyFile, "utf8")) : {});
const startedAt = performance.now();
const tonight: Round[] = [];
const remaining = () => minutes * 60 - (performance.now() - startedAt) / 1000;
const changed = new Map(PLAYS.map((play) => [play, hasChanged(play)]));
let kept = 0;

for (;;) {
  const play = choosePlay(PLAYS, history, (one) => changed.get(one) === true, remaining());
  if (play === undefined) break;
  const from = randomInt(FIRST_SEED, LAST_SEED);
  const begunAt = performance.now();
  const failures = await runPlay(play, play.options, [from, from + Math.max(play.seeds, 1) - 1]);
  for (const failure of failures) await keep(play, failure);
  const seconds = Math.round((performance.now() - begunAt) / 1000);
  tonight.push({ play: nameOf(play), seeds: play.seeds, seconds, failures: failures.length });
  remember(play, seconds, failures.length);
  const said = play.seeds === 0 ? "" : `, seeds ${from}..${from + play.seeds - 1}`;
  console.log(`${nameOf(play)}${said}: ${failures.length === 0 ? "holds" : "FAILS"}, ${seconds} s`);
  writeFileSync(join(values.folder, "report.md"), reportNight(commit, tonight, history));
}
console.log(reportNight(commit, tonight, history));
if (values.docs) {
  const page = readFileSync(PLAYED_PAGE, "utf8");
  writeFileSync(PLAYED_PAGE, replacePlayed(page, reportHistory(commit, history)));
}
process.exitCode = tonight.some(({ failures }) => failures > 0) ? 1 : 0;

/** Written at once, because the process may be killed. */
function remember(play: NightlyPlay, seconds: number, failures: number): void {
  const old = history[nameOf(play)];
  history = {
    ...history,
    [nameOf(play)]: {
      lastAt: new Date().toISOString(),
      lastCommit: head,
      rounds: (old?.rounds ?? 0) + 1,
      seeds: (old?.seeds ?? 0) + play.seeds,
      seconds: (old?.seconds ?? 0) + seconds,
      failures: (old?.failures ?? 0) + failures,
      recentSeconds: (old?.recentSeconds ?? 0) + seconds,
    },
  };
  writeFileSync(historyFile, `${JSON.stringify(history, null, 2)}\n`);
}

async function keep(play: NightlyPlay, failure: Failure): Promise<void> {
  const { seed } = failure;
  const shown = seed === null ? "" : `${play.script === "simulate" ? "--seeds" : "--seed"} ${seed}`;
  const given = Object.entries(play.environment ?? {}).map(([name, value]) => `${name}=${value}`);
  const script = play.script === "test" ? "npx vitest run" : `npm run ${play.script} --`;
  const commandOf = (options: string) =>
    [...given, script, options, shown].filter((one) => one !== "").join(" ");
  // The seed fixes the plan, not the order of events: a second run says whether it fails every time.
  const again = seed === null ? null : (await runPlay(play, play.options, [seed, seed])).length > 0;
  const options = seed === null || again === false ? play.options : await findShortest(play, seed);
  const name = `${nameOf(play)}-${seed ?? Date.now()}`.replaceAll(/[^\w.-]+/g, "-");
  const file = join(failuresFolder, `${name}.json`);
  const text = {
    command: commandOf(options),
    failedAs: commandOf(play.options),
    seed,
    commit,
    failsAgain: again,
  };
  writeFileSync(file, `${JSON.stringify({ ...text, problems: failure.problems }, null, 2)}\n`);
  console.log(`${commandOf(options)}\n  ${failure.problems.slice(0, 3).join("\n  ")}\n  written to ${file}`);
  if (seed === null || play.script !== "simulate" || kept >= MOST_KEPT) return;
  kept += 1;
  const found = `Found by night at ${commit}: ${failure.problems[1] ?? failure.problems[0]}`.slice(0, 300);
  const all: KeptSeed[] = [...readKeptSeeds(), { options, seed, why: found }];
  writeFileSync(KEPT_SEEDS_FILE, `${JSON.stringify(all, null, 2)}\n`);
}

async function findShortest(play: NightlyPlay, seed: number): Promise<string> {
  for (const options of play.shorter) {
    if ((await runPlay(play, options, [seed, seed])).length > 0) return options;
  }
  return play.options;
}

function hasChanged(play: NightlyPlay): boolean {
  const last = history[nameOf(play)]?.lastCommit;
  if (last === undefined) return true;
  try {
    return git("diff", "--name-only", last, "--", ...play.touchedBy) !== "";
  } catch {
    // The commit is not in this clone.
    return true;
  }
}

function halve(old: History): History {
  return Object.fromEntries(
    Object.entries(old).map(([name, one]) => [name, { ...one, recentSeconds: one.recentSeconds / 2 }]),
  );
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
