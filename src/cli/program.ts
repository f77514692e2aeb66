/** The command `recon`: its subcommands, and how a failure ends it. */

import { readFileSync, writeSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { Socket } from "node:net";
import { argv, stderr, stdout } from "node:process";
import type { Writable } from "node:stream";
import { Command, CommanderError } from "commander";
import { EXIT_FAILED, EXIT_USAGE, reportFailure } from "./run/run-command.ts";

/** Each command loads its own modules only, so that short commands start fast. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  worker: async () => (await import("./commands/worker.ts")).addWorkerCommand,
  callbacks: async () => (await import("./commands/callbacks.ts")).addCallbacksCommand,
  tap: async () => (await import("./commands/tap/tap.ts")).addTapCommand,
  sandbox: async () => (await import("./commands/sandbox.ts")).addSandboxCommand,
  migrate: async () => (await import("./commands/migrate.ts")).addMigrateCommand,
  backfill: async () => (await import("./commands/backfill.ts")).addBackfillCommands,
  coverage: async () => (await import("./commands/coverage.ts")).addCoverageCommand,
  status: async () => (await import("./commands/status.ts")).addStatusCommand,
  doctor: async () => (await import("./commands/doctor.ts")).addDoctorCommand,
  find: async () => (await import("./commands/find.ts")).addFindCommand,
  mismatches: async () => (await import("./commands/mismatches/mismatches.ts")).addMismatchCommands,
  incidents: async () => (await import("./commands/incidents.ts")).addIncidentCommands,
  evidence: async () => (await import("./commands/evidence.ts")).addEvidenceCommand,
  archive: async () => (await import("./commands/archive.ts")).addArchiveCommand,
  close: async () => (await import("./commands/close.ts")).addCloseCommand,
  report: async () => (await import("./commands/report.ts")).addReportCommand,
  invoice: async () => (await import("./commands/invoice.ts")).addInvoiceCommands,
  transfers: async () => (await import("./commands/transfers.ts")).addTransferCommands,
  rejected: async () => (await import("./commands/rejected.ts")).addRejectedCommands,
  alerts: async () => (await import("./commands/alerts.ts")).addAlertCommands,
  provider: async () => (await import("./commands/provider/provider.ts")).addProviderCommands,
  ledger: async () => (await import("./commands/ledger.ts")).addLedgerCommands,
  wallet: async () => (await import("./commands/wallet.ts")).addWalletCommands,
};

/**
 * Creates every subcommand with its help. Nothing runs yet.
 * @param asked the only subcommand to load, if it is a known one
 */
export async function createProgram(asked?: string): Promise<Command> {
  const program = new Command("recon")
    .version(readVersion(), "--version", "print the version")
    .description("Finds every difference between what a game provider reports and what your own ledger says.")
    .showHelpAfterError("(--help shows how)")
    // An option after a subcommand belongs to the subcommand, even if the parent command has an option of that name.
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "recon: ")) })
    .exitOverride();

  const isKnown = asked !== undefined && Object.hasOwn(COMMANDS, asked);
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (!isKnown || name === asked) (await load())(program);
  }
  return program;
}

/** The version of the package: `package.json` lies beside the sources, and above the compiled code. */
function readVersion(): string {
  const path = findPackageJSON("..", import.meta.url);
  if (path === undefined) throw new Error("package.json is missing beside src or dist");
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

/**
 * Runs a command. A failure prints one line and sets the exit code.
 * @param args without the program's name; default: those of this process
 */
export async function runRecon(args: readonly string[] = argv.slice(2)): Promise<void> {
  // A reader such as `head` may end early and leave the rest unread.
  for (const stream of [stdout, stderr]) {
    writeWhole(stream);
    stream.once("error", ({ code }: NodeJS.ErrnoException) => {
      stream.on("error", () => {});
      if (code === "EPIPE") return;
      process.exitCode = EXIT_FAILED;
      if (stream === stdout) stderr.write(`recon: standard output cannot be written to (${code})\n`);
    });
  }

  try {
    const program = await createProgram(args[0]);
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.exitCode === 0;
    if (error instanceof CommanderError) process.exitCode = isHelp ? 0 : EXIT_USAGE;
    else process.exitCode = reportFailure(error);
  }
}

/**
 * Node's stream for a file takes half a write for a whole one. On a disk that fills up, a JSON document would be cut
 * off, and the command would end with 0.
 */
function writeWhole(stream: Writable & { readonly fd: number }): void {
  if (stream instanceof Socket || typeof stream.fd !== "number") return;
  stream._write = (chunk: Buffer, _encoding, done) => {
    try {
      for (let rest = chunk; rest.length > 0; ) rest = rest.subarray(writeSync(stream.fd, rest));
      done();
    } catch (error) {
      done(error as Error);
    }
  };
}
