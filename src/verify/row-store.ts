/** The tables of transfers and top-ups: two tables with the same columns, each with a table of answers. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type CountedTable, noteAddedText } from "../db/row-counts.ts";
import { parseAmount } from "../money.ts";
import type { TopUp, Transfer } from "../transfer.ts";
import type { VerifyState } from "./decide.ts";

export const VERIFY_KINDS = ["transfer", "top-up"] as const;
export type VerifyKind = (typeof VERIFY_KINDS)[number];

export const TABLE_OF = { transfer: "transfers", "top-up": "top_ups" } as const satisfies Record<
  VerifyKind,
  CountedTable
>;
export const ANSWERS_OF: Readonly<Record<VerifyKind, string>> = {
  transfer: "transfer_answers",
  "top-up": "top_up_answers",
};

/** A transfer or top-up with its state. */
export interface Verification {
  readonly kind: VerifyKind;
  readonly id: number;
  readonly sent: Transfer | TopUp;
  readonly state: VerifyState;
  /** who closed it; null: it is not closed */
  readonly closedBy: string | null;
  readonly note: string | null;
}

/** A row as PostgreSQL gives it. Amounts are decimal text. */
export interface VerificationRow extends Omit<Transfer, "amount" | "type">, VerifyState {
  readonly id: number;
  readonly type: Transfer["type"] | TopUp["type"];
  readonly amount: string;
  readonly closedBy: string | null;
  readonly note: string | null;
  readonly leaseToken: string | null;
  readonly handedAt: Instant;
}

/** @param table an alias of the table */
export function verificationColumns(sql: Query, table: string) {
  const t = sql(table);
  return sql`${t}.id, ${t}.product_id as "productId", ${t}.username, ${t}.currency,
    ${t}.transaction_ref as "transactionRef", ${t}.type, ${t}.amount, ${t}.sent_at as "sentAt", ${t}.status,
    ${t}.handed_at as "handedAt", ${t}.attempts, ${t}.next_verify_at as "nextVerifyAt",
    ${t}.decided_at as "decidedAt", ${t}.failed_since as "failedSince", ${t}.rejected_at as "rejectedAt",
    ${t}.mismatch_kind as "mismatchKind", ${t}.closed_by as "closedBy", ${t}.note, ${t}.lease_token as "leaseToken"`;
}

export function toVerification(kind: VerifyKind, row: VerificationRow): Verification {
  const { productId, username, currency, transactionRef, type, sentAt, ...rest } = row;
  const { status, handedAt, attempts, nextVerifyAt, decidedAt, failedSince, rejectedAt, mismatchKind } = rest;
  const amount = parseAmount(row.amount, "amount");
  return {
    kind,
    id: row.id,
    sent: { productId, username, currency, transactionRef, type, amount, sentAt } as Transfer | TopUp,
    state: { status, handedAt, attempts, nextVerifyAt, decidedAt, failedSince, rejectedAt, mismatchKind },
    closedBy: row.closedBy,
    note: row.note,
  };
}

/**
 * Finds top-ups in the ledger: each adjustBalance entry is verified (§4.A8, §4.B5).
 * Adds the top-up of every adjustBalance entry that was committed since the last call, in any order. Each entry has
 * the id of its transaction, and the search begins at the oldest transaction that was open at the last call (decision
 * 32). A database that was restored elsewhere has smaller transaction ids; then the search reads all entries.
 * @param products `since`: the beginning of the product's ledger, before which top-ups are not verified; null: all
 * are verified
 * @param pick `firstDelayMs`: from the top-up to its first question
 * @returns the number of new top-ups
 */
export async function pickUpTopUps(
  sql: Query,
  products: readonly { readonly productId: string; readonly since: Instant | null }[],
  pick: { readonly now: Instant; readonly firstDelayMs: number },
): Promise<number> {
  const [row] = await sql<{ picked: number }[]>`
    with horizon as (
      select pg_snapshot_xmin(pg_current_snapshot()) as xmin, pg_snapshot_xmax(pg_current_snapshot()) as xmax
    ),
    open as (
      select p.product_id, p.since,
        case when s.picked_until <= h.xmin then s.picked_until else '0'::xid8 end as picked_until,
        -- Larger ids are those of another server. Only the first search after a restore reads them.
        case when s.picked_until <= h.xmin then h.xmax else '18446744073709551615'::xid8 end as until
      from unnest(${products.map((one) => one.productId)}::text[], ${products.map((one) => one.since)}::timestamptz[])
        as p (product_id, since)
      cross join horizon h
      left join top_up_states s on s.product_id = p.product_id
    ),
    found as (
      select distinct on (e.txn_id, e.product_id, e.username) e.*
      from open o
      join callback_entries e on e.product_id = o.product_id and e.appended_in >= o.picked_until
        and e.appended_in < o.until
      where e.callback = 'adjustBalance' and e.status in ('DEBIT', 'CREDIT')
        and (o.since is null or e.occurred_at >= o.since)
      order by e.txn_id, e.product_id, e.username, e.received_at, e.entry_id
    ),
    picked as (
      insert into top_ups (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at,
        next_verify_at)
      select txn_id, product_id, username, currency, status,
        abs(coalesce(case status when 'DEBIT' then bet_amount else payout_amount end, moved, 0)), received_at, ${pick.now},
        greatest(received_at + make_interval(secs => ${pick.firstDelayMs / 1000}), ${pick.now}::timestamptz)
      from found
      on conflict do nothing
      returning id
    ),
    remembered as (
      insert into top_up_states as s (product_id, picked_until)
      select distinct product_id, xmin from found cross join horizon
      order by product_id
      on conflict (product_id) do update set picked_until = excluded.picked_until
        where s.picked_until <> excluded.picked_until
    ),
    noted as (${sql.unsafe(noteAddedText("top_ups", "count(*)", "from picked having count(*) > 0"))})
    select count(*) as picked from picked`;
  return row?.picked ?? 0;
}
