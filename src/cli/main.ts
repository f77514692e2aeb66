#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=40
/** The command `recon`. */

import { stderr, stdout } from "node:process";
import { Command, CommanderError } from "commander";
import { addBackfillCommands } from "./backfill.ts";
import { addCoverageCommand } from "./coverage.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addMismatchCommands } from "./mismatches.ts";
import { EXIT_USAGE, reportFailure } from "./run-command.ts";
import { addSandboxCommand } from "./sandbox.ts";
import { addStatusCommand } from "./status.ts";
import { addWorkerCommand } from "./worker.ts";

const program = new Command("recon")
  .description("Finds every difference between what a game provider reports and what your own ledger says.")
  .showHelpAfterError("(--help shows how)")
  // An option behind a subcommand is the subcommand's, also where the command before it has one of the same name.
  .enablePositionalOptions()
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "recon: ")) })
  .exitOverride();

addWorkerCommand(program);
addSandboxCommand(program);
addMigrateCommand(program);
addBackfillCommands(program);
addCoverageCommand(program);
addStatusCommand(program);
addMismatchCommands(program);

// The reader may have seen enough, as `head` has: the rest is then said to nobody.
for (const stream of [stdout, stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

try {
  await program.parseAsync();
} catch (error) {
  const isHelp = error instanceof CommanderError && error.exitCode === 0;
  if (error instanceof CommanderError) process.exitCode = isHelp ? 0 : EXIT_USAGE;
  else process.exitCode = reportFailure(error);
}
