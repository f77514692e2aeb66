/** Leaves out records of time whose records were deleted, so that none comes back as new (decision 160). */

import type { BetRecord, RejectedRecord } from "../../bet.ts";
import { parseInstant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { readDeletedTime, showDeleted } from "../../db/retention-store.ts";
import { formatAmount } from "../../money.ts";
import { readKnownKeys, textOfKey } from "../../sync/expired-records-store.ts";
import type { LeasedWindow } from "../../sync/leased-window-store.ts";
import { includes, overlaps, type TimeRange } from "../../window.ts";

export interface PageWithoutDeleted {
  /** the records to write */
  readonly kept: readonly BetRecord[];
  /** the number of records that were left out because the window reaches into deleted time */
  readonly skipped: number;
  /** records of deleted time in a window of kept time: nobody knows whether they are new */
  readonly refused: readonly RejectedRecord[];
}

/** Runs in the transaction of the page. Known records of deleted time are written: they had to stay. */
export async function leaveDeleted(
  tx: Query,
  window: LeasedWindow,
  records: readonly BetRecord[],
): Promise<PageWithoutDeleted> {
  const { records: deleted } = await readDeletedTime(tx, window.productId);
  const isOld = (record: BetRecord) =>
    includes(deleted, parseInstant(record.accountingDate, "accountingDate"));
  const old = deleted.to === Number.NEGATIVE_INFINITY ? [] : records.filter(isOld);
  if (old.length === 0) return { kept: records, skipped: 0, refused: [] };
  const known = await readKnownKeys(tx, window.productId, old);
  const unknown = new Set(old.filter((record) => !known.has(textOfKey(record))));
  const kept = records.filter((record) => !unknown.has(record));
  if (overlaps(window, deleted)) return { kept, skipped: unknown.size, refused: [] };
  return { kept, skipped: 0, refused: [...unknown].map((record) => refuse(record, deleted)) };
}

function refuse(record: BetRecord, deleted: TimeRange): RejectedRecord {
  const { stake, payout, extra, ...fields } = record;
  const raw = { ...fields, stake: formatAmount(stake), payout: formatAmount(payout), extra };
  return {
    raw: JSON.stringify(raw),
    reason:
      `accountingDate is ${record.accountingDate}, and records ${showDeleted(deleted)} may be deleted ` +
      "(retain.records): compare this bet by hand",
  };
}
