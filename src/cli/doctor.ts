/** `recon doctor`: checks what the worker stands on, and says what to mend. */

import type { Command } from "commander";
import { countMissingMigrations } from "../db/migrate.ts";
import { describeError, type ErrorCode, ReconError } from "../errors.ts";
import { checkLedger } from "../flows/check-ledger.ts";
import { type OpenRecon, openRecon } from "./open.ts";
import { printJson, printLine, showText } from "./print.ts";
import { EXIT_FAILED } from "./run-command.ts";

/** What one check found. */
interface Diagnosis {
  readonly check: string;
  readonly ok: boolean;
  /** what was found, or what is wrong */
  readonly found: string;
  /** what to do; null: nothing */
  readonly mend: string | null;
}

/** Looks at one thing. It throws only what nobody has thought of, which is then its diagnosis. */
interface Check {
  readonly name: string;
  run(recon: OpenRecon): Promise<Omit<Diagnosis, "check">>;
}

/** In their order; where one of the first two fails, what comes behind it cannot be looked at. */
const CHECKS: readonly Check[] = [
  { name: "migrations", run: checkMigrations },
  { name: "ledger", run: checkLedgerRelation },
];

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("checks settings, database and ledger relation, and says what to mend")
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
    recon = await openRecon(["database"]);
  } catch (error) {
    return whyNotOpened(error);
  }
  try {
    const diagnoses: Diagnosis[] = [
      { check: "settings", ok: true, found: "every setting is right", mend: null },
      { check: "database", ok: true, found: "it answers", mend: null },
    ];
    for (const check of CHECKS) {
      const result = await check.run(recon).catch((error: unknown) => ({
        ok: false,
        found: `it cannot be checked: ${describeError(error)}`,
        mend: "mend what stands above, then ask again",
      }));
      diagnoses.push({ check: check.name, ...result });
    }
    return diagnoses;
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
  "embedded-failed": { check: "database", mend: "set DATABASE_URL to a PostgreSQL of your own" },
};

function whyNotOpened(error: unknown): Diagnosis[] {
  const known = error instanceof ReconError ? MEND_TO_OPEN[error.code] : undefined;
  if (known === undefined) throw error;
  return [{ check: known.check, ok: false, found: describeError(error), mend: known.mend }];
}

async function checkMigrations({ databaseUrl }: OpenRecon) {
  const missing = await countMissingMigrations(databaseUrl);
  if (missing === 0) return { ok: true, found: "the database is up to date", mend: null };
  const found = `the database lacks ${missing} migration${missing === 1 ? "" : "s"}`;
  return { ok: false, found, mend: 'run "recon migrate", or start a worker, which migrates too' };
}

async function checkLedgerRelation({ context }: OpenRecon) {
  try {
    const { relation, isEmpty, rejected } = await checkLedger(context);
    const source = relation === null ? "the table callback_entries" : `"${relation}" can be read`;
    if (rejected > 0) {
      return {
        ok: false,
        found: `${source}, but ${rejected} of its rows cannot be used`,
        mend: "look at rejected_entries, which has them with their reasons; mended rows are read again with their day",
      };
    }
    const found = isEmpty
      ? `${source}; no entry is known yet: nothing is compared until the first one`
      : source;
    return { ok: true, found, mend: null };
  } catch (error) {
    if (!(error instanceof ReconError)) throw error;
    const mend =
      "give the user of DATABASE_URL a table or view with these columns (README, Connect it to your provider and your ledger)";
    return { ok: false, found: describeError(error), mend };
  }
}

function printDiagnosis({ check, ok, found, mend }: Diagnosis): void {
  const [first = "", ...others] = found.split("\n").map(showText);
  printLine(`${ok ? "ok   " : "WRONG"}  ${check.padEnd(10)}  ${first}`);
  for (const line of others) printLine(`${" ".repeat(19)}${line}`);
  if (mend !== null) printLine(`${" ".repeat(19)}-> ${mend}`);
}
