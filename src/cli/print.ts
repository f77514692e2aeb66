/** What commands write for people and for programs. */

import { stdout } from "node:process";

/** Text from outside could carry escape sequences that a terminal obeys. */
export function showText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

export function printLine(text = ""): void {
  stdout.write(`${text}\n`);
}

/** Exactly one JSON document. */
export function printJson(value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Columns as wide as their widest cell; cells are made safe for the terminal. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, ...rows].map((row) => row.map(showText));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    printLine(line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd());
  }
}
