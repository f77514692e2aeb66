/** The players, rounds and bets with activity in a range of time, and the marks that still wait for a comparison. */

import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";
import type { DiffMark } from "./store.ts";

const ROWS_AT_ONCE = 2_000;

/**
 * All rounds and bets of a product with a record or an entry in a range: records by accountingDate, entries by
 * occurredAt. Each yielded batch holds whole players. The statement uses a cursor, so that the transaction can run
 * other statements between two batches.
 */
export async function* readActivity(
  tx: Query,
  productId: string,
  range: TimeRange,
  callbacks: "all" | "bets",
): AsyncGenerator<DiffMark[]> {
  await tx`
    declare activity no scroll cursor for
    select username, case when round_id not in ('', 'UNKNOWN') then round_id end as "roundId", bet_id as "betRef"
    from bet_records
    where product_id = ${productId} and accounting_date >= ${range.from} and accounting_date < ${range.to}
    union
    select username, case when round_id not in ('', 'UNKNOWN') then round_id end, txn_id
    from callback_entries
    where product_id = ${productId} and occurred_at >= ${range.from} and occurred_at < ${range.to}
      and (${callbacks === "all"} or callback <> 'adjustBalance')
    order by username`;
  let held: DiffMark[] = [];
  for (;;) {
    const rows = await tx.unsafe<DiffMark[]>(`fetch ${ROWS_AT_ONCE} from activity`);
    const last = rows.at(-1)?.username;
    held.push(...rows);
    const whole = rows.length < ROWS_AT_ONCE ? held : held.filter((mark) => mark.username !== last);
    if (whole.length > 0) yield whole;
    if (rows.length < ROWS_AT_ONCE) break;
    held = held.filter((mark) => mark.username === last);
  }
  await tx`close activity`;
}

/** The marks of some players, due or not. The rounds and bets that they name have no final verdict yet. */
export async function readWaiting(
  tx: Query,
  productId: string,
  usernames: readonly string[],
): Promise<DiffMark[]> {
  return await tx<DiffMark[]>`
    select mark.username, mark.round_id as "roundId", mark.bet_ref as "betRef"
    from diff_marks, unnest(usernames, round_ids, bet_refs) as mark (username, round_id, bet_ref)
    where product_id = ${productId} and mark.username = any(${usernames as string[]})`;
}
