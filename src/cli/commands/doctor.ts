/** `recon doctor`: checks what the worker needs, and says what to correct. */

import type { Command } from "commander";
import { describeError, type ErrorCode, ReconError } from "../../errors.ts";
import { type OpenRecon, openRecon } from "../run/open.ts";
import { EXIT_FAILED } from "../run/run-command.ts";
import { printJson, printLine, showText } from "../terminal/print.ts";
import { type Diagnosis, runChecks } from "./doctor-checks.ts";

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description(
      "checks settings, database, Redis, ledger relation, provider and clock, and says what to correct",
    )
    .option("--json", "one JSON document")
    .action(async (options: { json?: boolean }) => {
      const diagnoses = await diagnose();
      const ok = diagnoses.every((one) => one.ok);
      if (options.json) printJson({ ok, checks: diagnoses });
      else for (const one of diagnoses) printDiagnosis(one);
      if (!ok) process.exitCode = EXIT_FAILED;
    });
}

async function diagnose(): Promise<Diagnosis[]> {
  let recon: OpenRecon;
  try {
    recon = await openRecon(["database", "queue", "provider"]);
  } catch (error) {
    return whyNotOpened(error);
  }
  try {
    const settings = { check: "settings", ok: true, found: "every setting is right", mend: null };
    return [settings, ...(await runChecks(recon))];
  } finally {
    await recon.close();
  }
}

const MEND_TO_OPEN: Partial<Record<ErrorCode, { readonly check: string; readonly mend: string }>> = {
  "settings-invalid": {
    check: "settings",
    mend: "correct the settings named, in the environment or the config file",
  },
  "database-unreachable": { check: "database", mend: "start PostgreSQL, or correct DATABASE_URL" },
  // Every other check would call what was found.
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

function printDiagnosis({ check, ok, found, mend }: Diagnosis): void {
  const [first = "", ...others] = found.split("\n").map(showText);
  printLine(`${ok ? "ok   " : "WRONG"}  ${check.padEnd(10)}  ${first}`);
  for (const line of others) printLine(`${" ".repeat(19)}${line}`);
  if (mend !== null) printLine(`${" ".repeat(19)}-> ${mend}`);
}
