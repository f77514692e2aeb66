/** Runs one round of a play as a process of its own, and reads what failed. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { guardChild } from "../../src/embedded/child-process.ts";
import type { NightlyPlay } from "./plays.ts";

const ROOT = join(import.meta.dirname, "../..");
const MAINS = {
  simulate: "test/simulation/main.ts",
  live: "test/simulation/live/main.ts",
  saturate: "test/saturation/main.ts",
  test: "node_modules/vitest/vitest.mjs",
};
/** A round that takes longer hangs. */
const LIMIT_SECONDS = 1_800;
const MOST_TEXT = 20_000;

export interface Failure {
  /** null: the play has no seeds, or the process ended before it said which seed failed */
  readonly seed: number | null;
  readonly problems: readonly string[];
}

/** @param options those of the play, or shorter ones @param seeds the first and the last one */
export async function runPlay(
  { script, seeds: count, environment = {} }: NightlyPlay,
  options: string,
  seeds: readonly [number, number],
): Promise<Failure[]> {
  const given = options.split(" ").filter((one) => one !== "");
  const named = script === "simulate" ? ["--seeds", seeds.join("..")] : ["--seed", String(seeds[0])];
  const args = script === "test" ? ["run", ...given] : [...given, ...(count === 0 ? [] : named), "--json"];
  const { code, output, errors } = await runScript([join(ROOT, MAINS[script]), ...args], environment);
  if (code === 0) return [];
  const failures = script === "test" ? [] : readFailures(output);
  if (failures.length > 0) return failures;
  const said = script === "test" ? output : errors;
  return [{ seed: null, problems: [`ended with ${code}`, said.slice(-MOST_TEXT)] }];
}

interface Output {
  readonly runs?: readonly { seed: number; precision: number; recall: number }[];
  readonly problems?: readonly string[];
  readonly cases?: readonly {
    checks: readonly { what: string; value: string | number; bar: string; holds: boolean }[];
  }[];
}

/** @param output of `--json`; each script's form is in its `main.ts` */
export function readFailures(output: string): Failure[] {
  const { runs = [], problems = [], cases } = parse(output);
  if (cases !== undefined) {
    const failed = cases.flatMap(({ checks }) => checks).filter(({ holds }) => !holds);
    const lines = failed.map(({ what, value, bar }) => `${what}: ${value} (${bar})`);
    return lines.length === 0 ? [] : [{ seed: null, problems: lines }];
  }
  return runs.flatMap(({ seed, precision, recall }) => {
    const own = problems.filter((one) => runs.length === 1 || one.startsWith(`seed ${seed}: `));
    if (precision === 1 && recall === 1 && own.length === 0) return [];
    return [{ seed, problems: [`precision ${precision}, recall ${recall}`, ...own] }];
  });
}

function parse(output: string): Output {
  try {
    return JSON.parse(output.slice(output.indexOf("{")));
  } catch {
    return {};
  }
}

function runScript(args: readonly string[], environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: ROOT,
    env: { ...process.env, ...environment },
  });
  void guardChild(child, ["KILL"]);
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT_SECONDS * 1000);
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-MOST_TEXT);
  });
  return new Promise<{ code: number | string; output: string; errors: string }>((resolve) => {
    child.once("close", (code, signal) => {
      clearTimeout(limit);
      resolve({ code: code ?? signal ?? "unknown", output, errors });
    });
  });
}
