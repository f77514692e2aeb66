/** The output of commands: tables, text and JSON. */

import { stdout } from "node:process";
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

/** Exactly one JSON document. */
export function printJson(value: unknown): void {
  printDocument(JSON.stringify(value, null, 2));
}

/** Prints a document with several lines, safe for a terminal. */
export function printDocument(text: string): void {
  printLine(text.split("\n").map(showText).join("\n"));
}

/**
 * Lines of CSV. A file gets each cell unchanged; for a terminal the text is made safe.
 * @returns false if the caller should wait for the reader
 */
export function printCsv(lines: string): boolean {
  return stdout.write(stdout.isTTY ? lines.split("\n").map(showText).join("\n") : lines);
}

/** Columns as wide as their widest cell; cells are made safe for the terminal. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, ...rows].map((row) => row.map(showText));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    printLine(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
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
