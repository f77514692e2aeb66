/** What the transfers and top-ups of a day add up to. */

import type { Query } from "../db/client.ts";
import { formatAmount, parseAmount } from "../money.ts";
import type { TransferSum } from "../transfer.ts";
import type { TimeRange } from "../window.ts";
import { TABLE_OF, VERIFY_KINDS, type VerifyKind } from "./row-store.ts";

/**
 * The transfers and top-ups that were sent in a range of time, one row for each product, currency, type and status, with the
 * mismatches that are not decided.
 */
export async function sumSent(sql: Query, range: TimeRange): Promise<TransferSum[]> {
  const sums: TransferSum[] = [];
  for (const kind of VERIFY_KINDS) sums.push(...(await sumKind(sql, kind, range)));
  return sums;
}

/** Whether there ever was a transfer or top-up, deleted ones included: their ids come from sequences. */
export async function wereAnySent(sql: Query): Promise<boolean> {
  const [row] = await sql<{ any: boolean }[]>`
    select num_nonnulls(pg_sequence_last_value(pg_get_serial_sequence('transfers', 'id')),
      pg_sequence_last_value(pg_get_serial_sequence('top_ups', 'id'))) > 0 as any`;
  return row?.any ?? true;
}

async function sumKind(sql: Query, kind: VerifyKind, { from, to }: TimeRange): Promise<TransferSum[]> {
  const rows = await sql<TransferSum[]>`
    select t.product_id as "productId", t.currency, t.type, t.status, count(*) as count, sum(t.amount) as amount,
      count(m.id) as "openMismatches",
      coalesce(array_agg(distinct m.kind order by m.kind) filter (where m.id is not null), '{}') as "mismatchKinds"
    from ${sql(TABLE_OF[kind])} t
    left join mismatches m on t.mismatch_kind is not null and m.product_id = t.product_id and m.username = t.username
      and m.subject = ${kind}::text || ':' || t.transaction_ref and m.kind = t.mismatch_kind
      and m.status in ('open', 'acknowledged')
    where t.sent_at >= ${from} and t.sent_at < ${to}
    group by t.product_id, t.currency, t.type, t.status
    order by t.product_id, t.currency, t.type, t.status`;
  return rows.map((row) => ({ ...row, amount: formatAmount(parseAmount(row.amount, "amount")) }));
}
