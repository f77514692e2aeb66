/** `recon mismatches`: lists mismatches, shows one, and changes their status. */

import { once } from "node:events";
import { stdout } from "node:process";
import type { Command } from "commander";
import type { FlowContext } from "../../../flows/context.ts";
import {
  actOnMismatches,
  type MismatchTarget,
  previewAction,
  type RequestedAction,
} from "../../../flows/mismatches/act-on-mismatches.ts";
import { changeCases, changeIncidents, previewChange } from "../../../flows/mismatches/change-cases.ts";
import { listMismatches } from "../../../flows/read/list-mismatches.ts";
import { readMismatchStory } from "../../../flows/read/read-mismatch.ts";
import type { Mismatch } from "../../../mismatch.ts";
import { ACTS, type CaseChangeName, type MismatchAction } from "../../../mismatches/act.ts";
import { formatMoney, parseAmount } from "../../../money.ts";
import { listAsCsv } from "../../../ops/csv/csv.ts";
import { usage } from "../../../ops/input/fields.ts";
import { checkAdjustedOnce, readAction, readCase } from "../../../ops/input/mismatch-action.ts";
import {
  CHOICES,
  type ChoiceQuery,
  type MismatchQuery,
  readChoice,
  readMismatchQuery,
} from "../../../ops/input/mismatch-query.ts";
import { withRecon } from "../../run/run-command.ts";
import { actorName, withAudit } from "../../run/with-audit.ts";
import { printCsv, printJson, printLine, printTable, showText } from "../../terminal/print.ts";
import { confirmShown, printResult, printStory, showResult } from "./mismatches-show.ts";

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
    .option("--incident <id>", "only those of this incident")
    .option("--due", "only those whose reminder is due");
}

/** The filters that changes of a case have in other words. */
function addOwnerChoice(command: Command): Command {
  return command
    .option("--owner <name>", "only those of this person; me: yours; nobody: those without an owner")
    .option("--with-provider", "only those about which an answer of the provider is awaited");
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
  return addOwnerChoice(addMismatchChoice(command))
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
  const { done } = ACTS[action];
  const shown =
    ids.length > 0 || options.yes ? null : await confirmShown(await previewAction(context, requested), done);
  if (shown === "declined") return;
  const agreed = { ...requested, target: withShown(requested.target, shown) };
  const result = await actOnMismatches(context, agreed);
  if (options.json) printJson({ action, dryRun: false, ...result });
  else printResult(agreed.target, done, result);
}

/** A filter changes only those that were shown. */
function withShown(target: MismatchTarget, shown: readonly string[] | null): MismatchTarget {
  return "filter" in target ? { ...target, shown } : target;
}

async function readRequested(
  context: FlowContext,
  action: MismatchAction,
  ids: readonly string[],
  options: ActOptions,
): Promise<RequestedAction> {
  const { adjustment, ref, dryRun, note = dryRun && action !== "ack" ? "-" : undefined } = options;
  const said = readAction(definedOf({ note, adjustment, ref }), action);
  checkAdjustedOnce(said.adjustment, ids);
  return { action, target: await readTarget(context, ids, options), by: actorName(), ...said };
}

/** @param options the filters, if there are no ids */
async function readTarget(
  context: FlowContext,
  ids: readonly string[],
  options: ChoiceQuery,
): Promise<MismatchTarget> {
  const typed = definedOf(Object.fromEntries(CHOICES.map((name) => [name, options[name]])));
  const isFiltered = Object.keys(typed).length > 0;
  if (ids.length > 0 === isFiltered) {
    throw usage(
      isFiltered ? "give either ids or a filter, not both" : "give ids, or a filter such as --kind",
    );
  }
  if (ids.length > 0) return { ids };
  return { filter: await readChoice(context, typed, actorName()), shown: null };
}

/** The options that were given; a flag is "true", as in an address. */
function definedOf(fields: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value === true ? "true" : value]],
    ),
  );
}

interface CaseOptions extends ActOptions {
  readonly nobody?: boolean;
  readonly ownedBy?: string;
  readonly ticket?: string;
  readonly answered?: boolean;
  readonly at?: string;
  readonly none?: boolean;
}

/** Words for what was done. */
const CHANGED: Readonly<Record<CaseChangeName, string>> = {
  assign: "assigned",
  ticket: "changed",
  remind: "changed",
};

/** The changes of a case, of mismatches and of incidents. */
export function addCaseCommands(parent: Command, of: "mismatches" | "incidents"): void {
  const add = (what: CaseChangeName, description: string, ...options: [string, string][]) => {
    const command = parent.command(what).description(description);
    for (const [flags, words] of options) command.option(flags, words);
    command.option("--note <text>", "the reason; the history keeps it with your name");
    if (of === "incidents") command.argument("<ids...>", "the ids in the list");
    else
      addMismatchChoice(
        command.argument("[ids...]", "the ids in the list; without ids, use the filter below"),
      )
        .option("--owned-by <name>", "only those of this person; me: yours; nobody: those without an owner")
        .option("--yes", "do not ask")
        .option("--dry-run", "only show the number of mismatches and their money");
    command.option("--json", "one JSON document").action(
      withRecon(["database"], async ({ context }, ids: string[], options: CaseOptions) => {
        const asked = definedOf({ ids, ...options });
        await withAudit(context, `recon ${of} ${what}`, asked, () =>
          changeThem(context, { of, what }, ids, options),
        );
      }),
    );
  };
  const [owner, whose] = ["--owner <name>", "the person who works on them; me: you"];
  add("assign", "say who works on them", [owner, whose], ["--nobody", "no one works on them"]);
  add(
    "ticket",
    "note the provider's ticket; from then on an answer of the provider is awaited",
    ["--ticket <text>", "the provider's ticket"],
    ["--none", "there is no ticket"],
    ["--answered", "the provider has answered; the ticket stays"],
  );
  add(
    "remind",
    "set a reminder, which is an alert when it is due",
    ["--at <time>", "such as 2026-12-03T09:00:00Z"],
    ["--none", "no reminder"],
  );
}

