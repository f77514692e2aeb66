/** Faults inside a page that is otherwise as it should be: its records, and where its cursor leads. */

import type { BetRecord } from "../../bet.ts";
import type { FaultAction } from "../faults/fault.ts";
import { type BetChunk, type BetQuery, chunkOf, writeCursor } from "./bet-query.ts";
import { inventRecord } from "./invented-record.ts";

/** A page as a faulty provider gives it: its items are not all bet records. */
export interface SpoiltChunk {
  readonly nextId?: string;
  readonly txns: readonly object[];
}

/** The chunk that was asked for, and all that it is cut from. */
export interface AskedChunk {
  readonly query: BetQuery;
  /** every record of the query's range */
  readonly records: readonly BetRecord[];
  readonly pageSize: number;
  /** the products there are */
  readonly productIds: readonly string[];
}

/** The chunk as the fault changes it; as it should be for faults that leave records and cursors alone. */
export function spoilChunk(action: FaultAction, asked: AskedChunk): SpoiltChunk {
  const { query, records, pageSize } = asked;
  const chunk: BetChunk = chunkOf(records, query, pageSize);
  switch (action.kind) {
    case "cursor-loop": {
      const first = { ...query, page: 2, position: pageSize };
      return { ...chunk, nextId: writeCursor(action.variant === "asked" ? query : first) };
    }
    case "endless-cursor": {
      // It never gets on: the page that follows begins where this one did.
      const nextId = writeCursor({ ...query, page: query.page + 1 });
      return { nextId, txns: action.variant === "empty" ? [] : chunk.txns };
    }
    case "repeat-records": {
      const before = { ...query, position: Math.max(0, query.position - pageSize) };
      const repeated = chunkOf(records.slice(0, query.position), before, pageSize);
      return { ...chunk, txns: [...repeated.txns, ...chunk.txns] };
    }
    case "shift": {
      // What is inserted before moves everything behind it; less than a page, or paging would never end.
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
