/** `recon mismatches`: lists mismatches, shows one, and changes their status. */

import { once } from "node:events";
import { stderr, stdin, stdout } from "node:process";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import type { FlowContext } from "../../../flows/context.ts";
import {
  type ActionResult,
  actOnMismatches,
  previewAction,
  type RequestedAction,
} from "../../../flows/mismatches/act-on-mismatches.ts";
import { listMismatches } from "../../../flows/read/list-mismatches.ts";
import { readMismatchStory } from "../../../flows/read/read-mismatch.ts";
import type { Mismatch } from "../../../mismatch.ts";
import { ACTS, type MismatchAction } from "../../../mismatches/act.ts";
import { formatMoney, parseAmount } from "../../../money.ts";
import { listAsCsv } from "../../../ops/csv/csv.ts";
import { usage } from "../../../ops/input/fields.ts";
import { checkAdjustedOnce, readAction } from "../../../ops/input/mismatch-action.ts";
import {
  CHOICES,
  type ChoiceQuery,
  type MismatchQuery,
  readChoice,
  readMismatchQuery,
} from "../../../ops/input/mismatch-query.ts";
import { EXIT_FAILED, withRecon } from "../../run/run-command.ts";
import { actorName } from "../../run/with-audit.ts";
import { printCsv, printJson, printLine, printTable, showText } from "../../terminal/print.ts";
import { printStory } from "./mismatches-show.ts";

interface ActOptions extends ChoiceQuery {
  readonly note?: string;
  readonly adjustment?: string;
  readonly ref?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** The options that choose mismatches, for lists and for actions. */
function addMismatchChoice(command: Command): Command {
  return command
    .option("--status <status>", "open, acknowledged, resolved or ignored; several separated by commas")
    .option("--kind <kind>", "one kind, such as payout-differs")
    .option("--product <product>", "one product")
    .option("--username <username>", "one player")
    .option("--currency <currency>", "one currency, such as THB")
    .option("--day <day>", "only those that count in this day's statement, such as 2026-11-20 or yesterday")
    .option(
      "--from <time>",
      "first seen at this time or later, such as 2026-11-01T10:00:00Z, 2026-11-01 or yesterday",
    )
    .option("--to <time>", "first seen before this time")
    .option("--happened-from <time>", "of bets that happened at this time or later")
    .option("--happened-to <time>", "of bets that happened before this time")
    .option("--min-amount <amount>", "the least amount at risk")
    .option("--incident <id>", "only those of this incident");
}

function addMismatchActions(mismatches: Command): void {
  addAction(mismatches, "ack", "mark mismatches as being investigated");
  addAction(mismatches, "resolve", "mark mismatches as dealt with")
    .option("--adjustment <amount>", "the amount of a manual correction; positive: the player received it")
    .option("--ref <ref>", "your reference of the correction; one reference counts once");
  addAction(mismatches, "ignore", "mark differences as unimportant");
  addAction(mismatches, "reopen", "open resolved or ignored mismatches again");
}

function addAction(mismatches: Command, action: MismatchAction, description: string): Command {
  const command = mismatches
    .command(action)
    .argument("[ids...]", "the ids in the list; without ids, use the filter below")
    .description(`${description}; a later change of a compared value opens them again`);
  if (action === "ack" || action === "reopen") command.description(description);
  return addMismatchChoice(command)
    .option("--note <text>", "the reason; the history keeps it with your name")
    .option("--yes", "do not ask")
    .option("--dry-run", "only show the number of mismatches and their money")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], ({ context }, ids: string[], options: ActOptions) =>
        act(context, action, ids, options),
      ),
    );
}

async function act(
  context: FlowContext,
  action: MismatchAction,
  ids: string[],
  options: ActOptions,
): Promise<void> {
  const requested = await readRequested(context, action, ids, options);
  if (options.dryRun) {
    const result = await previewAction(context, requested);
    if (options.json) printJson({ action, dryRun: true, ...result });
    else printLine(`Would be ${ACTS[action].done}: ${showResult(result)}. Nothing was changed.`);
    return;
  }
  const agreed = ids.length > 0 || options.yes ? requested : await confirmShown(context, requested);
  if (agreed === null) return;
  const result = await actOnMismatches(context, agreed);
  if (options.json) printJson({ action, dryRun: false, ...result });
  else printResult(agreed, result);
}

async function readRequested(
  context: FlowContext,
  action: MismatchAction,
  ids: readonly string[],
  options: ActOptions,
): Promise<RequestedAction> {
  const { adjustment, ref, dryRun, note = dryRun && action !== "ack" ? "-" : undefined } = options;
  const typed = definedOf(Object.fromEntries(CHOICES.map((name) => [name, options[name]])));
  const said = readAction(definedOf({ note, adjustment, ref }), action);
  checkAdjustedOnce(said.adjustment, ids);
  const isFiltered = Object.keys(typed).length > 0;
  if (ids.length > 0 === isFiltered) {
    throw usage(
      isFiltered ? "give either ids or a filter, not both" : "give ids, or a filter such as --kind",
    );
  }
  const by = actorName();
  if (ids.length > 0) return { action, target: { ids }, by, ...said };
  return {
    action,
    target: { filter: await readChoice(context, typed), shown: null },
    by,
    ...said,
  };
}

function definedOf(fields: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Shows the number of mismatches, and asks.
 * @returns the action on the shown mismatches; null: the person declined
 */
async function confirmShown(
  context: FlowContext,
  requested: RequestedAction,
): Promise<RequestedAction | null> {
  const preview = await previewAction(context, requested);
  const counted = `To be ${ACTS[requested.action].done}: ${showResult(preview)}.`;
  if (!stdin.isTTY) throw usage(`${counted} There is no terminal to confirm in: add --yes, or --dry-run`);
  if (preview.count === 0 || !("filter" in requested.target)) {
    printLine("No mismatches.");
    return null;
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  const answer = await terminal.question(`${counted} Continue? [y/N] `);
  terminal.close();
  if (/^y(es)?$/i.test(answer.trim()))
    return { ...requested, target: { ...requested.target, shown: preview.ids } };
  printLine("Nothing was changed.");
  process.exitCode = EXIT_FAILED;
  return null;
}

function printResult({ action, target }: RequestedAction, result: ActionResult): void {
  const [only] = result.ids;
  const { done } = ACTS[action];
  if ("ids" in target && result.count === 1) printLine(`Mismatch ${only} is ${done}.`);
  else printLine(`${done[0]?.toUpperCase()}${done.slice(1)}: ${showResult(result)}.`);
  const changed = "filter" in target && target.shown !== null ? target.shown.length - result.count : 0;
  if (changed > 0)
    printLine(`Not changed, because they were changed after the preview: ${changed} of those shown.`);
}

/** "12 mismatches, 120.50 THB and 3.00 USD at risk" */
function showResult({ count, amounts }: ActionResult): string {
  const money = amounts.map(({ currency, amount }) =>
    formatMoney(parseAmount(amount, "amount"), currency ?? "").trimEnd(),
  );
  const atRisk = money.length === 0 ? "" : `, ${money.join(" and ")} at risk`;
  return showText(`${count} ${count === 1 ? "mismatch" : "mismatches"}${atRisk}`);
}

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
      "first-seen, at-risk or happened, the newest or largest first; default: in the order of discovery",
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
