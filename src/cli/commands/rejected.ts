/** `recon rejected`: lists and shows records and entries that cannot be used, and reads them again. */

import { stderr, stdout } from "node:process";
import type { Command } from "commander";
import type { FlowContext } from "../../flows/context.ts";
import {
  listRejected,
  type RejectedList,
  type RejectedStory,
  readRejected,
} from "../../flows/rejected/read-rejected.ts";
import {
  type RetryCounts,
  type RetryResult,
  retryNext,
  retryThese,
} from "../../flows/rejected/retry-rejected.ts";
import { type RejectedQuery, readRef, readRejectedQuery } from "../../ops/input/rejected-query.ts";
import { parseRejectedId, type RejectedRef } from "../../rejected.ts";
import { withRecon } from "../run/run-command.ts";
import { withAudit } from "../run/with-audit.ts";
import { printJson, printLine, printTable, showText } from "../terminal/print.ts";

/** Of more rows that stay than this, the rest is only counted. */
const MOST_LISTED = 10_000;
const ROWS_PER_PART = 1_000;
const PLAIN_LINE_EVERY_MS = 5_000;

interface RetriedAll extends Omit<RetryResult, "next"> {
  /** how many more stay than are listed */
  readonly unlisted: number;
}

/** @param refs null: all rejected records and entries */
async function retryAll(context: FlowContext, refs: readonly RejectedRef[] | null): Promise<RetriedAll> {
  if (refs !== null) {
    const { next: _, ...result } = await retryThese(context, refs);
    return { ...result, unlisted: 0 };
  }
  const all = { side: null, kind: null, productId: null, reason: null, since: null };
  const { counts } = await listRejected(context, all, { after: null, limit: 1 });
  const show = openDisplay(context, counts.records + counts.entries);
  let total: RetriedAll = { records: NONE, entries: NONE, stayed: [], unlisted: 0 };
  let after: RejectedRef | null = null;
  for (;;) {
    const part: RetryResult = await retryNext(context, after, ROWS_PER_PART);
    total = add(total, part);
    show(tried(total), part.next === null);
    // Each part is of older rows, so that it comes to an end.
    if (part.next === null) return total;
    after = parseRejectedId(part.next);
  }
}

const NONE: RetryCounts = { accepted: 0, known: 0, stillRejected: 0 };

function add(total: RetriedAll, part: RetryResult): RetriedAll {
  const stayed = [...total.stayed, ...part.stayed.slice(0, MOST_LISTED - total.stayed.length)];
  return {
    records: addCounts(total.records, part.records),
    entries: addCounts(total.entries, part.entries),
    stayed,
    unlisted: total.unlisted + total.stayed.length + part.stayed.length - stayed.length,
  };
}

function addCounts(a: RetryCounts, b: RetryCounts): RetryCounts {
  return {
    accepted: a.accepted + b.accepted,
    known: a.known + b.known,
    stillRejected: a.stillRejected + b.stillRejected,
  };
}

function tried({ records, entries }: RetriedAll): number {
  return [records, entries].reduce((sum, one) => sum + one.accepted + one.known + one.stillRejected, 0);
}

/** Of what one part holds nothing is said. */
function openDisplay({ clock }: FlowContext, whole: number): (done: number, isLast: boolean) => void {
  let nextAt = clock.now() + PLAIN_LINE_EVERY_MS;
  return (done, isLast) => {
    if (whole <= ROWS_PER_PART) return;
    const line = `${done} of ${whole} read again`;
    if (stderr.isTTY) stderr.write(`\r${line}${isLast ? "\n" : ""}`);
    else if (isLast || clock.now() >= nextAt) {
      nextAt = clock.now() + PLAIN_LINE_EVERY_MS;
      stderr.write(`${line}\n`);
    }
  };
}

