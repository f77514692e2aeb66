/** The API's schemas of imports. */

import { z } from "zod";
import type { ImportCounts } from "../../ledger/import-lines.ts";
import { COUNT, documentOf, listOf, TEXT } from "./schema.ts";

const REJECTED_LINE = documentOf<ImportCounts["rejected"][number]>({ line: COUNT, reason: TEXT });

/** What became of the lines of a request. */
export const TAKEN = documentOf<ImportCounts>({
  added: COUNT,
  known: COUNT,
  changed: COUNT,
  skipped: { ...COUNT, description: "callbacks that the operator refused, and checkBalance" },
  rejected: listOf(REJECTED_LINE),
});

const linesOf = (what: string) => z.string().meta({ description: what });

export const ENTRY_LINES = linesOf("one JSON object with the columns of callback_entries on each line");
export const CALLBACK_LINES = linesOf(
  'one JSON object { "callback", "receivedAt", "request", "response" } on each line',
);
