/** `recon incidents`: lists what alerts speak of, and shows one with its mismatches and who was notified. */

import type { Command } from "commander";
import { adviceOfSome } from "../../advice.ts";
import { MEANING_OF_KIND } from "../../alerts/kind-meanings.ts";
import {
  type IncidentDocument,
  type IncidentStoryDocument,
  listIncidentDocuments,
  readIncidentDocument,
} from "../../flows/read/incident-document.ts";
import type { Mismatch } from "../../mismatch.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { type IncidentQuery, readIncidentQuery } from "../../ops/input/incident-query.ts";
import { withRecon } from "../run/run-command.ts";
import { actorName } from "../run/with-audit.ts";
import { printComments, printJson, printLine, printTable, showText } from "../terminal/print.ts";
import { addCaseCommands } from "./mismatches/mismatches.ts";

interface ListOptions extends Omit<IncidentQuery, "due" | "withProvider"> {
  readonly due?: boolean;
  readonly withProvider?: boolean;
  readonly json?: boolean;
}

export function addIncidentCommands(program: Command): void {
  const incidents = program
    .command("incidents")
    .description("what alerts are about: mismatches of one product and kind that are close in time");
  incidents
    .command("list")
    .description("list incidents; without --state the open ones")
    .option("--state <state>", "open, over or all")
    .option("--product <product>", "one product")
    .option("--owner <name>", "only those of this person; me: yours; nobody: those without an owner")
    .option("--due", "only those whose reminder is due")
    .option("--with-provider", "only those about which an answer of the provider is awaited")
    .option("--currency <currency>", "those with money at risk in this currency, such as THB")
    .option("--happened-from <time>", "those with a bet that happened at this time or later")
    .option("--happened-to <time>", "those with a bet that happened before this time")
    .option(
      "--sort <order>",
      "at-risk: the most money first, within each currency; remind-at: those with a reminder, the earliest first; default: the newest first",
    )
    .option("--limit <count>", "the most rows to list, up to 1000", "100")
    .option("--after <next>", 'the "next" of the page before')
    .option("--changed-since <cursor>", 'only what changed since the answer with this "cursor"')
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { json, due, withProvider, ...typed }: ListOptions) => {
        const asked = {
          ...typed,
          ...(due ? { due: "true" } : {}),
          ...(withProvider ? { withProvider: "true" } : {}),
        };
        const list = await listIncidentDocuments(
          context,
          await readIncidentQuery(context, asked, actorName()),
        );
        if (json) printJson(list);
        else printList(list.incidents, list.next);
      }),
    );
  incidents
    .command("show")
    .argument("<id>", "the id in the list")
    .description("show one with its money, its mismatches, who was notified of what, and the comments")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, id: string, { json }: { json?: boolean }) => {
        const story = await readIncidentDocument(context, id);
        if (json) printJson(story);
        else printStory(story);
      }),
    );
  addCaseCommands(incidents, "incidents");
}

function printList(incidents: readonly IncidentDocument[], next: string | null): void {
  if (incidents.length === 0) {
    printLine("No incidents.");
    return;
  }
  printTable(
    ["ID", "KIND", "OWNER", "PRODUCT", "SINCE", "NEWEST", "OPEN", "OF", "AT RISK", "OVER"],
    incidents.map((one) => [
      one.id,
      one.kind,
      one.owner ?? "-",
      one.productId,
      one.beganAt,
      one.lastAt,
      String(one.open),
      String(one.total),
      sayMoney(one),
      one.endedAt ?? "-",
    ]),
  );
  if (next !== null) printLine(`There are more: --after ${next}`);
}

function printStory(story: IncidentStoryDocument): void {
  const { id, kind, productId, beganAt, endedAt, open, total, backfillId } = story;
  const state = endedAt === null ? `${open} of ${total} open` : `over since ${endedAt}, ${total} in all`;
  printLine(showText(`Incident ${id}: ${kind} in ${productId}, ${state}, ${sayMoney(story)} at risk`));
  printLine(`Since ${beganAt}: ${MEANING_OF_KIND[kind]}.`);
  if (endedAt === null) printLine(showText(`To do: ${adviceOfSome(kind, open, largestOf(story))}`));
  if (backfillId !== null) printLine(`Backfill ${backfillId} found its mismatches.`);
  printLine(showText(sayCase(story)));
  printLine();
  printTable(
    ["STATUS", "MISMATCHES", "AT RISK"],
    story.sums.map(({ status, count, amount, currency }) => [
      status,
      String(count),
      sayAmount(amount, currency),
    ]),
  );
  printLine();
  printTable(
    ["ID", "STATUS", "PLAYER", "AT RISK", "SINCE", "WHY"],
    story.mismatches.map((one) => [
      one.id,
      one.status,
      one.username,
      sayAmount(one.amountAtRisk, one.currency),
      one.firstSeenAt,
      one.reason,
    ]),
  );
  if (story.next !== null) {
    const all = "--status open,acknowledged,resolved,ignored";
    printLine(`There are more: recon mismatches list --incident ${id} ${all} --after ${story.next}`);
  }
  printLine();
  printNotifications(story);
  printComments(story.comments);
}

/** "owner mia, ticket PRV-12, with the provider since …, reminder …" */
function sayCase({ owner, ticket, withProvider, remindAt }: IncidentStoryDocument): string {
  return [
    `Owner: ${owner ?? "nobody"}`,
    ticket === null ? null : `ticket ${ticket}`,
    withProvider === null ? null : `with the provider since ${withProvider}`,
    remindAt === null ? null : `reminder ${remindAt}`,
  ]
    .filter((part) => part !== null)
    .join(", ");
}

/** The open ones with the most money, of those that are shown. */
function largestOf({ mismatches }: IncidentStoryDocument): Mismatch[] {
  const open = mismatches.filter(({ status }) => status === "open" || status === "acknowledged");
  const atRisk = ({ amountAtRisk }: Mismatch) => parseAmount(amountAtRisk, "amountAtRisk");
  return open.sort((a, b) => atRisk(b).cmp(atRisk(a))).slice(0, 3);
}

function printNotifications({ notifications }: IncidentStoryDocument): void {
  if (notifications.length === 0) {
    printLine("No alert was sent: its money has not reached alerts.minAmount.");
    return;
  }
  printTable(
    ["WRITTEN", "ALERT", "CHANNEL", "ATTEMPTS", "DELIVERED", "WHAT IT SAID"],
    notifications.map((one) => [
      one.at,
      one.kind,
      one.channel ?? "-",
      String(one.attempts),
      one.deliveredAt ?? (one.lastError === null ? "-" : `not yet: ${one.lastError}`),
      one.what,
    ]),
  );
}

function sayMoney({ amounts }: IncidentDocument): string {
  return amounts.map(({ amount, currency }) => sayAmount(amount, currency)).join(" and ") || "nothing";
}

function sayAmount(amount: string, currency: string | null): string {
  return formatMoney(parseAmount(amount, "amount"), currency ?? "").trimEnd();
}
