/** `recon sandbox`: the stand-in provider by itself, for trying out and for tests. */

import type { Command } from "commander";
import { parseInstant, showInstant, systemClock } from "../../clock.ts";
import { readSettings } from "../../config.ts";
import { describeError, ReconError } from "../../errors.ts";
import { hostileFaults, readFaultFile } from "../../sandbox/faults/fault-list.ts";
import { EXCLUDED_ENDS, type RangeHabits } from "../../sandbox/server/bet-endpoint.ts";
import type { TimeRange } from "../../window.ts";
import { stopSignal } from "../run/run-until-stopped.ts";
import { type FaultsOf, slowHour, startFixedWorld, startTryOut } from "../run/try-out.ts";
import { TRY_OUT_PRODUCTS } from "../run/try-out-config.ts";
import { printLine } from "../terminal/print.ts";

interface SandboxFlags {
  readonly host: string;
  readonly port: string;
  readonly seed?: string;
  readonly username: string;
  readonly password?: string;
  readonly from?: string;
  readonly to?: string;
  readonly faults: string;
  readonly excludes: string;
  readonly wholeSeconds?: true;
}

const PRODUCT_IDS = TRY_OUT_PRODUCTS.map(({ productId }) => productId);

export function addSandboxCommand(program: Command): void {
  program
    .command("sandbox")
    .description("run the stand-in provider by itself: a seeded world of players, over HTTP")
    .option("--host <host>", "the address to listen on", "127.0.0.1")
    .option("--port <port>", "the port to listen on; 0: any free port", "4000")
    .option("--username <name>", "the username of the agent", "sandbox")
    .option("--password <password>", "the password of the agent; default: random")
    .option("--seed <number>", "the seed of a new world; default: random")
    .option(
      "--from <time>",
      "with --to and --seed: the beginning of a fixed period; the play is the same at each start and is not stored",
    )
    .option("--to <time>", "the end of the fixed period")
    .option(
      "--faults <faults>",
      "slow-hour, hostile, none, or a file as src/sandbox/README.md describes it",
      "slow-hour",
    )
    .option(
      "--excludes <ends>",
      `the ends of a range that answers leave out: ${EXCLUDED_ENDS.join(", ")}`,
      "end",
    )
    .option("--whole-seconds", "cut the times of ranges and records at whole seconds")
    .action(runSandbox);
}

async function runSandbox(flags: SandboxFlags): Promise<void> {
  if (readSettings([]).production) throw usage("NODE_ENV is production: no sandbox starts there");
  const { seed, period } = readPlay(flags);
  const serving = {
    host: flags.host,
    port: readWhole("--port", flags.port, 65_535),
    username: readUsername(flags.username),
    ...(flags.password === undefined ? {} : { password: flags.password }),
    faultsOf: readFaults(flags.faults),
    ranges: { excludes: readExcludes(flags.excludes), wholeSeconds: flags.wholeSeconds === true },
  };
  const stopped = stopSignal();
  const sandbox =
    period === null
      ? await startTryOut(systemClock, null, { ...serving, seed })
      : await startFixedWorld(systemClock, { seed, period }, serving);
  const { baseUrl, username, password } = sandbox.provider;
  const played =
    period === null ? "" : `, played from ${showInstant(period.from)} to ${showInstant(period.to)}`;
  printLine(`The sandbox listens; its world has the seed ${sandbox.seed}${played}. For a worker:`);
  printLine(`  PROVIDER_BASE_URL=${baseUrl} PROVIDER_USERNAME=${username} PROVIDER_PASSWORD=${password}`);
  printLine(`  products ${PRODUCT_IDS.join(", ")}`);
  await stopped;
  await sandbox.stop();
}

function readFaults(choice: string): FaultsOf {
  if (choice === "slow-hour") return slowHour;
  if (choice === "hostile") return ({ seed }) => hostileFaults(seed);
  if (choice === "none") return () => [];
  const faults = readFaultFile(choice, PRODUCT_IDS);
  return () => faults;
}

function readExcludes(text: string): RangeHabits["excludes"] {
  const ends = EXCLUDED_ENDS.find((one) => one === text);
  if (ends === undefined) throw usage(`--excludes "${text}" is not one of ${EXCLUDED_ENDS.join(", ")}`);
  return ends;
}

/** A fixed period of the world of a seed, or play from now on. */
type Play =
  | { readonly seed: number; readonly period: TimeRange }
  | { readonly seed: number | null; readonly period: null };

function readPlay({ from, to, seed: given }: SandboxFlags): Play {
  const seed = given === undefined ? null : readWhole("--seed", given, 0xffff_ffff);
  if (from === undefined && to === undefined) return { seed, period: null };
  if (from === undefined || to === undefined) throw usage("give both --from and --to, or neither");
  const period = { from: readTime("--from", from), to: readTime("--to", to) };
  if (period.from >= period.to) throw usage(`--from ${from} is not before --to ${to}`);
  if (seed === null)
    throw usage("--from and --to need --seed: without a seed, each start plays another world");
  return { seed, period };
}

function readTime(name: string, text: string): number {
  try {
    return parseInstant(text, name);
  } catch (error) {
    throw usage(describeError(error));
  }
}

/** In basic authentication a name ends at its first colon. */
function readUsername(text: string): string {
  if (text !== "" && !text.includes(":")) return text;
  throw usage(`--username "${text}" must not be empty and must not contain a colon`);
}

function readWhole(name: string, text: string, most: number): number {
  if (/^\d{1,10}$/.test(text) && Number(text) <= most) return Number(text);
  throw usage(`${name} "${text}" is not a whole number from 0 to ${most}`);
}

function usage(message: string): ReconError {
  return new ReconError("usage", message);
}
