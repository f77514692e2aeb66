/** The walks through old records and old entries, in the order of their times (decision 219). */

import { formatInstant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { ENTRIES_WALK, recordsWalk, type Share } from "../../db/retention-store.ts";
import { findExpiredEntries, readExpiredEntries } from "../../ledger/expired-entries-store.ts";
import { findExpiredRecords, readExpiredRecords } from "../../sync/expired-records-store.ts";
import type { TimeRange } from "../../window.ts";
import type { VisitedRow } from "./load-groups.ts";

/** The sort key of a row, as text. */
type SortKey = readonly string[];

/** Rows of a walk, in its order. */
export interface Slice {
  readonly count: number;
  /** the sort keys: of the row before the first one, and of the last one */
  readonly after: SortKey;
  readonly last: SortKey;
  readonly productIds: readonly string[];
}

/** A walk through one table. */
export interface Walk {
  readonly name: string;
  readonly side: "records" | "entries";
  readonly range: TimeRange;
  /** the walk begins after this key */
  readonly first: SortKey;
  readonly find: (
    tx: Query,
    after: SortKey,
    most: number,
  ) => Promise<Pick<Slice, "count" | "last" | "productIds"> | null>;
  readonly read: (tx: Query, productId: string, slice: Slice, share: Share) => Promise<VisitedRow[]>;
}

export function recordsOf(productId: string, range: TimeRange): Walk {
  return {
    name: recordsWalk(productId),
    side: "records",
    range,
    first: [formatInstant(range.from), "", "", ""],
    find: async (tx, after, most) => {
      const found = await findExpiredRecords(tx, productId, range, after, most);
      return found === null ? null : { ...found, productIds: [productId] };
    },
    read: async (tx, _, { after, last }, share) =>
      (await readExpiredRecords(tx, productId, after, last, share)).map(
        ({ username, betId, id, roundId }) => ({
          username,
          roundId,
          refs: [betId, id],
        }),
      ),
  };
}

export function entriesOf(range: TimeRange): Walk {
  return {
    name: ENTRIES_WALK,
    side: "entries",
    range,
    first: [formatInstant(range.from), ""],
    find: (tx, after, most) => findExpiredEntries(tx, range, after, most),
    read: async (tx, productId, { after, last }, share) =>
      (await readExpiredEntries(tx, productId, after, last, share)).map(({ username, txnId, roundId }) => ({
        username,
        roundId,
        refs: [txnId],
      })),
  };
}
