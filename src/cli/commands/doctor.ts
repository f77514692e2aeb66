/** `recon doctor`: checks what the worker needs, and says what to correct. */

import type { Command } from "commander";
import { describeError, type ErrorCode, ReconError } from "../../errors.ts";
import { nameRedis, readRedisUrl } from "../../redis-url.ts";
import { EMBEDDED_HOME, type OpenRecon, openRecon } from "../run/open.ts";
import { EXIT_FAILED } from "../run/run-command.ts";
import { paint, printJson, printLine, showText } from "../terminal/print.ts";
import { type Diagnosis, runChecks } from "./doctor-checks.ts";

/** The checks that are about the database. */
const IN_DATABASE: ReadonlySet<string> = new Set([
  ...[
    "database",
    "migrations",
    "connections",
    "ledger",
    "money",
    "products",
    "rights",
    "entries",
    "vacuum",
    "disk",
    "books",
    "amounts",
  ],
]);

/** @returns such as `db.example:5432, database "recon"`, without a password; null: the check is about no server */
function placeOf(check: string, { settings, context }: OpenRecon): string | null {
  const { redisUrl, provider } = settings;
  if (IN_DATABASE.has(check) || (check === "redis" && redisUrl === null)) {
    const { host, port, database } = context.sql.options;
    return `${host.map((name, index) => `${name}:${port[index] ?? port[0]}`).join(", ")}, database "${database}"`;
  }
  if (check === "redis" && redisUrl !== null) {
    const address = readRedisUrl(redisUrl);
    return `${nameRedis(address)}, database ${address.db}`;
  }
  if (provider === null || (check !== "provider" && check !== "clock")) return null;
  const { origin, pathname } = new URL(provider.baseUrl);
  return `${origin}${pathname.replace(/\/$/, "")}`;
}

/** A diagnosis with the server that it is about; null: none. */
interface PlacedDiagnosis extends Diagnosis {
  readonly where: string | null;
}

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description(
      "checks settings, database, Redis, ledger relation, provider and clock, and says what to correct",
    )
    .option("--json", "one JSON document")
    .action(async (options: { json?: boolean }) => {
      const diagnoses = await diagnose();
      const ok = diagnoses.every((one) => one.ok === true);
      if (options.json) printJson({ ok, checks: diagnoses });
      else for (const one of diagnoses) printDiagnosis(one);
      if (!ok) process.exitCode = EXIT_FAILED;
    });
}

async function diagnose(): Promise<PlacedDiagnosis[]> {
  let recon: OpenRecon;
  let unusable: Diagnosis | null = null;
  try {
    recon = await openRecon(["database", "queue", "provider", "ops", "alerts"], 0, (error) => {
      // Every other check would call what another role has planted.
      if (error instanceof ReconError && error.code === "schema-unsafe") throw error;
      [unusable = null] = whyNotOpened(error);
    });
  } catch (error) {
    return whyNotOpened(error).map((one) => ({ ...one, where: null }));
  }
  try {
    const { postgres } = recon.embedded;
    const mend = postgres ? TRY_OUT : null;
    const settings = { check: "settings", ok: true, found: "every setting is right", mend };
    const diagnoses = [settings, ...(await runChecks(recon, unusable))];
    return diagnoses.map((one) => ({ ...one, where: placeOf(one.check, recon) }));
  } finally {
    await recon.close();
  }
}

/** Shown in a terminal in which the worker's variables are not exported. */
const TRY_OUT = `DATABASE_URL is not set in this terminal, so everything below is about the try-out database in ${EMBEDDED_HOME}. For your own, export the variables of its worker and run the doctor again`;

const MEND_TO_OPEN: Partial<Record<ErrorCode, { readonly check: string; readonly mend: string }>> = {
  "settings-invalid": {
    check: "settings",
    mend: "correct the settings named, in the environment or the config file",
  },
  "database-unreachable": { check: "database", mend: "start PostgreSQL, or correct DATABASE_URL" },
  "database-unsuitable": { check: "database", mend: "do what the message says, then run the doctor again" },
  "schema-unsafe": {
    check: "rights",
    mend: "run these statements, then the doctor again: the other checks were not made",
  },
  "embedded-failed": { check: "database", mend: "set DATABASE_URL to a PostgreSQL of your own" },
};

function whyNotOpened(error: unknown): Diagnosis[] {
  const known = error instanceof ReconError ? MEND_TO_OPEN[error.code] : undefined;
  if (known === undefined) throw error;
  return [{ check: known.check, ok: false, found: describeError(error), mend: known.mend }];
}

function printDiagnosis({ check, ok, found, mend, where }: PlacedDiagnosis): void {
  const [first = "", ...others] = found.split("\n").map(showText);
  const state = ok === null ? "-    " : ok ? paint("green", "ok   ") : paint("red", "WRONG");
  const place = ok === true && where !== null ? ` (${showText(where)})` : "";
  printLine(`${state}  ${check.padEnd(11)}  ${first}${place}`);
  for (const line of others) printLine(`${" ".repeat(20)}${line}`);
  if (mend !== null) printLine(`${" ".repeat(20)}-> ${mend}`);
}
