/** Deletes old signatures. */

import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-oldest.ts";
import type { TimeRange } from "../window.ts";

/** Deletes signatures of a range of time, as `dropOldest` does. */
export function dropOldSignatures(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "callback_signatures", key: "ctid", at: "signed_at" }, range, most);
}
