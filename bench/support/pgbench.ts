/** Runs pgbench, PostgreSQL's own load generator, for the callbacks' figure. */

import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { promisify } from "node:util";
import { BY_KEYS } from "../../src/db/pipelined-connection.ts";

const run = promisify(execFile);
/** The settings of the wallet's own sessions. */
const SETTINGS = Object.entries(BY_KEYS)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");
/** Debian installs pgbench outside of PATH, in a folder for each version. */
const DEBIAN = "/usr/lib/postgresql/*/bin/pgbench";

/** @returns the program to run @throws Error that says what to install if pgbench is missing */
export async function findPgbench(): Promise<string> {
  for (const program of ["pgbench", ...globSync(DEBIAN).sort().reverse()]) {
    const works = await run(program, ["--version"]).then(
      () => true,
      () => false,
    );
    if (works) return program;
  }
  throw new Error(
    "pgbench is not installed: it comes with PostgreSQL (Debian and Ubuntu: apt-get install postgresql-contrib; macOS: brew install libpq), and must be on PATH",
  );
}

/** Makes the tables of pgbench's own scripts. @param scale the number of branches, with 100,000 accounts each */
export async function initPgbench(program: string, url: string, scale: number): Promise<void> {
  await runProgram(program, url, ["--initialize", "--quiet", `--scale=${scale}`]);
}

/**
 * Runs pgbench once, with prepared statements.
 * @returns scripts per second
 */
export async function runPgbench(program: string, url: string, args: readonly string[]): Promise<number> {
  const stdout = await runProgram(program, url, ["--no-vacuum", "--protocol=prepared", ...args]);
  const perSecond = /^tps = ([\d.]+)/m.exec(stdout)?.[1];
  const failed = /number of failed transactions: ([1-9]\d*)/.exec(stdout)?.[1];
  if (perSecond === undefined || failed !== undefined) throw new Error(`pgbench failed:\n${stdout}`);
  return Number(perSecond);
}

/** The password is passed in the environment, because an error shows the arguments. */
async function runProgram(program: string, url: string, args: readonly string[]): Promise<string> {
  const open = new URL(url);
  const environment = {
    ...process.env,
    PGPASSWORD: decodeURIComponent(open.password),
    PGOPTIONS: SETTINGS,
  };
  open.password = "";
  const { stdout } = await run(program, [...args, open.href], { env: environment });
  return stdout;
}
