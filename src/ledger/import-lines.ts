/** Writes the lines of an import to the ledger. A line has one entry or several, or is kept with the reason against it. */

import { type AnswerOf, COUNT, listOf, objectOf, TEXT } from "../answer.ts";
import type { Query, Sql } from "../db/client.ts";
import { inReadCommitted } from "../db/transactions.ts";
import { describeError } from "../errors.ts";
import {
  isConcurrentWrite,
  isRefusedValue,
  judgeOnly,
  type RowOutcome,
  type Sameness,
  writeRows,
} from "./import-store.ts";
import { NO_NAMES, namesOfRow, type ReadLine } from "./ledger-row.ts";
import { keepRejectedLines, type RejectedLine } from "./rejected-store.ts";

/** The result of some lines; the first three numbers count entries. */
export const IMPORT_COUNTS = objectOf({
  added: COUNT,
  known: COUNT,
  changed: COUNT,
  skipped: COUNT.meta({ description: "callbacks that the operator refused, and checkBalance" }),
  /** in the order of the lines */
  rejected: listOf(objectOf({ line: COUNT, reason: TEXT })),
});
export type ImportCounts = AnswerOf<typeof IMPORT_COUNTS>;

interface ImportLinesOptions {
  readonly sameness: Sameness;
  /** only returns the result, and writes nothing */
  readonly dryRun?: boolean;
}

/** How often to retry when a concurrent writer touches the same entries. */
const MOST_TRIES = 10;

/**
 * Imports lines in one transaction. Lines that were imported before count as known.
 * @param lines a few thousand at most
 */
export async function importLines(
  sql: Sql,
  lines: readonly ReadLine[],
  options: ImportLinesOptions,
  tries = 1,
): Promise<ImportCounts> {
  try {
    return options.dryRun === true
      ? (await judgeLines(sql, lines, options)).counts
      : await inReadCommitted(sql, async (tx) => {
          const { counts, toKeep } = await judgeLines(tx, lines, options);
          await keepRejectedLines(tx, toKeep);
          return counts;
        });
  } catch (error) {
    if (isConcurrentWrite(error) && tries < MOST_TRIES)
      return await importLines(sql, lines, options, tries + 1);
    if (!isRefusedValue(error)) throw error;
    return await importInHalves(sql, lines, options, error);
  }
}

/** Imports the lines in two halves, because one value that PostgreSQL refuses must not stop the other lines. */
async function importInHalves(
  sql: Sql,
  lines: readonly ReadLine[],
  options: ImportLinesOptions,
  error: unknown,
): Promise<ImportCounts> {
  const [only] = lines;
  if (lines.length === 1 && only?.kind === "rows") {
    const [first] = only.rows;
    const names = first === undefined ? NO_NAMES : namesOfRow(first);
    const reason = `PostgreSQL refuses this row: ${describeError(error)}`;
    return await importLines(sql, [{ ...only, kind: "rejected", reason, names }], options);
  }
  if (lines.length < 2) throw error;
  const middle = Math.ceil(lines.length / 2);
  return addCounts(
    await importLines(sql, lines.slice(0, middle), options),
    await importLines(sql, lines.slice(middle), options),
  );
}

export const NO_COUNTS: ImportCounts = { added: 0, known: 0, changed: 0, skipped: 0, rejected: [] };

export function addCounts(a: ImportCounts, b: ImportCounts): ImportCounts {
  return {
    added: a.added + b.added,
    known: a.known + b.known,
    changed: a.changed + b.changed,
    skipped: a.skipped + b.skipped,
    rejected: [...a.rejected, ...b.rejected],
  };
}

async function judgeLines(
  tx: Query,
  lines: readonly ReadLine[],
  { sameness, dryRun = false }: ImportLinesOptions,
): Promise<{ counts: ImportCounts; toKeep: RejectedLine[] }> {
  const rows = lines.flatMap((line) => (line.kind === "rows" ? line.rows : []));
  const outcomes = await (dryRun ? judgeOnly : writeRows)(tx, rows, sameness);
  const ofRows: Record<Extract<RowOutcome, string>, number> = { added: 0, known: 0, changed: 0 };
  const rejected: { line: number; reason: string }[] = [];
  const toKeep: RejectedLine[] = [];
  let skipped = 0;
  let place = 0;
  const reject = ({ line, raw }: ReadLine, { reason, names }: Pick<RejectedLine, "reason" | "names">) => {
    rejected.push({ line, reason });
    toKeep.push({ raw, reason, names });
  };
  for (const line of lines) {
    if (line.kind === "skipped") skipped += 1;
    else if (line.kind === "rejected") reject(line, line);
    else {
      for (const row of line.rows) {
        const outcome = outcomes[place++] as RowOutcome;
        if (typeof outcome === "string") ofRows[outcome] += 1;
        else reject(line, { reason: outcome.rejected, names: namesOfRow(row) });
      }
    }
  }
  return { counts: { ...ofRows, skipped, rejected }, toKeep };
}
