/** Reports rejected rows of the ledger: one alert per kind, product and day. */

import { recordAlert } from "../../alerts/store.ts";
import { formatInstant } from "../../clock.ts";
import { claimUnreported, deleteCorrected } from "../../ledger/rejected-store.ts";
import type { RejectedKind } from "../../rejected.ts";
import type { FlowContext } from "../context.ts";

const MOST_AT_ONCE = 10_000;
const LONGEST_REASON = 300;

interface Words {
  readonly kind: string;
  /** @param rows "1 row", "2 rows" */
  readonly what: (rows: string) => string;
  readonly toDo: string;
}

const WORDS: Readonly<Record<RejectedKind, Words>> = {
  unusable: {
    kind: "rejected-entries",
    what: (rows) => `${rows} of the ledger cannot be used`,
    toDo: "recon rejected list --side entry shows their text and the reason. Insert the corrected rows with the same entry_id; until then the bets that they name are not reported as missing.",
  },
  changed: {
    kind: "ledger-changed",
    what: (rows) => `a program changed or deleted ${rows} of the ledger; the first content was kept`,
    toDo: 'recon rejected list --side entry shows the refused content. Find out who changes the ledger. If rows of your ledger may change, set ledger.rowsChange to "replace", restart the worker, and run recon rejected retry.',
  },
};

/** Reports rejected rows that have no alert yet. Rows whose entry was corrected are deleted first. */
export async function reportRejectedEntries({ sql, clock, log }: FlowContext): Promise<void> {
  const now = clock.now();
  const day = formatInstant(now).slice(0, 10);
  await sql.begin(async (tx) => {
    await deleteCorrected(tx, now);
    for (const { kind, productId, entries, reason } of await claimUnreported(tx, now, MOST_AT_ONCE)) {
      const words = WORDS[kind];
      const found = words.what(`${entries} ${entries === 1 ? "row" : "rows"}`);
      const what = `${productId ?? "the ledger"}: ${found}; for example, ${reason.slice(0, LONGEST_REASON)}`;
      log.warn({ productId, rows: entries, reason }, found);
      await recordAlert(tx, {
        idempotencyKey: `${words.kind}/${productId ?? ""}/${day}`,
        kind: words.kind,
        productId,
        body: { what, toDo: words.toDo, productId, since: formatInstant(now), count: entries },
        at: now,
      });
    }
  });
}
