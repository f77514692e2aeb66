/** Deletes old transfers and top-ups with their answers. */

import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

const ANSWERS = { transfers: "transfer_answers", top_ups: "top_up_answers" } as const;

/** Deletes transfers that were sent in a range of time, whose outcome was certain before its end, and that led to no mismatch. */
export async function dropOldTransfers(
  tx: Query,
  table: keyof typeof ANSWERS,
  { from, to }: TimeRange,
  after: number,
  most: number,
): Promise<DroppedById> {
  const mayGo = tx`t.status in ('accepted', 'rejected') and t.sent_at >= ${from} and t.sent_at < ${to} and t.decided_at < ${to}
    and t.next_verify_at is null and t.mismatch_kind is null`;
  const dropped = await dropById(tx, table, mayGo, after, most);
  if (dropped.count > 0) {
    await tx`delete from ${tx(ANSWERS[table])} a where of_id > ${after} and of_id <= ${dropped.last}
      and not exists (select from ${tx(table)} t where t.id = a.of_id)`;
    await tx`insert into rows_added (table_name, product_id, added) values (${table}, '', ${-dropped.count})`;
  }
  return dropped;
}
