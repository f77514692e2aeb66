/** The output of commands: tables, text and JSON. */

import { stdout } from "node:process";
import { styleText } from "node:util";
import type { WrongField } from "../../errors.ts";
import { standardError } from "../../standard-error.ts";

/** Control characters, and characters that change the direction of reading. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}]/gu;

/** Text from outside may contain escape sequences for the terminal. This prints such characters as "\u001b". */
export function showText(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function printLine(text = ""): void {
  stdout.write(`${text}\n`);
}

/** Colours a text for a terminal that shows colours, and as NO_COLOR and FORCE_COLOR say. */
export function paint(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: NodeJS.WritableStream = stdout,
): string {
  return styleText(style, text, { stream });
}

/** Whether the command was called with `--json`, and has not printed its document. */
let isDocumentDue = false;

export function expectDocument(isAsked: boolean): void {
  isDocumentDue = isAsked;
}

/** Exactly one JSON document. */
export function printJson(value: unknown): void {
  printDocument(JSON.stringify(value, null, 2));
}

/** The document of a command that failed before it printed its own. */
export function printFailure(error: {
  readonly code: string;
  readonly message: string;
  readonly fields: readonly WrongField[];
}): void {
  if (isDocumentDue) printJson({ error });
}

/** Prints a document with several lines, safe for a terminal. */
export function printDocument(text: string): void {
  isDocumentDue = false;
  printLine(text.split("\n").map(showText).join("\n"));
}

/**
 * Lines of CSV. A file gets each cell unchanged; for a terminal the text is made safe.
 * @returns false if the caller should wait for the reader
 */
export function printCsv(lines: string): boolean {
  return stdout.write(stdout.isTTY ? lines.split("\n").map(showText).join("\n") : lines);
}

/**
 * Columns as wide as their widest cell; cells are made safe for the terminal. If a terminal is too narrow, the text of the
 * last column is shortened or continues on further lines, and other columns that do not fit are on lines below, indented. Nothing else is
 * cut: amounts and ids stay whole.
 */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, ...rows].map((row) => row.map(showText));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const room = stdout.isTTY ? stdout.columns : Number.POSITIVE_INFINITY;
  const whole = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  const isFitted = whole > room && TEXT_HEADS.has(head.at(-1) ?? "");
  const padded = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  for (const [index, cells] of padded.entries()) {
    const shown = isFitted ? fitText(cells, room) : breakColumns(cells, room);
    for (const line of shown) printLine(index === 0 ? paint("bold", line) : line);
  }
}

const GAP = "  ";
/** The columns of sentences. */
const TEXT_HEADS: ReadonlySet<string> = new Set(["WHY", "REASON", "NOTE", "COMMENT", "WHAT IT SAID"]);
/** A narrower column of sentences is hard to read: it gets lines of its own. */
const NARROWEST_TEXT = 24;

/** One row as lines, each with the columns that fit. All rows of a table break at the same columns: their cells have equal widths. */
function breakColumns(cells: readonly string[], room: number): string[] {
  const lines: string[] = [];
  for (const cell of cells) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + GAP.length + cell.length <= room)
      lines[lines.length - 1] = last + GAP + cell;
    else lines.push(last === undefined ? cell : GAP + cell);
  }
  return lines.map((line) => line.trimEnd()).filter((line, index) => index === 0 || line !== "");
}

/** One row as lines. The text of its last cell loses its end only if that has no number: it may be an amount or an id. */
function fitText(cells: readonly string[], room: number): string[] {
  const before = cells.slice(0, -1).join(GAP);
  const left = room - before.length - GAP.length;
  const isBeside = left >= NARROWEST_TEXT;
  const width = isBeside ? left : Math.max(room - GAP.length, NARROWEST_TEXT);
  const wrapped = wrapWords(cells.at(-1)?.trimEnd() ?? "", width);
  const [first = "", ...rest] = wrapped;
  const isCut = rest.length > 0 && !/\d/.test(rest.join(" "));
  // The end of the first line may have to go too, for the "…".
  const cut = isCut ? wrapWords(first, width - 1)[0] : undefined;
  const texts = cut !== undefined && !/\d/.test(first.slice(cut.length)) ? [`${cut}…`] : wrapped;
  const indent = " ".repeat(isBeside ? before.length + GAP.length : GAP.length);
  const further = texts.slice(isBeside ? 1 : 0).filter((text) => text !== "");
  return [
    isBeside ? `${before}${GAP}${texts[0]}`.trimEnd() : before.trimEnd(),
    ...further.map((text) => `${indent}${text}`),
  ];
}

/** Lines of at most this many characters; only a word that is longer is wider. */
function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Comments, the oldest first; prints nothing if there are none. */
export function printComments(
  comments: readonly { readonly at: string; readonly by: string; readonly note: string }[],
): void {
  if (comments.length === 0) return;
  printLine();
  printTable(
    ["COMMENTED", "BY", "COMMENT"],
    comments.map(({ at, by, note }) => [at, by, note]),
  );
}

const ERROR_LEVEL = 50;

/** Writes each log line of a start without settings as a sentence: "error: SPORT: a window could not be fetched: …". */
export const readableLog = {
  write(line: string): void {
    standardError.write(`${describeLine(line)}\n`);
  },
};

function describeLine(line: string): string {
  let fields: Readonly<Record<string, unknown>>;
  try {
    fields = JSON.parse(line);
  } catch {
    return showText(line.trimEnd());
  }
  const { level, msg, productId, error, err } = fields;
  const name = Number(level) >= ERROR_LEVEL ? "error" : "warning";
  const cause = error ?? (err as { message?: unknown } | undefined)?.message;
  const said = [name, productId, msg, cause].filter((part) => typeof part === "string");
  return showText(said.join(": "));
}
