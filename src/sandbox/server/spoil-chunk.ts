/** Applies faults inside a page: to its records, and to its cursor. */

import type { BetRecord } from "../../bet.ts";
import type { FaultAction } from "../faults/fault.ts";
import { type BetChunk, type BetQuery, chunkOf, writeCursor } from "./bet-query.ts";
import { inventRecord } from "./invented-record.ts";

/** A page of a faulty provider. Some of its items may be no bet records. */
export interface SpoiltChunk {
  readonly nextId?: string;
  readonly txns: readonly object[];
}

/** The requested chunk, and all records of its query. */
export interface AskedChunk {
  readonly query: BetQuery;
  /** every record of the query's range */
  readonly records: readonly BetRecord[];
  readonly pageSize: number;
  /** all products */
  readonly productIds: readonly string[];
}

/** @returns the changed chunk; unchanged for faults that affect neither records nor cursors */
export function spoilChunk(action: FaultAction, asked: AskedChunk): SpoiltChunk {
  const { query, records, pageSize } = asked;
  const chunk: BetChunk = chunkOf(records, query, pageSize);
  switch (action.kind) {
    case "cursor-loop": {
      const first = { ...query, page: 2, position: pageSize };
      return { ...chunk, nextId: writeCursor(action.variant === "asked" ? query : first) };
    }
    case "endless-cursor": {
      // Paging never ends: the next page begins at the start of this one.
      const nextId = writeCursor({ ...query, page: query.page + 1 });
      return { nextId, txns: action.variant === "empty" ? [] : chunk.txns };
    }
    case "repeat-records": {
      const before = { ...query, position: Math.max(0, query.position - pageSize) };
      const repeated = chunkOf(records.slice(0, query.position), before, pageSize);
      return { ...chunk, txns: [...repeated.txns, ...chunk.txns] };
    }
    case "shift": {
      // Earlier insertions move all later records. The shift is less than a page, so that paging ends.
      const moved = Math.min(action.records, pageSize - 1, query.position);
      return chunkOf(records, { ...query, position: query.position - moved }, pageSize);
    }
    case "foreign-record":
    case "out-of-range":
    case "malformed-record":
      return { ...chunk, txns: [...chunk.txns, inventRecord(action, query, anotherProduct(asked))] };
    default:
      return chunk;
  }
}

function anotherProduct({ query, productIds }: AskedChunk): string {
  return productIds.find((productId) => productId !== query.productId) ?? `${query.productId}-OTHER`;
}
