/** `recon transfers`: hands over transfers to be verified, lists and shows them, and closes inconclusive ones. */

import { stdin } from "node:process";
import type { Command } from "commander";
import { describeError, ReconError } from "../../errors.ts";
import {
  describeTransfer,
  readTransferStory,
  type TransferDocument,
  type TransferStory,
} from "../../flows/read/read-transfer.ts";
import {
  closeTransfer,
  type GivenTransfer,
  handOverTransfers,
} from "../../flows/verify/operate-transfers.ts";
import {
  readNote,
  readTransfer,
  readTransferChoice,
  readTransferQuery,
  type TransferQuery,
} from "../../ops/input/transfer-query.ts";
import { listTransfers } from "../../verify/list-store.ts";
import { withRecon } from "../run/run-command.ts";
import { actorName } from "../run/with-audit.ts";
import { printJson, printLine, printTable, showText } from "../terminal/print.ts";

const MOST_LINES = 100_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_PROBLEMS_NAMED = 20;

/**
 * Reads transfers, one to a line; skips empty lines.
 * @throws ReconError `usage` with all wrong lines, or for an input that is too large
 */
export async function readTransferLines(
  input: AsyncIterable<Uint8Array | string>,
  known: Parameters<typeof readTransfer>[1],
): Promise<GivenTransfer[]> {
  const lines = numberLines(await readAll(input));
  if (lines.length === 0) throw new ReconError("usage", "there are no transfers on standard input");
  if (lines.length > MOST_LINES) throw tooLarge(`more than ${MOST_LINES} transfers`);
  const given: GivenTransfer[] = [];
  const problems: string[] = [];
  for (const [number, line] of lines) {
    const label = `line ${number}: `;
    try {
      given.push({ transfer: readTransfer(parseLine(line), known), label });
    } catch (error) {
      problems.push(`${label}${describeError(error)}`);
    }
  }
  if (problems.length > 0) throw problemsOf(problems);
  return given;
}

/** The lines that are not empty; reading stops soon after the limit. */
function numberLines(text: string): [number: number, line: string][] {
  const lines: [number, string][] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() !== "") lines.push([index + 1, line]);
    if (lines.length > MOST_LINES) break;
  }
  return lines;
}

async function readAll(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MOST_BYTES) throw tooLarge(`more than ${MOST_BYTES / 1024 / 1024} MiB`);
    chunks.push(part);
  }
  return decode(Buffer.concat(chunks));
}

