/**
 * Imports entries or recorded callbacks from a file or a request, and keeps a list of the imports. Importing a file twice
 * changes nothing.
 */

import { z } from "zod";
import { type AnswerOf, COUNT, INSTANT, listOf, NEXT, objectOf, TEXT } from "../../answer.ts";
import { formatInstant } from "../../clock.ts";
import { describeError, ReconError } from "../../errors.ts";
import { writeLedgerSettings } from "../../ledger/follow-store.ts";
import { IMPORT_COUNTS, type ImportCounts, importLines, NO_COUNTS } from "../../ledger/import-lines.ts";
import {
  beginImport,
  deleteImport,
  endImport,
  type ImportSource,
  type ImportTotals,
  type PastImport,
  readPastImport,
} from "../../ledger/past-import-store.ts";
import type { FlowContext } from "../context.ts";
import { IMPORT_FORMATS, type ImportFormat, type ImportShape, readImport } from "./read-import.ts";

export interface ImportOptions {
  readonly format: ImportFormat;
  /** null: detected from the first lines */
  readonly shape: ImportShape | null;
  /** unpacks gzip; otherwise a gzip file is refused */
  readonly unpacks?: boolean;
  /** only returns the result, and writes nothing */
  readonly dryRun?: boolean;
  /** called after each part, with its result and the number of its last line */
  readonly onImported: (counts: ImportCounts, line: number) => void;
}

/**
 * Imports all lines; reads the next part while one part is written. If a part fails, the parts before it stay imported.
 * @throws ReconError `usage` for a wrong CSV header, or if the kind of file cannot be detected
 */
export async function importLedger(
  { sql, config }: Pick<FlowContext, "sql" | "config">,
  chunks: AsyncIterable<Uint8Array>,
  { format, shape, unpacks = false, dryRun = false, onImported }: ImportOptions,
): Promise<void> {
  const sameness = format === "entries" ? "exact" : "replays";
  if (!dryRun) await writeLedgerSettings(sql, config.ledger.rowsChange);
  let writing = Promise.resolve();
  for await (const lines of readImport(chunks, format, shape, unpacks)) {
    await writing;
    writing = importLines(sql, lines, { sameness, dryRun }).then((counts) =>
      onImported(counts, lines.at(-1)?.line ?? 0),
    );
    // Awaited before the next part is written; without this a failure now would end the process.
    writing.catch(() => {});
  }
  await writing;
}

/** The most rejected lines in the list of imports. All of them are kept as rejected entries. */
const MOST_KEPT = 500;

/**
 * Imports as `importLedger` does, and lists the import. An import that is refused before any line was imported is not
 * listed; one that fails later is listed with its result so far and the error.
 * @returns the id of the import
 */
export async function recordImport(
  context: FlowContext,
  chunks: AsyncIterable<Uint8Array>,
  { shape, unpacks = false, onImported }: Pick<ImportOptions, "shape" | "unpacks" | "onImported">,
  source: ImportSource,
): Promise<number> {
  const { sql, clock, log } = context;
  const totals = sumCounts(MOST_KEPT);
  const id = await beginImport(sql, source, clock.now());
  try {
    await importLedger(context, chunks, {
      format: source.format,
      shape,
      unpacks,
      onImported: (counts, line) => {
        totals.add(counts);
        onImported(counts, line);
      },
    });
  } catch (error) {
    const isRefused = error instanceof ReconError && error.code === "usage" && totals.isEmpty();
    const noting = isRefused
      ? deleteImport(sql, id)
      : endImport(sql, id, totals.all(), describeError(error), clock.now());
    await noting.catch((failure: unknown) =>
      log.warn({ import: id, error: describeError(failure) }, "the end of an import could not be stored"),
    );
    throw error;
  }
  await endImport(sql, id, totals.all(), null, clock.now());
  return id;
}

/** Adds up the results of the parts of an import. @param mostListed the most rejected lines to list; all are counted */
export function sumCounts(mostListed: number) {
  let totals: ImportTotals = { ...NO_COUNTS, rejectedLines: 0 };
  return {
    add: (counts: ImportCounts) => {
      const left = mostListed - totals.rejected.length;
      totals = {
        added: totals.added + counts.added,
        known: totals.known + counts.known,
        changed: totals.changed + counts.changed,
        skipped: totals.skipped + counts.skipped,
        rejected: [...totals.rejected, ...counts.rejected.slice(0, left)],
        rejectedLines: totals.rejectedLines + counts.rejected.length,
      };
    },
    all: () => totals,
    isEmpty: () => {
      const { added, known, changed, skipped, rejectedLines } = totals;
      return added + known + changed + skipped + rejectedLines === 0;
    },
  };
}

/** @throws ReconError `not-found` */
export async function readImportStory(
  { sql }: FlowContext,
  id: string,
): Promise<PastImport & Pick<ImportCounts, "rejected">> {
  const found = /^[1-9]\d{0,14}$/.test(id) ? await readPastImport(sql, Number(id)) : null;
  if (found === null) throw new ReconError("not-found", `there is no import "${id.slice(0, 60)}"`);
  return found;
}

/** An import as JSON. */
export const IMPORT = objectOf({
  id: TEXT,
  at: INSTANT,
  endedAt: z.nullable(INSTANT).meta({ description: "null: still running, or its process was killed" }),
  who: TEXT,
  via: z.enum(["page", "api", "command"]),
  format: z.enum(IMPORT_FORMATS),
  name: z.nullable(TEXT).meta({ description: "of the file; null: it has none" }),
  bytes: z.nullable(COUNT),
  totals: z
    .nullable(objectOf({ added: COUNT, known: COUNT, changed: COUNT, skipped: COUNT, rejectedLines: COUNT }))
    .meta({ description: "null: unknown, because the import has not ended" }),
  error: z.nullable(TEXT).meta({ description: "why it ended early; null: it did not" }),
});

export const IMPORT_LIST = objectOf({ imports: listOf(IMPORT), next: NEXT });

/** With its first rejected lines. */
export const IMPORT_STORY = IMPORT.extend({ rejected: IMPORT_COUNTS.shape.rejected });

export function describeImport({ id, at, endedAt, ...rest }: PastImport): AnswerOf<typeof IMPORT> {
  const { who, via, format, name, bytes, totals, error } = rest;
  const ended = endedAt === null ? null : formatInstant(endedAt);
  return {
    id: String(id),
    at: formatInstant(at),
    endedAt: ended,
    who,
    via,
    format,
    name,
    bytes,
    totals,
    error,
  };
}
