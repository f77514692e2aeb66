/** `recon mismatches`: list them, and look at one. */

import type { Command } from "commander";
import { ReconError } from "../errors.ts";
import type { Mismatch } from "../mismatch.ts";
import { listMismatches, type MismatchEvent, readHistory, readMismatch } from "../mismatches/store.ts";
import { formatMoney, parseAmount } from "../money.ts";
import { type MismatchQuery, readMismatchQuery } from "../ops/mismatch-query.ts";
import { printJson, printLine, printTable, showText } from "./print.ts";
import { withRecon } from "./run-command.ts";

export function addMismatchCommands(program: Command): void {
  const mismatches = program
    .command("mismatches")
    .description("the differences found, and what became of them");
  mismatches
    .command("list")
    .description("list mismatches; without --status the open and acknowledged ones")
    .option("--status <status>", "open, acknowledged, resolved or ignored; several separated by commas")
    .option("--kind <kind>", "one kind, such as payout-differs")
    .option("--product <product>", "one product")
    .option("--username <username>", "one player")
    .option("--limit <count>", "at most so many, up to 1000", "100")
    .option("--after <next>", 'go on behind the "next" of the page before')
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, options: MismatchQuery & { json?: boolean }) => {
        const products = context.config.products.map(({ productId }) => productId);
        const page = await listMismatches(context.sql, readMismatchQuery(options, products));
        if (options.json) printJson(page);
        else printList(page.mismatches, page.next);
      }),
    );
  mismatches
    .command("show")
    .argument("<id>", "the id that the list shows")
    .description("both sides of one mismatch, field by field, and its history")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, id: string, options: { json?: boolean }) => {
        const mismatch = await readMismatch(context.sql, id);
        if (mismatch === null) throw new ReconError("not-found", `there is no mismatch "${id}"`);
        const history = await readHistory(context.sql, mismatch.id);
        if (options.json) printJson({ ...mismatch, history });
        else printMismatch(mismatch, history);
      }),
    );
}

/** "12.00 THB", or the bare amount where no currency applies; safe for the terminal. */
export function showAtRisk(mismatch: Mismatch): string {
  const amount = parseAmount(mismatch.amountAtRisk, "amountAtRisk");
  return showText(formatMoney(amount, mismatch.currency ?? "").trimEnd());
}

function printList(mismatches: readonly Mismatch[], next: string | null): void {
  if (mismatches.length === 0) {
    printLine("No mismatches.");
    return;
  }
  printTable(
    ["ID", "KIND", "STATUS", "PRODUCT", "PLAYER", "AT RISK", "SINCE", "WHY"],
    mismatches.map((one) => [
      one.id,
      one.kind,
      one.status,
      one.productId,
      one.username,
      showAtRisk(one),
      one.firstSeenAt,
      one.reason,
    ]),
  );
  if (next !== null) printLine(`There are more: --after ${next}`);
}

const FIELDS = ["status", "stake", "payout", "moved", "currency", "username"] as const;
const COMPARED: ReadonlySet<string> = new Set(["stake", "payout", "currency", "username"]);

function printMismatch(mismatch: Mismatch, history: readonly MismatchEvent[]): void {
  printLine(`Mismatch ${mismatch.id}: ${mismatch.kind}, ${mismatch.status}, ${showAtRisk(mismatch)} at risk`);
  printLine(showText(mismatch.reason));
  printLine();
  printTable(
    ["", "PROVIDER", "LEDGER", ""],
    FIELDS.map((field) => {
      const provider = cellOf(mismatch.provider, field);
      const ledger = cellOf(mismatch.ledger, field);
      return [field, provider, ledger, COMPARED.has(field) && provider !== ledger ? "<- differs" : ""];
    }),
  );
  printLine();
  const { productId, betId, transactionId, roundId, occurredAt } = mismatch;
  printTable(
    ["product", showText(productId)],
    [
      ["bet id at the provider", betId ?? "-"],
      ["transaction id in the ledger", transactionId ?? "-"],
      ["round", roundId ?? "-"],
      ["happened", occurredAt],
    ],
  );
  printLine();
  printTable(
    ["WHEN", "FROM", "TO", "BY", "WHY"],
    history.map((event) => [
      event.at,
      event.fromStatus ?? "-",
      event.toStatus,
      event.by,
      event.note ?? event.reason,
    ]),
  );
}

function cellOf(side: object | null, field: string): string {
  const value = side === null ? null : (side as Readonly<Record<string, string | null | undefined>>)[field];
  return value ?? "-";
}
