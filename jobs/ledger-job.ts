/** The repeating job that follows the operator's own ledger, and reports rejected rows. */

import type { FlowContext } from "../src/flows/context.ts";
import { checkLedger } from "../src/flows/ledger/check-ledger.ts";
import { followLedger } from "../src/flows/ledger/follow-ledger.ts";
import { reportRejectedEntries } from "../src/flows/ledger/report-rejected-entries.ts";
import { noting } from "../src/flows/note-work.ts";
import { sayEmptied } from "../src/health/installation.ts";
import type { TickJob } from "./schedules.ts";

export function openLedgerJob(context: FlowContext): TickJob {
  const run: TickJob["run"] = async (signal, log) => {
    const own = { ...context, log };
    const name = { work: "following", subject: context.config.ledger.relation ?? "" } as const;
    try {
      await noting(own, name, signal, () => followLedger(own, signal));
    } finally {
      // Rows that were rejected before, or written by other programs, are reported even after a failure.
      await reportRejectedEntries(own);
    }
  };
  return { queue: "ledger", everyMs: context.config.diff.every, concurrency: 1, run };
}

/**
 * Checks before the first comparison that the ledger can be read, and logs an empty ledger.
 * @throws ReconError `ledger-unreadable` that names every column that is missing or has another type
 */
export async function checkLedgerAtStart(context: FlowContext): Promise<void> {
  const { relation, isEmpty, emptied, foreignProducts } = await checkLedger(context);
  if (foreignProducts.length > 0) {
    context.log.warn(
      { products: foreignProducts },
      "the ledger has entries of products that are not in the settings: they are not compared",
    );
  }
  if (emptied > 0) context.log.error({ emptied }, sayEmptied(emptied));
  if (!isEmpty || emptied > 0) return;
  const waits = relation === null ? "callback_entries" : `callback_entries, into which "${relation}" is read`;
  context.log.info(`no entry is in ${waits} yet; comparing begins with the first entry`);
}
