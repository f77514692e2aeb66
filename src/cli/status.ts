/** `recon status`: where every product stands. */

import type { Command } from "commander";
import { showDuration } from "../clock.ts";
import { readStatus, type Status } from "../flows/read-status.ts";
import { printJson, printLine, printTable } from "./print.ts";
import { withRecon } from "./run-command.ts";

export function addStatusCommand(program: Command): void {
  program
    .command("status")
    .description("per product: watermark, lag, window length, records, open mismatches; transfers by status")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, options: { json?: boolean }) => {
        const status = await readStatus(context);
        if (options.json) printJson(status);
        else printStatus(status);
      }),
    );
}

function printStatus(status: Status): void {
  printTable(
    ["PRODUCT", "FETCHED UNTIL", "LAG", "WINDOW", "GAPS", "RECORDS", "REJECTED", "OPEN MISMATCHES"],
    status.products.map((product) => [
      product.productId,
      product.watermark ?? "not begun",
      product.lagSeconds === null ? "-" : showDuration(product.lagSeconds * 1000),
      product.windowSeconds === null ? "-" : showDuration(product.windowSeconds * 1000),
      product.stalled ? `${product.gaps} (stalled)` : String(product.gaps),
      String(product.records),
      String(product.rejected),
      String(product.openMismatches),
    ]),
  );
  const { ledger, mismatches, transfers, alerts } = status;
  printLine();
  printLine(
    ledger.entries === 0
      ? "ledger      no entries yet: nothing is compared until the first one"
      : `ledger      ${ledger.entries} entries, the last received ${ledger.lastReceivedAt}`,
  );
  printLine(`mismatches  ${listCounts(mismatches)}`);
  printLine(`transfers   ${listCounts(transfers)}`);
  printLine(`alerts      ${alerts.undelivered} undelivered`);
}

function listCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(", ");
}
