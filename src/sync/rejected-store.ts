/** Takes rejected records out of PostgreSQL again. */

import type { Query } from "../db/client.ts";
import { noteAddedText } from "../db/row-counts.ts";

/** Locks rows, in one order for everybody. @returns those that are still there */
export async function lockRejectedRecords(tx: Query, rows: readonly number[]): Promise<Set<number>> {
  const found = await tx<{ row: number }[]>`
    select id as row from rejected_records where id = any(${rows as number[]}::bigint[])
    order by id desc for update`;
  return new Set(found.map(({ row }) => row));
}

const NOTE_GONE = noteAddedText(
  "rejected_records",
  "-count(*)",
  "from gone group by product_id",
  "product_id",
);

/** Drops rows in the transaction that writes what they say. Its commit waits for the disk, unlike that of a page. */
export async function forgetRejectedRecords(tx: Query, rows: readonly number[]): Promise<void> {
  await tx`
    with gone as (
      delete from rejected_records where id = any(${rows as number[]}::bigint[]) returning product_id
    ),
    noted as (${tx.unsafe(NOTE_GONE)})
    select count(*), set_config('synchronous_commit', 'on', true) from gone`;
}
