/** Imports a ledger: entries or recorded callbacks, from a file or a request, any number of times. */

import { writeLedgerSettings } from "../../ledger/follow-store.ts";
import { type Taken, takeLines } from "../../ledger/take-lines.ts";
import type { FlowContext } from "../context.ts";
import { type ImportFormat, type ImportShape, readImport } from "./read-import.ts";

export interface ImportOptions {
  readonly format: ImportFormat;
  /** null: the first lines say it */
  readonly shape: ImportShape | null;
  /** a gzip file is unpacked; without it, it is refused */
  readonly unpacks?: boolean;
  /** says what would become of the lines, and writes nothing */
  readonly dryRun?: boolean;
  /** called with each part that was taken, and the number of its last line */
  readonly onTaken: (taken: Taken, line: number) => void;
}

/**
 * Reads and takes all lines; reads on while it writes. What was taken stays taken where a later part fails.
 * @throws ReconError `usage` for a wrong header of CSV, or where nobody can say what the file is
 */
export async function importLedger(
  { sql, config }: Pick<FlowContext, "sql" | "config">,
  chunks: AsyncIterable<Uint8Array>,
  { format, shape, unpacks = false, dryRun = false, onTaken }: ImportOptions,
): Promise<void> {
  const sameness = format === "entries" ? "exact" : "replays";
  if (!dryRun) await writeLedgerSettings(sql, config.ledger.rowsChange);
  let writing = Promise.resolve();
  for await (const lines of readImport(chunks, format, shape, unpacks)) {
    await writing;
    writing = takeLines(sql, lines, { sameness, dryRun }).then((taken) =>
      onTaken(taken, lines.at(-1)?.line ?? 0),
    );
    // It is awaited before the next part is written.
    writing.catch(() => {});
  }
  await writing;
}
