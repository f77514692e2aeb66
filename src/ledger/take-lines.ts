/** Writes the lines of an import to the ledger. A line has one entry or several, or is kept with the reason against it. */

import type { Query, Sql } from "../db/client.ts";
import { inTurn } from "../db/transactions.ts";
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
export interface Taken {
  readonly added: number;
  readonly known: number;
  readonly changed: number;
  /** the number of callbacks that are not entries */
  readonly skipped: number;
  /** in the order of the lines */
  readonly rejected: readonly { readonly line: number; readonly reason: string }[];
}

interface TakeOptions {
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
export async function takeLines(
  sql: Sql,
  lines: readonly ReadLine[],
  options: TakeOptions,
  tries = 1,
): Promise<Taken> {
  try {
    return options.dryRun === true
      ? (await judgeLines(sql, lines, options)).taken
      : await inTurn(sql, async (tx) => {
          const { taken, toKeep } = await judgeLines(tx, lines, options);
          await keepRejectedLines(tx, toKeep);
          return taken;
        });
  } catch (error) {
    if (isConcurrentWrite(error) && tries < MOST_TRIES)
      return await takeLines(sql, lines, options, tries + 1);
    if (!isRefusedValue(error)) throw error;
    return await takeInHalves(sql, lines, options, error);
  }
}

/** Imports the lines in two halves, because one value that PostgreSQL refuses must not stop the other lines. */
async function takeInHalves(
  sql: Sql,
  lines: readonly ReadLine[],
  options: TakeOptions,
  error: unknown,
): Promise<Taken> {
  const [only] = lines;
  if (lines.length === 1 && only?.kind === "rows") {
    const [first] = only.rows;
    const names = first === undefined ? NO_NAMES : namesOfRow(first);
    const reason = `PostgreSQL refuses this row: ${describeError(error)}`;
    return await takeLines(sql, [{ ...only, kind: "rejected", reason, names }], options);
  }
  if (lines.length < 2) throw error;
  const middle = Math.ceil(lines.length / 2);
  return addTaken(
    await takeLines(sql, lines.slice(0, middle), options),
    await takeLines(sql, lines.slice(middle), options),
  );
}

export const NOTHING_TAKEN: Taken = { added: 0, known: 0, changed: 0, skipped: 0, rejected: [] };

export function addTaken(a: Taken, b: Taken): Taken {
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
  { sameness, dryRun = false }: TakeOptions,
): Promise<{ taken: Taken; toKeep: RejectedLine[] }> {
  const rows = lines.flatMap((line) => (line.kind === "rows" ? line.rows : []));
  const outcomes = await (dryRun ? judgeOnly : writeRows)(tx, rows, sameness);
  const counts: Record<Extract<RowOutcome, string>, number> = { added: 0, known: 0, changed: 0 };
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
        if (typeof outcome === "string") counts[outcome] += 1;
        else reject(line, { reason: outcome.rejected, names: namesOfRow(row) });
      }
    }
  }
  return { taken: { ...counts, skipped, rejected }, toKeep };
}
