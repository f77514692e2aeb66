/** `recon status`: the state of every product. */

import type { Command } from "commander";
import { showBytes } from "../../bytes.ts";
import { type Instant, showDuration } from "../../clock.ts";
import { readStatusForPeople, type Status, type StatusForPeople } from "../../flows/read/read-status.ts";
import { sayEmptied } from "../../health/installation.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import {
  largeTables,
  type Storage,
  sayAllDue,
  sayDisk,
  sayDue,
  sayGrowth,
  sayMeasured,
} from "../../storage.ts";
import { withRecon } from "../run/run-command.ts";
import { printJson, printLine, printTable } from "../terminal/print.ts";

export function addStatusCommand(program: Command): void {
  program
    .command("status")
    .description("per product: watermark, lag, window length, records, open mismatches; transfers by status")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, options: { json?: boolean }) => {
        const found = await readStatusForPeople(context);
        if (options.json) {
          printJson(found.status);
          return;
        }
        printStatus(found, context.clock.now());
      }),
    );
}

function printStatus({ status, work, emptied }: StatusForPeople, now: Instant): void {
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
    emptied > 0
      ? `ledger      ${sayEmptied(emptied)} (recon doctor)`
      : ledger.entries === 0
        ? "ledger      no entries yet: nothing is compared until the first one"
        : `ledger      ${ledger.entries} entries, the last received ${ledger.lastReceivedAt}`,
  );
  printLine(`mismatches  ${listCounts(mismatches)}`);
  printLine(`transfers   ${listCounts(transfers)}`);
  printLine(`alerts      ${alerts.undelivered} undelivered, ${sayAge("checked", work.alerting.doneAt, now)}`);
  printWork(status, work, now);
  for (const { productId, currency, outside } of status.outside)
    printLine(
      `outside     ${productId}: ${formatMoney(parseAmount(outside, "outside"), currency)} moved outside the comparison (recon doctor)`,
    );
  if (status.unknownProducts.length > 0)
    printLine(
      `unknown     ${status.unknownProducts.map(({ productId }) => productId).join(", ")}, not in the settings: neither compared nor deleted (recon doctor)`,
    );
  printStorage(work.storage, now);
}

function printStorage(storage: Storage | null, now: Instant): void {
  if (storage === null) {
    printLine("database    size unknown: no worker has measured yet");
    return;
  }
  printLine(
    `database    ${showBytes(storage.bytes)}, ${sayGrowth(storage)}; ${sayDisk(storage)}; ${sayAllDue(storage)}; ${sayMeasured(storage, now)}`,
  );
  const { large, otherBytes } = largeTables(storage);
  printLine();
  printTable(
    ["TABLE", "SIZE", "DUE FOR DELETION"],
    [
      ...large.map(({ table, bytes, due }) => [table, showBytes(bytes), due === null ? "-" : sayDue(due)]),
      ["all others", showBytes(otherBytes), "-"],
    ],
  );
}

/** The age of each kind of work, and its stalls. */
function printWork(
  { comparing, verifying, rejected, books }: Status,
  { following, alerting, findings }: StatusForPeople["work"],
  now: Instant,
): void {
  const aside = comparing.setAside === 0 ? "" : `, ${comparing.setAside} set aside`;
  printLine(`comparing   ${sayBehind(comparing.behindSeconds)}, ${comparing.waiting} waiting${aside}`);
  if (following !== null) printLine(`following   ${sayAge("read", following.readAt, now)}`);
  printLine(`verifying   ${sayBehind(verifying.behindSeconds)}, ${verifying.due} due`);
  printLine(
    `books       ${books.closedUpTo === null ? "no day is closed" : `closed up to ${books.closedUpTo}`}`,
  );
  const where = rejected.records + rejected.entries === 0 ? "" : ": recon rejected list";
  printLine(`rejected    ${rejected.records} records, ${rejected.entries} entries${where}`);
  const problems = [
    comparing.problem,
    alerting.finding?.what ?? null,
    books.problem,
    ...findings.filter(({ severity }) => severity !== "unknown").map(({ what }) => what),
  ];
  for (const problem of new Set(problems)) if (problem !== null) printLine(`problem     ${problem}`);
}

function sayBehind(seconds: number | null): string {
  return seconds === null ? "never yet" : `${showDuration(seconds * 1000)} behind`;
}

function sayAge(what: string, at: Instant | null, now: Instant): string {
  return at === null ? `not ${what} yet` : `${what} ${showDuration(Math.max(0, now - at))} ago`;
}

function listCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(", ");
}
