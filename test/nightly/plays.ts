/** What a night plays: each simulation, live, and each case of saturation. Adding one is adding a line. */

import { readdirSync } from "node:fs";

export interface NightlyPlay {
  /** test: tests that play more than in `npm test`, by these variables of the environment */
  readonly script: "simulate" | "live" | "saturate" | "test";
  /** as they are typed, without seeds */
  readonly options: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** seeds of a round; 0: it has none */
  readonly seeds: number;
  /** about what a round takes on two cores */
  readonly seconds: number;
  /** A change below these paths lets it be played more often. */
  readonly touchedBy: readonly string[];
  /** the options to try for a seed that failed, shortest first; the first that fails too is reported */
  readonly shorter: readonly string[];
}

const MONEY = ["src/diff", "src/ledger", "src/mismatches", "src/db", "test/simulation"];
const MINUTES = 60;

const simulate = (
  options: string,
  seeds: number,
  seconds: number,
  touchedBy: readonly string[],
  shorter: readonly string[] = [],
): NightlyPlay => ({ script: "simulate", options, seeds, seconds, touchedBy, shorter });

export const PLAYS: readonly NightlyPlay[] = [
  simulate("", 8, 80, MONEY),
  simulate("--ledger insert", 4, 40, MONEY, [""]),
  simulate("--ledger relation", 4, 60, [...MONEY, "src/flows/ledger"], [""]),
  simulate("--ledger changing", 4, 60, [...MONEY, "src/flows/ledger"], [""]),
  simulate("--ledger import-entries", 4, 60, MONEY, [""]),
  simulate("--ledger import-callbacks", 4, 60, MONEY, [""]),
  simulate("--ledger tap", 4, 60, [...MONEY, "src/tap"], [""]),
  simulate("--transfers", 3, 60, ["src/verify", "src/flows/verify", "src/transfer.ts"]),
  simulate("--year --short", 1, 60, ["src/closing", "src/flows/closing", "src/flows/retention", ...MONEY]),
  simulate("--callbacks --kills 4", 1, 3 * MINUTES, ["src/callbacks", ...MONEY], ["", "--callbacks"]),
  simulate(
    "--faults hostile --kills 20",
    1,
    3 * MINUTES,
    ["src/sync", "src/flows/pull", "src/provider", "src/db", "jobs"],
    ["--kills 1", "--faults hostile", "--faults hostile --kills 5"],
  ),
  {
    script: "live",
    options: "--minutes 5",
    seeds: 1,
    seconds: 9 * MINUTES,
    touchedBy: ["src", "jobs"],
    shorter: ["--minutes 1", "--minutes 2"],
  },
  test("test/crash/cuts", { RECON_TEST_CUTS: "20" }, 8 * MINUTES, ["src", "test/crash/cuts"]),
  test("test/callbacks/history.test.ts", { RECON_TEST_RUNS: "400" }, 2 * MINUTES, ["src/callbacks"]),
  test(
    "test/flows/retention/plain-agrees.test.ts test/flows/closing/invariant.test.ts",
    { RECON_TEST_RUNS: "50" },
    3 * MINUTES,
    ["src/closing", "src/flows/closing", "src/flows/retention"],
  ),
  test("test/jobs/promised-ages.test.ts", { RECON_TEST_DAY: "whole" }, 20 * MINUTES, ["src", "jobs"]),
  test(
    "test/sync/lease-orders.test.ts test/provider/budget-orders.test.ts test/flows/alerts/delivery-orders.test.ts",
    { RECON_TEST_RUNS: "200" },
    5 * MINUTES,
    ["src/sync", "src/provider", "src/alerts", "src/flows/pull", "src/flows/alerts"],
  ),
  ...readCases().map(
    (name): NightlyPlay => ({
      script: "saturate",
      options: name,
      seeds: 0,
      seconds: 2 * MINUTES,
      touchedBy: ["jobs", "src/work", "src/provider", "src/verify", "src/db"],
      shorter: [],
    }),
  ),
];

export function nameOf({ script, options }: NightlyPlay): string {
  return options === "" ? script : `${script} -- ${options}`;
}

function test(
  options: string,
  environment: Readonly<Record<string, string>>,
  seconds: number,
  touchedBy: readonly string[],
): NightlyPlay {
  return { script: "test", options, environment, seeds: 0, seconds, touchedBy, shorter: [] };
}

/** A case is named as its file. */
function readCases(): string[] {
  const files = readdirSync(new URL("../saturation/cases/", import.meta.url)).filter((file) =>
    file.endsWith(".ts"),
  );
  return files.map((file) => file.replace(/\.ts$/, "")).sort();
}
