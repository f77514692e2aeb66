/** One mismatch for the terminal: both sides beside each other, the timeline, and the history. */

import { adviceOf } from "../../../advice.ts";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import { formatAmount, parseAmount } from "../../../money.ts";
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
