/** Transfers and top-ups in PostgreSQL: adds, reads and closes them. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedById, dropById } from "../db/drop-rows.ts";
import { noteAddedText, rowCountsText } from "../db/row-counts.ts";
import { ReconError } from "../errors.ts";
import { formatAmount, parseAmount } from "../money.ts";
import { TRANSFER_STATUSES, type Transfer, type TransferStatus, type TransferSum } from "../transfer.ts";
import type { TimeRange } from "../window.ts";
import { firstVerifyAt, type VerifySettings } from "./decide.ts";
import {
  ANSWERS_OF,
  TABLE_OF,
  toVerification,
  VERIFY_KINDS,
  type Verification,
  type VerificationRow,
  type VerifyKind,
  verificationColumns,
} from "./row-store.ts";

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

export interface WaitingCount {
  readonly kind: VerifyKind;
  readonly status: Extract<TransferStatus, "pending" | "inconclusive">;
  readonly count: number;
}

/** Kinds and statuses without rows are left out. */
export async function countWaiting(sql: Query): Promise<WaitingCount[]> {
  return await sql<WaitingCount[]>`
    select 'transfer' as kind, status, count(*) as count from transfers
    where status in ('pending', 'inconclusive') group by status
    union all
    select 'top-up', status, count(*) from top_ups where status in ('pending', 'inconclusive') group by status
    order by kind desc, status`;
}

/** The products with a due row that is not claimed. */
export async function readDueProducts(sql: Query, kind: VerifyKind, now: Instant): Promise<string[]> {
  const table = sql(TABLE_OF[kind]);
  const rows = await sql<{ productId: string }[]>`
    with recursive product as (
      (select product_id from ${table} where next_verify_at is not null order by product_id limit 1)
      union all
      select (select t.product_id from ${table} t where t.next_verify_at is not null and t.product_id > p.product_id
        order by t.product_id limit 1)
      from product p where p.product_id is not null
    )
    select p.product_id as "productId" from product p
    where p.product_id is not null and exists (
      select from ${table} t where t.product_id = p.product_id and t.next_verify_at <= ${now}
        and (t.lease_until is null or t.lease_until <= clock_timestamp()))`;
  return rows.map(({ productId }) => productId);
}

export interface HandedOver {
  /** the number of new transfers */
  readonly added: number;
  /** the number of known transfers with the same content, which stay unchanged */
  readonly known: number;
  /** known transfers with other content, which stay unchanged; `index` is their position in the input */
  readonly conflicts: readonly { readonly index: number; readonly message: string }[];
}

/**
 * Adds transfers to verify. Adding the same transfer again has no effect.
 * @param tx a transaction, if all or none must be added
 */
export async function addTransfers(
  tx: Query,
  transfers: readonly Transfer[],
  now: Instant,
  settings: VerifySettings,
): Promise<HandedOver> {
  const rows = transfers.map((one) => ({
    transaction_ref: one.transactionRef,
    product_id: one.productId,
    username: one.username,
    currency: one.currency,
    type: one.type,
    amount: formatAmount(one.amount),
    sent_at: formatInstant(one.sentAt),
    next_verify_at: formatInstant(firstVerifyAt(one.sentAt, now, settings)),
  }));
  const [row] = await tx<{ added: number }[]>`
    with added as (
      insert into transfers (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at,
        next_verify_at)
      select transaction_ref, product_id, username, currency, type, amount, sent_at, ${now}, next_verify_at
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as t (transaction_ref text, product_id text,
        username text, currency text, type text, amount numeric, sent_at timestamptz, next_verify_at timestamptz)
      order by transaction_ref
      on conflict (transaction_ref) do nothing
      returning transaction_ref
    ),
    noted as (${tx.unsafe(NOTE_ADDED)})
    select count(*) as added from added`;
  const added = row?.added ?? 0;
  if (added === transfers.length) return { added, known: 0, conflicts: [] };
  const stored = await readByRefs(
    tx,
    transfers.map(({ transactionRef }) => transactionRef),
  );
  const conflicts = transfers.flatMap((one, index) => {
    const message = describeConflict(one, stored.get(one.transactionRef)?.sent as Transfer | undefined);
    return message === null ? [] : [{ index, message }];
  });
  return { added, known: transfers.length - added - conflicts.length, conflicts };
}

const NOTE_ADDED = noteAddedText("transfers", "count(*)", "from added having count(*) > 0");

/**
 * Adds one transfer, for example one that is about to be sent.
 * @throws ReconError `conflict` if its transactionRef is known with other content
 */
