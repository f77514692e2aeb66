/** Imports a ledger, and keeps who brought what and what became of it. */

import { describeError, ReconError } from "../../errors.ts";
import {
  beginImport,
  endImport,
  forgetImport,
  type ImportSource,
  type ImportTotals,
  type PastImport,
  readPastImport,
} from "../../ledger/past-import-store.ts";
import { NOTHING_TAKEN, type Taken } from "../../ledger/take-lines.ts";
import type { FlowContext } from "../context.ts";
import { type ImportOptions, importLedger } from "./import-ledger.ts";

/** Further rejected lines are counted; all of them are kept as rejected entries. */
const MOST_KEPT = 500;

/**
 * Imports as `importLedger` does. An import that is refused before anything was taken leaves no trace; one that ends
 * early keeps what was taken until then, and the error.
 * @returns the id of the import
 */
export async function recordImport(
  context: FlowContext,
  chunks: AsyncIterable<Uint8Array>,
  { shape, unpacks = false, onTaken }: Pick<ImportOptions, "shape" | "unpacks" | "onTaken">,
  source: ImportSource,
): Promise<number> {
  const { sql, clock, log } = context;
  const totals = countTaken(MOST_KEPT);
  const id = await beginImport(sql, source, clock.now());
  try {
    await importLedger(context, chunks, {
      format: source.format,
      shape,
      unpacks,
      onTaken: (taken, line) => {
        totals.add(taken);
        onTaken(taken, line);
      },
    });
  } catch (error) {
    const isRefused = error instanceof ReconError && error.code === "usage" && totals.isEmpty();
    const noting = isRefused
      ? forgetImport(sql, id)
      : endImport(sql, id, totals.all(), describeError(error), clock.now());
    await noting.catch((failure: unknown) =>
      log.warn({ import: id, error: describeError(failure) }, "the end of an import could not be stored"),
    );
    throw error;
  }
  await endImport(sql, id, totals.all(), null, clock.now());
  return id;
}

/** Adds up what became of the parts of an import. @param mostListed of the rejected lines; further ones are counted */
export function countTaken(mostListed: number) {
  let totals: ImportTotals = { ...NOTHING_TAKEN, rejectedLines: 0 };
  return {
    add: (taken: Taken) => {
      const room = mostListed - totals.rejected.length;
      totals = {
        added: totals.added + taken.added,
        known: totals.known + taken.known,
        changed: totals.changed + taken.changed,
        skipped: totals.skipped + taken.skipped,
        rejected: [...totals.rejected, ...taken.rejected.slice(0, room)],
        rejectedLines: totals.rejectedLines + taken.rejected.length,
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
): Promise<PastImport & Pick<Taken, "rejected">> {
  const found = /^[1-9]\d{0,14}$/.test(id) ? await readPastImport(sql, Number(id)) : null;
  if (found === null) throw new ReconError("not-found", `there is no import "${id.slice(0, 60)}"`);
  return found;
}
