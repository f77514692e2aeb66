/** Reads the kept text of a rejected entry: a row of the ledger, or a line of an import. Pure. */

import { isLosslessNumber, parse } from "lossless-json";
import { readRecordedCallback } from "../../callbacks/entries-of-callback.ts";
import type { Sameness } from "../../ledger/import-store.ts";
import type { LineContent } from "../../ledger/ledger-row.ts";
import { readCsvEntry, readJsonEntry } from "../../ledger/read-entry.ts";

export interface KeptEntry {
  readonly content: LineContent;
  readonly sameness: Sameness;
}

/** @returns null: the text is not JSON, so that nothing can be read of it */
export function readKeptEntry(raw: string): KeptEntry | null {
  let given: unknown;
  try {
    given = parse(raw);
  } catch {
    return null;
  }
  const isObject =
    typeof given === "object" && given !== null && !Array.isArray(given) && !isLosslessNumber(given);
  if (isObject && Object.hasOwn(given as object, "request")) {
    return { content: readRecordedCallback(raw), sameness: "replays" };
  }
  const content = readJsonEntry(raw);
  // A row of a CSV file is kept as an object whose every field is text.
  const isCsv = isObject && Object.values(given as object).every((value) => typeof value === "string");
  return content.kind === "rejected" && isCsv
    ? { content: readCsvEntry(given as Record<string, string>), sameness: "exact" }
    : { content, sameness: "exact" };
}