export async function addTransfer(
  sql: Query,
  transfer: Transfer,
  now: Instant,
  settings: VerifySettings,
): Promise<{ readonly isNew: boolean }> {
  const { added, conflicts } = await addTransfers(sql, [transfer], now, settings);
  const [conflict] = conflicts;
  if (conflict !== undefined) throw new ReconError("conflict", conflict.message);
  return { isNew: added === 1 };
}

async function readByRefs(sql: Query, refs: readonly string[]): Promise<Map<string, Verification>> {
  const rows = await sql<VerificationRow[]>`
    select ${verificationColumns(sql, "transfers")} from transfers where transaction_ref = any(${refs as string[]})`;
  return new Map(rows.map((row) => [row.transactionRef, toVerification("transfer", row)]));
}

const CONTENT = ["productId", "username", "currency", "type", "amount", "sentAt"] as const;

/** Names the differing fields with both values; null: no field differs. Amounts are compared as numbers. */
function describeConflict(given: Transfer, stored: Transfer | undefined): string | null {
  if (stored === undefined) return null;
  const differing = CONTENT.filter((field) =>
    field === "amount" ? !given.amount.eq(stored.amount) : given[field] !== stored[field],
  );
  if (differing.length === 0) return null;
  const show = (one: Transfer, field: (typeof CONTENT)[number]) =>
    field === "amount"
      ? one.amount.toFixed(2)
      : field === "sentAt"
        ? formatInstant(one.sentAt)
        : `"${one[field]}"`;
  const both = differing.map((field) => `${field} ${show(stored, field)}, not ${show(given, field)}`);
  return `transactionRef "${given.transactionRef}" is known already, with ${both.join("; ")}`;
}

/**
 * The number of rows by status. Nearly all rows are accepted, so their number is computed: all rows without the
 * others (db/row-counts.ts).
 */
export async function countTransfers(
  sql: Query,
  kind: VerifyKind = "transfer",
): Promise<Record<TransferStatus, number>> {
  const table = TABLE_OF[kind];
  const rows = await sql<{ status: TransferStatus; count: number }[]>`
    with others as (
      select status, count(*) as count from ${sql(table)}
      where status in ('pending', 'rejected', 'inconclusive') group by status
    )
    select status, count from others
    union all
    select 'accepted', greatest(0, (select coalesce(sum(rows), 0) from (${sql.unsafe(rowCountsText(table))}) counted)::bigint
      - (select coalesce(sum(count), 0) from others)::bigint)`;
  const counts = new Map(rows.map(({ status, count }) => [status, count]));
  return Object.fromEntries(TRANSFER_STATUSES.map((status) => [status, counts.get(status) ?? 0])) as Record<
    TransferStatus,
    number
  >;
}

/** The rows with a reference: at most one transfer, or top-ups of different products or players. */
export async function findByRef(sql: Query, kind: VerifyKind, ref: string): Promise<Verification[]> {
  const rows = await sql<VerificationRow[]>`
    select ${verificationColumns(sql, TABLE_OF[kind])} from ${sql(TABLE_OF[kind])}
    where transaction_ref = ${ref} order by id limit 100`;
  return rows.map((row) => toVerification(kind, row));
}

/** A stored answer to one question. */
export interface KeptAnswer {
  /** the number of the question, from 1 on */
  readonly attempt: number;
  readonly askedAt: Instant;
  readonly tookMs: number;
  readonly says: "booked" | "failed" | "nothing";
  readonly code: string | null;
  readonly message: string | null;
  readonly raw: string | null;
  /** the status after the answer */
  readonly status: TransferStatus;
  readonly isDecisive: boolean;
  readonly nextVerifyAt: Instant | null;
}

/** Every stored answer, in the order of the questions. */
export async function readAnswers(sql: Query, kind: VerifyKind, id: number): Promise<KeptAnswer[]> {
  return await sql<KeptAnswer[]>`
    select attempt, asked_at as "askedAt", took_ms as "tookMs", says, code, message, raw, status,
      is_decisive as "isDecisive", next_verify_at as "nextVerifyAt"
    from ${sql(ANSWERS_OF[kind])} where of_id = ${id} order by attempt`;
}

/**
 * Closes an inconclusive row. Its claim ends too, so that an answer under way cannot change the state.
 * @returns false if the row is not inconclusive any more, or is closed already
 */
export async function closeInconclusive(
  tx: Query,
  kind: VerifyKind,
  id: number,
  close: { readonly by: string; readonly note: string; readonly at: Instant },
): Promise<boolean> {
  const closed = await tx`
    update ${tx(TABLE_OF[kind])}
    set decided_at = ${close.at}, next_verify_at = null, closed_by = ${close.by}, note = ${close.note},
      lease_token = null, lease_until = null
    where id = ${id} and status = 'inconclusive' and closed_by is null
    returning id`;
  return closed.length === 1;
}

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
