#!/usr/bin/env node
/** The command `recon`. */

import { Command, CommanderError } from "commander";
import { addMigrateCommand } from "./migrate.ts";
import { addMismatchCommands } from "./mismatches.ts";
import { EXIT_USAGE, reportFailure } from "./run-command.ts";
import { addSandboxCommand } from "./sandbox.ts";
import { addStatusCommand } from "./status.ts";
import { addWorkerCommand } from "./worker.ts";

const program = new Command("recon")
  .description("Finds every difference between what a game provider reports and what your own ledger says.")
  .showHelpAfterError("(--help shows how)")
  .exitOverride();

addWorkerCommand(program);
addSandboxCommand(program);
addMigrateCommand(program);
addStatusCommand(program);
addMismatchCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  const isHelp = error instanceof CommanderError && error.exitCode === 0;
  if (error instanceof CommanderError) process.exitCode = isHelp ? 0 : EXIT_USAGE;
  else process.exitCode = reportFailure(error);
}
