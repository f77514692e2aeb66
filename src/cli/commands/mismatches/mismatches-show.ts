/** Mismatches for the terminal: one with both sides, timeline and history; and what an action changes or has changed. */

import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import { adviceOf } from "../../../advice.ts";
import type { ActionResult, MismatchTarget } from "../../../flows/mismatches/act-on-mismatches.ts";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import { formatAmount, formatMoney, parseAmount } from "../../../money.ts";
import { usage } from "../../../ops/input/fields.ts";
import { EXIT_FAILED } from "../../run/run-command.ts";
import { printComments, printLine, printTable, showText } from "../../terminal/print.ts";

const BET_FIELDS = ["status", "stake", "payout", "moved", "currency", "username"];
const TRANSFER_FIELDS = ["status", "amount", "currency", "username", "productId"];
const AMOUNTS: ReadonlySet<string> = new Set(["stake", "payout", "amount"]);
/** The ledger's status for each status of the provider (§2.4). */
const LEDGER_STATUS: Readonly<Record<string, string>> = {
  OPEN: "open",
  UNSETTLED: "open",
  SETTLED: "settled",
  VOID: "void",
};

type Side = Readonly<Record<string, string | null | undefined>> | null;

/** @param atRisk as shown in the terminal */
export function printStory(story: MismatchStory, atRisk: string): void {
  printLine(`Mismatch ${story.id}: ${story.kind}, ${story.status}, ${atRisk} at risk`);
  printLine(showText(story.reason));
  if (story.status === "open" || story.status === "acknowledged")
    printLine(`to do: ${showText(adviceOf(story))}`);
  if (story.note !== null) printLine(`note: ${showText(story.note)}`);
  printLine();
  printSides(story);
  printLine();
  const { productId, betId, transactionId, transactionRef, roundId, occurredAt, effect, currency, countsOn } =
    story;
  printTable(
    ["product", showText(productId)],
    [
      ["bet id at the provider", betId ?? "-"],
      ["transaction id in the ledger", transactionId ?? "-"],
      ...(transactionRef === null ? [] : [["transaction ref", transactionRef]]),
      ["round", roundId ?? "-"],
      ["happened", occurredAt],
      ["effect", effect === null ? "-" : `${effect} ${currency ?? ""}`.trimEnd()],
      ["counts in the statement of", countsOn ?? "-"],
      ["owner", story.owner ?? "nobody"],
      ["ticket at the provider", story.ticket ?? "-"],
      ["with the provider since", story.withProvider ?? "-"],
      ["reminder", story.remindAt ?? "-"],
    ],
  );
  printTimeline(story);
  printAdjustments(story);
  printLine();
  printTable(
    ["WHEN", "FROM", "TO", "BY", "WHY"],
    story.history.map((event) => [
      event.at,
      event.fromStatus ?? "-",
      event.toStatus,
      event.by,
      event.note ?? event.reason,
    ]),
  );
  printComments(story.comments);
}

function printSides(story: MismatchStory): void {
  const isSession = story.kind === "session-differs";
  const provider = isSession ? withNet(story.provider as Side) : (story.provider as Side);
  const ledger = story.ledger as Side;
  const isTransfer = [provider, ledger].some((side) => side !== null && "amount" in side);
  printTable(
    ["", "PROVIDER", "LEDGER", ""],
    (isTransfer ? TRANSFER_FIELDS : BET_FIELDS).map((field) => [
      field,
      provider?.[field] ?? "-",
      ledger?.[field] ?? "-",
      // Only the net result of a session is compared: money taken into the game is no stake.
      !(isSession && AMOUNTS.has(field)) && differs(field, provider, ledger, isTransfer) ? "<- differs" : "",
    ]),
  );
}

/** The amount that the wallet should have moved for a whole session. */
function withNet(provider: Side): Side {
  if (typeof provider?.["stake"] !== "string" || typeof provider["payout"] !== "string") return provider;
  const net = parseAmount(provider["payout"], "payout").minus(parseAmount(provider["stake"], "stake"));
  return { ...provider, moved: formatAmount(net) };
}

/** A field differs only if both sides have a value: a missing side differs as a whole. */
function differs(field: string, provider: Side, ledger: Side, isTransfer: boolean): boolean {
  const [theirs, ours] = [provider?.[field], ledger?.[field]];
  if (typeof theirs !== "string" || typeof ours !== "string") return false;
  if (AMOUNTS.has(field)) return !parseAmount(theirs, field).eq(parseAmount(ours, field));
  if (field !== "status") return theirs !== ours;
  return !isTransfer && (LEDGER_STATUS[theirs] ?? theirs) !== ours;
}

function printTimeline({ timeline }: MismatchStory): void {
  if (timeline.length === 0) return;
  printLine();
  printTable(
    ["WHEN", "SIDE", "SAID", "ID", "STAKE", "PAYOUT", "MOVED", "CURRENCY", "SEEN", "REQUEST"],
    timeline.map((item) => [
      item.at,
      item.side,
      item.replacedAt === null ? item.what : `${item.what}, until ${item.replacedAt}`,
      item.id,
      item.stake ?? "-",
      item.payout ?? "-",
      item.moved ?? "-",
      item.currency,
      item.seenAt,
      item.requestId ?? "-",
    ]),
  );
}

function printAdjustments({ adjustments }: MismatchStory): void {
  if (adjustments.length === 0) return;
  printLine();
  printTable(
    ["ADJUSTED", "AMOUNT", "REF", "BY", "NOTE"],
    adjustments.map((one) => [one.at, `${one.amount} ${one.currency}`, one.ref, one.by, one.note]),
  );
}

/**
 * Shows the number of mismatches, and asks.
 * @param done "acknowledged"
 * @returns the ids of the shown mismatches; declined: there are none, or the person does not want it
 */
export async function confirmShown(
  preview: ActionResult,
  done: string,
): Promise<readonly string[] | "declined"> {
  const counted = `To be ${done}: ${showResult(preview)}.`;
  if (!stdin.isTTY) throw usage(`${counted} There is no terminal to confirm in: add --yes, or --dry-run`);
  if (preview.count === 0) {
    printLine("No mismatches.");
    return "declined";
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  const answer = await terminal.question(`${counted} Continue? [y/N] `);
  terminal.close();
  if (/^y(es)?$/i.test(answer.trim())) return preview.ids;
  printLine("Nothing was changed.");
  process.exitCode = EXIT_FAILED;
  return "declined";
}

export function printResult(target: MismatchTarget, done: string, result: ActionResult): void {
  const [only] = result.ids;
  if ("ids" in target && result.count === 1) printLine(`Mismatch ${only} is ${done}.`);
  else printLine(`${done[0]?.toUpperCase()}${done.slice(1)}: ${showResult(result)}.`);
  const changed = "filter" in target && target.shown !== null ? target.shown.length - result.count : 0;
  if (changed > 0)
    printLine(`Not changed, because they were changed after the preview: ${changed} of those shown.`);
}

/** "12 mismatches, 120.50 THB and 3.00 USD at risk" */
export function showResult({ count, amounts }: ActionResult): string {
  const money = amounts.map(({ currency, amount }) =>
    formatMoney(parseAmount(amount, "amount"), currency ?? "").trimEnd(),
  );
  const atRisk = money.length === 0 ? "" : `, ${money.join(" and ")} at risk`;
  return showText(`${count} ${count === 1 ? "mismatch" : "mismatches"}${atRisk}`);
}