async function changeThem(
  context: FlowContext,
  { of, what }: { readonly of: "mismatches" | "incidents"; readonly what: CaseChangeName },
  ids: string[],
  options: CaseOptions,
): Promise<void> {
  const by = actorName();
  const requested = { ...readCase(caseBodyOf(what, options), what, by), by };
  const done = CHANGED[what];
  if (of === "incidents") {
    const result = await changeIncidents(context, { ids }, requested);
    const { count } = result;
    if (options.json) printJson({ action: what, dryRun: false, ...result });
    else printLine(`${count === 1 ? `Incident ${result.ids[0]} is` : `${count} incidents are`} ${done}.`);
    return;
  }
  const { ownedBy: owner, ...rest } = options;
  const target = await readTarget(context, ids, { ...rest, owner });
  if (options.dryRun) {
    const result = await previewChange(context, target, requested);
    if (options.json) printJson({ action: what, dryRun: true, ...result });
    else printLine(`Would be ${done}: ${showResult(result)}. Nothing was changed.`);
    return;
  }
  const shown =
    ids.length > 0 || options.yes
      ? null
      : await confirmShown(await previewChange(context, target, requested), done);
  if (shown === "declined") return;
  const agreed = withShown(target, shown);
  const result = await changeCases(context, agreed, requested);
  if (options.json) printJson({ action: what, dryRun: false, ...result });
  else printResult(agreed, done, result);
}

/** The options as the body of the API. @throws ReconError `usage` if they contradict each other */
function caseBodyOf(what: CaseChangeName, options: CaseOptions) {
  const { owner, nobody, ticket, at, none, answered, note } = options;
  const [named, value, no, flag] = {
    assign: ["owner", owner, nobody, "--nobody"] as const,
    ticket: ["ticket", ticket, none, "--none"] as const,
    remind: ["at", at, none, "--none"] as const,
  }[what];
  const isAnswered = what === "ticket" && answered === true;
  if (value !== undefined && no) throw usage(`give either --${named} or ${flag}`);
  if (value === undefined && !no && !isAnswered) throw usage(`give --${named}, or ${flag}`);
  const said = value === undefined && !no ? {} : { [named === "at" ? "remindAt" : named]: no ? null : value };
  return { ...said, ...(isAnswered ? { withProvider: false } : {}), ...(note === undefined ? {} : { note }) };
}

interface ListOptions extends MismatchQuery {
  readonly json?: boolean;
  readonly csv?: boolean;
}

export function addMismatchCommands(program: Command): void {
  const mismatches = program.command("mismatches").description("list, show and decide mismatches");
  addOwnerChoice(addMismatchChoice(mismatches.command("list")))
    .description("list mismatches; without --status the open and acknowledged ones")
    .option(
      "--sort <order>",
      "first-seen, at-risk or happened, the newest or largest first; remind-at: those with a reminder, the earliest first; default: in the order of discovery",
    )
    .option("--limit <count>", "the most rows to list, up to 1000; default 100, with --csv all")
    .option("--after <next>", 'the "next" of the page before')
    .option("--changed-since <cursor>", 'only those that changed since the answer with this "cursor"')
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
  addCaseCommands(mismatches, "mismatches");
}

/** "12.00 THB", or the bare amount if no currency applies; safe for the terminal. */
export function showAtRisk(mismatch: Pick<Mismatch, "amountAtRisk" | "currency">): string {
  const amount = parseAmount(mismatch.amountAtRisk, "amountAtRisk");
  return showText(formatMoney(amount, mismatch.currency ?? "").trimEnd());
}

async function list(context: FlowContext, { json, csv, ...query }: ListOptions): Promise<void> {
  if (json && csv) throw usage("give either --json or --csv");
  const filter = await readMismatchQuery(context, definedOf({ ...query }), actorName());
  if (csv) {
    for await (const lines of listAsCsv(context, filter, query.limit === undefined)) {
      // A reader such as `head` may end the list early.
      if (!printCsv(lines)) await once(stdout, "drain").catch(() => {});
      if (!stdout.writable) return;
    }
    return;
  }
  const found = await listMismatches(context, filter);
  if (json) printJson(found);
  else printList(found.mismatches, found.next);
}

function printList(mismatches: readonly Mismatch[], next: string | null): void {
  if (mismatches.length === 0) {
    printLine("No mismatches.");
    return;
  }
  printTable(
    ["ID", "KIND", "STATUS", "OWNER", "PRODUCT", "PLAYER", "AT RISK", "EFFECT", "DAY", "SINCE", "WHY"],
    mismatches.map((one) => [
      one.id,
      one.kind,
      one.status,
      one.owner ?? "-",
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
