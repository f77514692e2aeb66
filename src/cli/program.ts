/** The command `recon`: its subcommands, and how a failure ends it. */

import { readFileSync, writeSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { Socket } from "node:net";
import { argv, stderr, stdout } from "node:process";
import type { Writable } from "node:stream";
import { Command, CommanderError } from "commander";
import { EXIT_FAILED, EXIT_USAGE, reportFailure } from "./run/run-command.ts";
import { expectDocument, paint, printFailure } from "./terminal/print.ts";

/** Each command loads its own modules only, so that short commands start fast. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  init: async () => (await import("./commands/init.ts")).addInitCommand,
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

/** What `--help` of a command shows; `find`, `transfers add` and others have a text of their own beside it. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: ["init --product P1 --product P2 --zone Asia/Bangkok"],
  worker: ["worker", "worker 2>> recon.log"],
  callbacks: ["callbacks"],
  tap: ["tap --target https://wallet.example/callbacks"],
  sandbox: ["sandbox --port 4000 --faults none"],
  migrate: ["migrate"],
  backfill: [
    "backfill --product P1 --from 2026-11-01 --to 2026-11-03 --dry-run",
    "backfill --product P1 --from yesterday --to today --wait",
  ],
  "backfill list": ["backfill list --limit 10"],
  "backfill pause": ["backfill pause 3"],
  "backfill resume": ["backfill resume 3"],
  "backfill cancel": ["backfill cancel 3"],
  coverage: ["coverage --product P1 --from yesterday --to today"],
  status: ["status", "status --json"],
  doctor: ["doctor"],
  find: ["find bet-1 --json"],
  "mismatches list": [
    "mismatches list --currency THB --sort at-risk",
    "mismatches list --kind missing-in-ledger --happened-from yesterday",
    "mismatches list --status resolved --from 2026-11-01 --to 2026-12-01 --csv",
  ],
  "mismatches show": ["mismatches show 7"],
  "mismatches ack": ["mismatches ack 7", "mismatches ack --incident 2 --yes"],
  "mismatches resolve": [
    'mismatches resolve 7 --note "credited by hand" --adjustment 4.50 --ref R-1',
    'mismatches resolve --incident 2 --note "the provider corrected it" --dry-run',
  ],
  "mismatches ignore": ['mismatches ignore 7 --note "a test player"'],
  "mismatches reopen": ['mismatches reopen 7 --note "it was not credited"'],
  "incidents list": ["incidents list --sort at-risk", "incidents list --currency THB --state all"],
  "incidents show": ["incidents show 2"],
  evidence: ["evidence 7 8 --out dispute.html", "evidence --incident 2 --out dispute.json"],
  "archive verify": ["archive verify /var/lib/recon/archive"],
  close: [
    "close --day yesterday --dry-run",
    "close --month last --yes",
    'close --day 2026-11-20 --accept-gap P1 --note "the product was switched off"',
  ],
  report: [
    "report --day yesterday",
    "report --day yesterday --against 2026-11-20",
    "report --day 2026-11-20 --items --explained-by mismatch --csv",
    "report --month last --csv",
    "report --verify",
  ],
  "invoice check": ["invoice check invoice.csv --month last"],
  "transfers add": ["transfers add < transfers.ndjson"],
  "transfers list": ["transfers list --status pending,inconclusive"],
  "transfers show": ["transfers show ref-1"],
  "transfers close": ['transfers close ref-1 --note "the provider confirmed it by mail"'],
  "rejected list": ["rejected list --side entry --since yesterday"],
  "rejected show": ["rejected show entry-7"],
  "rejected retry": ["rejected retry entry-7", "rejected retry"],
  "alerts test": ["alerts test", "alerts test --kind incident-opened"],
  "ledger import": [
    "ledger import entries.ndjson --format entries --dry-run",
    "ledger import - --format callbacks",
  ],
  "ledger accept": ['ledger accept --day 2026-11-20 --note "test entries, deleted on purpose"'],
  "mismatches assign": ["mismatches assign 7 8 --owner mia", "mismatches assign --kind stuck-open --nobody"],
  "mismatches ticket": ["mismatches ticket 7 --ticket PRV-12", "mismatches ticket 7 --answered"],
  "mismatches remind": ["mismatches remind 7 --at 2026-11-23T09:00:00Z", "mismatches remind 7 --none"],
  "incidents assign": ["incidents assign 3 --owner mia"],
  "incidents ticket": ["incidents ticket 3 --ticket PRV-12"],
  "incidents remind": ["incidents remind 3 --at 2026-11-23T09:00:00Z"],
  "wallet credit": ["wallet credit --username anna --currency THB --amount 100.00 --ref R-1"],
  "wallet show": ["wallet show --username anna"],
  "provider seamless-logIn": [
    "provider seamless-logIn --username anna --product P1 --game g-1 --session-token t-1",
  ],
  "provider seamless-games": ["provider seamless-games --product P1"],
  "provider betTransactionsV2": [
    "provider betTransactionsV2 --product P1 --from 2026-11-20T10:00:00Z --to 2026-11-20T10:10:00Z",
  ],
  "provider freeGameList": ["provider freeGameList --product P1"],
  "provider verify-topup": ["provider verify-topup --product P1 --username anna --transaction-id ref-1"],
  "provider logIn": ["provider logIn --username anna --product P1 --game g-1"],
  "provider deposit": [
    "provider deposit --username anna --product P1 --amount 10.00 --currency THB --ref ref-1",
  ],
  "provider withdraw": [
    "provider withdraw --username anna --product P1 --amount 10.00 --currency THB --ref ref-2",
  ],
  "provider verifyDepositWithdraw": [
    "provider verifyDepositWithdraw --username anna --product P1 --ref ref-1 --type DEPOSIT",
  ],
  "provider games": ["provider games --product P1"],
  "provider betLimitsV2": ["provider betLimitsV2 --username anna --product P1 --currency THB"],
  "provider free-game": [
    "provider free-game --username anna --product P1 --name spring --expires-in-hours 24 --bet-amount 1 --game-count 10 --game-ids g-1",
  ],
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
    .hook("preAction", async (_, asked) => (await import("./run/dates.ts")).readDates(asked))
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, `${paint("red", "recon:", stderr)} `)),
    })
    .exitOverride();

  const isKnown = asked !== undefined && Object.hasOwn(COMMANDS, asked);
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (!isKnown || name === asked) (await load())(program);
  }
  addExamples(program, "");
  return program;
}

/** @param before the names of the commands above, each with a space behind it */
function addExamples(command: Command, before: string): void {
  for (const one of command.commands) {
    const name = `${before}${one.name()}`;
    const examples = EXAMPLES[name] ?? [];
    if (examples.length > 0)
      one.addHelpText("after", `\nExamples:\n${examples.map((line) => `  recon ${line}`).join("\n")}`);
    addExamples(one, `${name} `);
  }
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

  expectDocument(args.includes("--json"));
  try {
    const program = await createProgram(args[0]);
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.exitCode === 0;
    if (isHelp) process.exitCode = 0;
    else if (error instanceof CommanderError) {
      process.exitCode = EXIT_USAGE;
      printFailure({
        code: "usage",
        message: error.message.replace(/^error: /, "").replaceAll("\n", " "),
        fields: [],
      });
    } else process.exitCode = reportFailure(error);
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