/** In another encoding a name would silently become another name. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ReconError("usage", "standard input is not UTF-8: nothing was handed over");
  }
}

function parseLine(line: string): unknown {
  try {
    // Blanks, and the byte order mark of some editors.
    return JSON.parse(line.trim());
  } catch {
    throw new ReconError("usage", `not JSON: ${line.trim().slice(0, 60)}`);
  }
}

function problemsOf(problems: readonly string[]): ReconError {
  const named = problems.slice(0, MOST_PROBLEMS_NAMED).join("\n");
  const more = problems.length - MOST_PROBLEMS_NAMED;
  const rest = more > 0 ? `\nand ${more} more lines are wrong` : "";
  return new ReconError("usage", `${named}${rest}\nNothing was handed over.`);
}

function tooLarge(what: string): ReconError {
  return new ReconError("usage", `standard input holds ${what}: hand them over in several parts`);
}

interface ChoiceOptions extends Pick<TransferQuery, "kind" | "product" | "username"> {
  readonly json?: boolean;
}

export function addTransferCommands(program: Command): void {
  const transfers = program
    .command("transfers")
    .description("deposits and withdrawals, which the worker verifies until their outcome is certain");
  transfers
    .command("add")
    .description("hand over transfers to be verified: JSON lines on standard input, all of them or none")
    .option("--json", "one JSON document")
    .addHelpText("after", ADD_HELP)
    .action(
      withRecon(["database"], async ({ context }, options: { json?: boolean }) => {
        const products = context.config.products.map(({ productId }) => productId);
        const given = await readTransferLines(stdin, { products, now: context.clock.now() });
        const { added, known } = await handOverTransfers(context, given);
        if (options.json) printJson({ added, known });
        else printLine(`${added} handed over${known === 0 ? "" : `, ${known} known already`}.`);
      }),
    );
  transfers
    .command("list")
    .description("list transfers, the newest first, or in the order of --sort")
    .option("--status <status>", "pending, accepted, rejected or inconclusive; several separated by commas")
    .option("--kind <kind>", "transfer (default), or top-up: those found in the ledger")
    .option("--product <product>", "one product")
    .option("--username <username>", "one player")
    .option("--currency <code>", "one currency")
    .option(
      "--sort <order>",
      "newest (default), oldest, or amount: the largest of each currency first, with --status",
    )
    .option("--limit <count>", "the most rows to list, up to 1000", "100")
    .option("--after <next>", 'the "next" of the page before')
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { json, ...typed }: TransferQuery & { json?: boolean }) => {
        const page = await listTransfers(context.sql, readTransferQuery(typed, context.config));
        const documents = page.transfers.map(describeTransfer);
        if (json) printJson({ transfers: documents, next: page.next });
        else printList(documents, page.next);
      }),
    );
  addChoiceOptions(
    transfers
      .command("show")
      .argument("<ref>", "the transactionRef")
      .description("show one transfer with every answer"),
  ).action(
    withRecon(["database"], async ({ context }, ref: string, { json, ...choice }: ChoiceOptions) => {
      const story = await readTransferStory(context, readTransferChoice(ref, choice));
      if (json) printJson(story);
      else printStory(story);
    }),
  );
  addChoiceOptions(
    transfers
      .command("close")
      .argument("<ref>", "the transactionRef")
      .description(
        "end the verification of an inconclusive transfer once you have found its outcome; this resolves its mismatch",
      )
      .requiredOption("--note <text>", "your finding"),
  ).action(
    withRecon(
      ["database"],
      async ({ context }, ref: string, { json, note, ...choice }: ChoiceOptions & { note: string }) => {
        const close = { by: actorName(), note: readNote({ note }) };
        const closed = describeTransfer(await closeTransfer(context, readTransferChoice(ref, choice), close));
        if (json) printJson({ transfer: closed });
        else
          printLine(
            `${showText(ref)} is closed. It stays inconclusive, and the worker does not verify it any more.`,
          );
      },
    ),
  );
}

const ADD_HELP = `
One line for each, all fields needed:
  {"username":"anna","productId":"P1","currency":"THB","transactionRef":"ref-1","type":"DEPOSIT","amount":"10.00","sentAt":"2026-11-20T10:00:00Z"}
The same transactionRef with the same content has no effect; with other content nothing is handed over at all.`;

function addChoiceOptions(command: Command): Command {
  return command
    .option("--kind <kind>", "transfer or top-up, if both have the ref")
    .option("--product <product>", "the product, if several top-ups have the ref")
    .option("--username <username>", "the player, if several top-ups have the ref")
    .option("--json", "one JSON document");
}

function printList(transfers: readonly TransferDocument[], next: string | null): void {
  if (transfers.length === 0) {
    printLine("No transfers.");
    return;
  }
  printTable(
    ["REF", "PRODUCT", "PLAYER", "TYPE", "AMOUNT", "STATUS", "ASKED", "SENT", "ASKED NEXT", "DECIDED"],
    transfers.map((one) => [
      one.transactionRef,
      one.productId,
      one.username,
      one.type,
      `${one.amount} ${one.currency}`,
      one.status,
      String(one.attempts),
      one.sentAt,
      one.nextVerifyAt ?? "-",
      one.decidedAt ?? "-",
    ]),
  );
  if (next !== null) printLine(`There are more: --after ${next}`);
}

function printStory(story: TransferStory): void {
  const { answers, ...fields } = story;
  printTable(
    ["FIELD", "VALUE"],
    Object.entries(fields).map(([field, value]) => [field, value === null ? "-" : String(value)]),
  );
  printLine();
  if (answers.length === 0) {
    printLine("The provider has not been asked yet.");
    return;
  }
  printTable(
    ["ASK", "WHEN", "TOOK", "SAYS", "STATUS AFTER", "WHY", "ANSWER"],
    answers.map((one) => [
      String(one.attempt),
      one.askedAt,
      `${one.tookMs} ms`,
      one.says,
      one.status,
      [one.code, one.message].filter((part) => part !== null).join(" ") || "-",
      one.raw ?? "-",
    ]),
  );
}
