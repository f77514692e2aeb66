/** An operator whose ledger cannot be read. It hands over files of entries, or of its callbacks and answers. */

import type { CallbackEntry } from "../../src/callback.ts";
import type { Instant } from "../../src/clock.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { importLedger } from "../../src/flows/ledger/import-ledger.ts";
import type { ImportFormat } from "../../src/flows/ledger/read-import.ts";
import { type Amount, formatAmount, parseAmount } from "../../src/money.ts";
import type { Random } from "../../src/sandbox/world/random.ts";
import type { World } from "../../src/sandbox/world/world.ts";
import { movesAnswered } from "./answered-moves.ts";
import { writeBody } from "./callback-requests.ts";
import { COLUMNS, rowOf } from "./operator-ledger.ts";

/** Each file begins before the end of the last one, as logs that are cut by the hour do. */
const OVERLAP_MS = 20 * 60_000;
const ONE_IN_BROKEN = 10;
const ONE_IN_TWICE = 4;
const FIRST_BALANCE = parseAmount("1000000", "balance");

export interface ImportWriter {
  /** hands over what was received before `now` */
  deliver(context: FlowContext, now: Instant): Promise<void>;
}

export function openImportWriter(
  format: ImportFormat,
  world: World,
  begin: Instant,
  random: Random,
): ImportWriter {
  const callbacksOf = openCallbackLog(world.entriesReceived({ from: 0, to: world.quietAt() + 1 }));
  let writtenTo = begin;
  return {
    deliver: async (context, now) => {
      const entries = world.entriesReceived({ from: Math.max(begin, writtenTo - OVERLAP_MS), to: now });
      writtenTo = now;
      const { direct = [], logged = [] } = Object.groupBy(entries, (entry) =>
        format === "callbacks" && isMiscounted(entry) ? "direct" : "logged",
      );
      if (direct.length > 0)
        await importFile(context, "entries", false, Buffer.from(jsonOf(direct).join("\n")));
      const isCsv = format === "entries" && random.oneIn(2);
      const lines = (
        isCsv ? csvOf(logged) : format === "entries" ? jsonOf(logged) : callbacksOf(logged)
      ).flatMap((line) => (random.oneIn(ONE_IN_BROKEN) ? [line.slice(0, 20), line] : [line]));
      const header = isCsv ? [COLUMNS.join(",")] : [];
      const file = Buffer.from(`${[...header, ...lines].join("\n")}\n`);
      await importFile(context, format, isCsv, file);
      if (random.oneIn(ONE_IN_TWICE)) await importFile(context, format, isCsv, file);
    },
  };
}

async function importFile(
  context: FlowContext,
  format: ImportFormat,
  isCsv: boolean,
  file: Buffer,
): Promise<void> {
  const unexpected: string[] = [];
  await importLedger(context, oneChunk(file), {
    format,
    shape: isCsv ? "csv" : "json",
    onImported: ({ rejected, changed }) => {
      if (changed > 0) unexpected.push(`${changed} entries are changed`);
      for (const { reason } of rejected) {
        if (!/^the (?:line is not JSON|row has \d+ fields)/.test(reason)) unexpected.push(reason);
      }
    },
  });
  if (unexpected.length > 0) throw new Error(unexpected.slice(0, 5).join("\n"));
}

async function* oneChunk(file: Buffer): AsyncGenerator<Uint8Array> {
  yield file;
}

function jsonOf(entries: readonly CallbackEntry[]): string[] {
  return entries.map((entry) => JSON.stringify(rowOf(entry)));
}

function csvOf(entries: readonly CallbackEntry[]): string[] {
  return entries.map((entry) => {
    const row = rowOf(entry);
    return COLUMNS.map((column) => cellOf(row[column])).join(",");
  });
}

function cellOf(value: string | boolean | null): string {
  if (value === null) return "";
  const text = String(value);
  return text === "" || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * The callbacks of a world as an operator's log has them: one line for each item, so that the answer's balances say
 * what moved for it. A callback that several files contain has the same line in each.
 */
function openCallbackLog(all: readonly CallbackEntry[]) {
  const movedBy = movesAnswered(all);
  const balances = new Map<string, Amount>();
  const lines = new Map<string, string>();
  const writeLine = (entry: CallbackEntry): string => {
    const { callback, receivedAt, productId, username, currency } = entry;
    const moved = movedBy(entry);
    const wallet = JSON.stringify([productId, username, currency]);
    const before = entry.balanceBefore ?? balances.get(wallet) ?? FIRST_BALANCE;
    const after = entry.balanceAfter ?? (moved === null ? null : before.plus(moved));
    if (after !== null) balances.set(wallet, after);
    const response =
      after === null
        ? "null"
        : `{"statusCode":0,"balanceBefore":${formatAmount(before)},"balanceAfter":${formatAmount(after)}}`;
    const head = JSON.stringify({ callback, receivedAt: new Date(receivedAt).toISOString() });
    return `${head.slice(0, -1)},"request":${writeBody([entry], [])},"response":${response}}`;
  };
  return (entries: readonly CallbackEntry[]) =>
    entries.map((entry) => {
      const line = lines.get(entry.entryId) ?? writeLine(entry);
      lines.set(entry.entryId, line);
      return line;
    });
}

/**
 * Whether the balances may contradict what moved: of a recorded callback only the balances are known. An entry that does
 * not say what moved stands for what it asks for, which its balances may contradict too.
 */
function isMiscounted({ balanceBefore, balanceAfter, moved }: CallbackEntry): boolean {
  if (balanceBefore === null || balanceAfter === null) return false;
  return moved === null || !balanceAfter.minus(balanceBefore).eq(moved);
}
