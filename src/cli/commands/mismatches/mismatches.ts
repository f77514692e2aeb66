/** `recon mismatches`: lists mismatches, shows one, and changes their status. */

import { once } from "node:events";
import { stdout } from "node:process";
import type { Command } from "commander";
import type { FlowContext } from "../../../flows/context.ts";
import { listMismatches } from "../../../flows/read/list-mismatches.ts";
import { readMismatchStory } from "../../../flows/read/read-mismatch.ts";
import type { Mismatch } from "../../../mismatch.ts";
import { formatMoney, parseAmount } from "../../../money.ts";
import { listAsCsv } from "../../../ops/csv/mismatch-csv.ts";
import { usage } from "../../../ops/input/fields.ts";
import { type MismatchQuery, readMismatchQuery } from "../../../ops/input/mismatch-query.ts";
import { withRecon } from "../../run/run-command.ts";
import { printCsv, printJson, printLine, printTable, showText } from "../../terminal/print.ts";
import { addMismatchActions, addMismatchChoice } from "./mismatches-act.ts";
import { printStory } from "./mismatches-show.ts";

interface ListOptions extends MismatchQuery {
  readonly json?: boolean;
  readonly csv?: boolean;
}

export function addMismatchCommands(program: Command): void {
  const mismatches = program.command("mismatches").description("list, show and decide mismatches");
  addMismatchChoice(mismatches.command("list"))
    .description("list mismatches; without --status the open and acknowledged ones")
    .option(
      "--sort <order>",
      "first-seen, at-risk or happened, the newest or largest first; default: as they were found",
    )
    .option("--limit <count>", "the most rows to list, up to 1000; default 100, with --csv all")
    .option("--after <next>", 'the "next" of the page before')
    .option("--csv", "comma-separated values, every field")
    .option("--json", "one JSON document")
    .action(withRecon(["database"], ({ context }, options: ListOptions) => list(context, options)));
  mismatches
    .command("show")
    .argument("<id>", "the id in the list")
    .description("show both sides of one mismatch, field by field, with timeline and history")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, id: string, options: { json?: boolean }) => {
        const story = await readMismatchStory(context, id);
        if (options.json) printJson(story);
        else printStory(story, showAtRisk(story));
      }),
    );
  addMismatchActions(mismatches);
}

/** "12.00 THB", or the bare amount if no currency applies; safe for the terminal. */
export function showAtRisk(mismatch: Pick<Mismatch, "amountAtRisk" | "currency">): string {
  const amount = parseAmount(mismatch.amountAtRisk, "amountAtRisk");
  return showText(formatMoney(amount, mismatch.currency ?? "").trimEnd());
}

async function list(context: FlowContext, { json, csv, ...query }: ListOptions): Promise<void> {
  if (json && csv) throw usage("give either --json or --csv");
  const filter = await readMismatchQuery(context, query);
  if (csv) {
    for await (const lines of listAsCsv(context, filter, query.limit === undefined)) {
      // A reader such as `head` may end the list early.
      if (!printCsv(lines)) await once(stdout, "drain").catch(() => {});
      if (!stdout.writable) return;
    }
    return;
  }
  const { mismatches, next } = await listMismatches(context, filter);
  if (json) printJson({ mismatches, next });
  else printList(mismatches, next);
}

function printList(mismatches: readonly Mismatch[], next: string | null): void {
  if (mismatches.length === 0) {
    printLine("No mismatches.");
    return;
  }
  printTable(
    ["ID", "KIND", "STATUS", "PRODUCT", "PLAYER", "AT RISK", "EFFECT", "DAY", "SINCE", "WHY"],
    mismatches.map((one) => [
      one.id,
      one.kind,
      one.status,
      one.productId,
      one.username,
      showAtRisk(one),
      one.effect ?? "-",
      one.countsOn ?? "-",
      one.firstSeenAt,
      one.reason,
    ]),
  );
  if (next !== null) printLine(`There are more: --after ${next}`);
}