export function addRejectedCommands(program: Command): void {
  const rejected = program
    .command("rejected")
    .description("records and entries that cannot be used, with their text and the reason");
  rejected
    .command("list")
    .description("list them: records before entries, each the newest first")
    .option("--side <side>", "record (of the provider) or entry (of the ledger)")
    .option("--kind <kind>", "unusable, or changed: the first content of the entry stays")
    .option("--product <product>", "one product")
    .option("--reason <text>", "a part of the reason")
    .option(
      "--since <time>",
      "first seen at this time or later, such as 2026-11-01T10:00:00Z, 2026-11-01 or yesterday",
    )
    .option("--limit <count>", "the most rows to list, up to 1000", "100")
    .option("--after <next>", 'the "next" of the page before')
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, { json, ...query }: RejectedQuery & { json?: boolean }) => {
        const { choice, page } = await readRejectedQuery(context, query);
        const list = await listRejected(context, choice, page);
        if (json) printJson(list);
        else printList(list);
      }),
    );
  rejected
    .command("show")
    .argument("<id>", "the id in the list")
    .description("show one with its whole text, the reason, and what to do")
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, id: string, { json }: { json?: boolean }) => {
        const story = await readRejected(context, id);
        if (json) printJson(story);
        else printStory(story);
      }),
    );
  rejected
    .command("retry")
    .argument("[ids...]", "the ids in the list; without ids all of them")
    .description(
      "read them again, after an upgrade or a changed setting; those that still cannot be used stay",
    )
    .option("--json", "one JSON document")
    .action(
      withRecon(["database"], async ({ context }, ids: string[], options: { json?: boolean }) => {
        const refs = ids.length === 0 ? null : ids.map((id) => readRef("id", id));
        const asked = ids.length === 0 ? { all: true } : { ids: ids.slice(0, MOST_NAMED), count: ids.length };
        await withAudit(context, "recon rejected retry", asked, () => retry(context, refs, options));
      }),
    );
}

async function retry(
  context: FlowContext,
  refs: readonly RejectedRef[] | null,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const result = await retryAll(context, refs);
  if (json) {
    printJson(result);
    return;
  }
  const { records, entries, stayed, unlisted } = result;
  printTable(
    ["", "ACCEPTED", "KNOWN", "STILL REJECTED"],
    Object.entries({ records, entries }).map(([side, counts]) => [
      side,
      ...[counts.accepted, counts.known, counts.stillRejected].map(String),
    ]),
  );
  const shown = stayed.slice(0, MOST_REASONS);
  for (const { id, reason } of shown) printLine(`${id}: ${showText(reason.slice(0, LONGEST_REASON))}`);
  const more = stayed.length - shown.length + unlisted;
  if (more > 0) printLine(`and ${more} more: recon rejected list shows them with their reasons`);
}

const MOST_REASONS = 20;
const LONGEST_REASON = 300;
/** The audit log shows no more ids than fit into its row. */
const MOST_NAMED = 100;

function printList({ rejected, next, counts }: RejectedList): void {
  if (rejected.length === 0) {
    printLine("Nothing rejected.");
    return;
  }
  printTable(
    ["ID", "KIND", "PRODUCT", "FIRST SEEN", "WHY"],
    rejected.map((one) => [
      one.id,
      one.kind,
      one.productId ?? "-",
      one.firstSeenAt,
      one.reason.slice(0, LONGEST_REASON),
    ]),
  );
  const records = `${counts.records} ${counts.records === 1 ? "record" : "records"}`;
  const entries = `${counts.entries} ${counts.entries === 1 ? "entry" : "entries"}`;
  printLine(`In all: ${records} and ${entries}.`);
  if (next !== null) printLine(`There are more: --after ${next}`);
}

/** A terminal shows no more of a text; a file or a pipe gets all of it. */
const MOST_ON_TERMINAL = 20_000;

function printStory({ id, kind, productId, entryId, firstSeenAt, reason, toDo, raw }: RejectedStory): void {
  const facts = [
    ["kind", kind],
    ["product", productId ?? "-"],
    ...(entryId === null ? [] : [["entry_id", entryId]]),
    ["first seen", firstSeenAt],
    ["reason", reason],
    ["to do", toDo],
  ];
  printTable([id, ""], facts);
  printLine();
  const isCut = stdout.isTTY && raw.length > MOST_ON_TERMINAL;
  const shown = isCut ? raw.slice(0, MOST_ON_TERMINAL) : raw;
  printLine(shown.split("\n").map(showText).join("\n"));
  if (isCut)
    printLine(`… and ${raw.length - MOST_ON_TERMINAL} more characters: --json, or a file, has all of them`);
}
