/** The log lines of a start without settings, for the person at its terminal. */

import { standardError } from "../../standard-error.ts";
import { showText } from "./print.ts";

const ERROR_LEVEL = 50;

/** Writes each line of the log as a sentence: "error: SPORT: a window could not be fetched: …". */
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
