/** `recon ledger`: takes entries or recorded callbacks from a file, and accepts that entries are gone. */

import { basename } from "node:path";
import { stderr } from "node:process";
import type { Command } from "commander";
import { ReconError } from "../../errors.ts";
import { compareEntryDaysOf } from "../../flows/ledger/compare-entry-days.ts";
import { importLedger, recordImport, sumCounts } from "../../flows/ledger/import-ledger.ts";
import { IMPORT_FORMATS, type ImportFormat } from "../../flows/ledger/read-import.ts";
import { acceptGoneDay } from "../../ledger/entry-days-store.ts";
import type { ImportCounts } from "../../ledger/import-lines.ts";
import type { ImportTotals } from "../../ledger/past-import-store.ts";
import { parseDay } from "../../ops/input/report-query.ts";
import { readNote } from "../../ops/input/transfer-query.ts";
import { openInput } from "../run/open.ts";
import { withRecon } from "../run/run-command.ts";
import { actorName, withAudit } from "../run/with-audit.ts";
import { printJson, printLine, showText } from "../terminal/print.ts";
import { showImportProgress } from "../terminal/progress.ts";

interface ImportOptions {
  readonly format: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Further rejected lines are counted; all of them are kept in the database. */
const MOST_LISTED = 1_000;
const MOST_SHOWN = 20;

const HELP = `
Entries are JSON lines with the columns of callback_entries, or CSV whose first line names them:
  {"entry_id":"c0ffee-1","callback":"placeBets","request_id":"c0ffee","product_id":"P1","username":"anna", …}
Callbacks are JSON lines; request and response are objects or their text, and response may be null:
  {"callback":"placeBets","receivedAt":"2026-11-20T10:00:00Z","request":{…},"response":{"statusCode":0, …}}
What was imported before is known and changes nothing: after an error, import the same file again.`;

export function addLedgerCommands(program: Command): void {
  const ledger = program
    .command("ledger")
    .description("import the ledger from files, or accept that entries are gone");
  ledger
    .command("import")
    .argument("<file>", 'the file; "-" is standard input')
    .description("import entries, or callbacks with your answers, from a file; a repetition changes nothing")
    .requiredOption("--format <format>", "what the lines are: entries or callbacks")
    .option("--dry-run", "only show what would happen to the lines")
    .option("--json", "one JSON document")
    .addHelpText("after", HELP)
    .action(async (file: string, options: ImportOptions) => {
      const format = readFormat(options.format);
      const input = await openInput(file);
      await withRecon(["database"], async ({ context }) => {
        const progress = showImportProgress(stderr, context.clock, input.bytes);
        const totals = sumCounts(MOST_LISTED);
        const dryRun = options.dryRun === true;
        const chunks = progress.counting(input.chunks);
        const onImported = (taken: ImportCounts, line: number) => {
          totals.add(taken);
          progress.show(line);
        };
        try {
          if (dryRun)
            await importLedger(context, chunks, { format, shape: null, unpacks: true, dryRun, onImported });
          else {
            const name = file === "-" ? null : basename(file);
            const source = { who: actorName(), via: "command", format, name, bytes: input.bytes } as const;
            await recordImport(context, chunks, { shape: null, unpacks: true, onImported }, source);
          }
        } catch (error) {
          throw failedBehind(error, totals.all());
        } finally {
          progress.end();
        }
        if (options.json) printJson(totals.all());
        else printTaken(totals.all(), dryRun);
      })();
    });
  ledger
    .command("accept")
    .description("accept that entries of a day are gone or changed: the alert entries-vanished ends")
    .requiredOption("--day <utc-day>", "the day by UTC, as the alert names it")
    .requiredOption("--note <text>", "why this is right; kept in the audit log")
    .action(
      withRecon(["database"], async ({ context }, options: { day: string; note: string }) => {
        const asked = parseDay(options.day, "UTC");
        const { day } = asked;
        const note = readNote({ note: options.note });
        await withAudit(context, "recon ledger accept", { day, note }, async () => {
          await compareEntryDaysOf(context, asked);
          if (!(await acceptGoneDay(context.sql, day)))
            throw new ReconError(
              "not-found",
              `no entry of ${day} is missing; recon status names the days with missing entries`,
            );
        });
        printLine(`The entries of ${day} are accepted as they are now.`);
      }),
    );
}

function readFormat(text: string): ImportFormat {
  const format = IMPORT_FORMATS.find((one) => one === text);
  if (format !== undefined) return format;
  throw new ReconError(
    "usage",
    `--format must be ${IMPORT_FORMATS.join(" or ")}, but is "${showText(text)}"`,
  );
}

function printTaken(totals: ImportTotals, dryRun: boolean): void {
  const { added, known, changed, skipped, rejected, rejectedLines } = totals;
  for (const { line, reason } of rejected.slice(0, MOST_SHOWN)) {
    stderr.write(`line ${line} is rejected: ${showText(reason)}\n`);
  }
  if (rejectedLines > MOST_SHOWN) stderr.write(`and ${rejectedLines - MOST_SHOWN} more lines are rejected\n`);
  const counts = `${added} added, ${known} known already, ${changed} changed`;
  const lines = `${skipped} ${skipped === 1 ? "callback" : "callbacks"} skipped, ${rejectedLines} ${rejectedLines === 1 ? "line" : "lines"} rejected`;
  printLine(`${dryRun ? "Dry run, nothing is stored. Entries: " : "Entries: "}${counts}; ${lines}.`);
  if (changed > 0 && !dryRun) {
    printLine(
      'ledger.rowsChange decides what happens to changed entries: with "never" the first content stays.',
    );
  }
  if (rejectedLines > 0 && !dryRun) {
    printLine(
      "Rejected lines are kept with their reasons (recon rejected list). Correct them, and import them again.",
    );
  }
}

/** What was taken stays taken. */
function failedBehind(error: unknown, { added, known, changed }: ImportTotals): unknown {
  if (error instanceof ReconError) return error;
  if (added + known + changed > 0) {
    stderr.write(
      `The import ended early: ${added} entries were added. Import the same file again: they then count as known.\n`,
    );
  }
  return error;
}
