/**
 * What the metrics count in PostgreSQL, by statements whose cost follows the work at hand: none reads records, entries
 * or windows that are done.
 */

import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import type { MismatchKind, MismatchStatus } from "../../mismatch.ts";
import type { BackfillStatus } from "../../sync/backfill.ts";
import type { TransferStatus } from "../../transfer.ts";
import type { VerifyKind } from "../../verify/row-store.ts";

/** Ends a statement of this transaction that takes longer. */
export async function limitStatements(tx: Query, longestMs: number): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(longestMs)}, true)`;
}

export interface MismatchCount {
  readonly productId: string;
  readonly kind: MismatchKind;
  readonly status: MismatchStatus;
  readonly count: number;
}

/** How many mismatches have one of these statuses. Reads those, by their index. */
export async function countMismatches(
  tx: Query,
  statuses: readonly MismatchStatus[],
): Promise<MismatchCount[]> {
  return await tx<MismatchCount[]>`
    select product_id as "productId", kind, status, count(*) as count from mismatches
    where status = any(${statuses as MismatchStatus[]})
    group by product_id, kind, status`;
}

/** By product, how many records a fetch did not return of which it is not certain yet that they are absent. */
export async function countInDoubt(tx: Query): Promise<ReadonlyMap<string, number>> {
  const rows = await tx<{ productId: string; count: number }[]>`
    select product_id as "productId", count(*) as count from record_absences
    where absent_since is null and not elsewhere
    group by product_id`;
  return new Map(rows.map(({ productId, count }) => [productId, count]));
}

export interface AmountAtRisk {
  readonly productId: string;
  readonly kind: MismatchKind;
  /** "other": those beyond the first, added up */
  readonly currency: string;
  /** decimal text */
  readonly amount: string;
}

/** They come from outside, and each makes series that last. */
const MOST_CURRENCIES = 50;

/**
 * What is at risk in mismatches that are open or acknowledged. The currencies of the oldest of them are named: every worker
 * names the same ones, and those that come in numbers later push none of them out.
 */
export async function sumAtRisk(tx: Query): Promise<AmountAtRisk[]> {
  return await tx<AmountAtRisk[]>`
    with sums as (
      select product_id, kind, currency, sum(amount_at_risk) as amount, min(id) as first from mismatches
      where status in ('open', 'acknowledged') and currency is not null
      group by product_id, kind, currency
    ), named as (
      select currency from sums group by currency order by min(first), currency limit ${MOST_CURRENCIES}
    )
    select product_id as "productId", kind, coalesce(named.currency, 'other') as currency, sum(amount) as amount
    from sums left join named using (currency)
    group by product_id, kind, coalesce(named.currency, 'other')`;
}

export interface VerifyCount {
  readonly status: TransferStatus;
  readonly count: number;
}

/** How many transfers, or top-ups, have one of these statuses. Reads those, by their index. */
export async function countVerifications(
  tx: Query,
  kind: VerifyKind,
  statuses: readonly TransferStatus[],
): Promise<VerifyCount[]> {
  const table = tx(kind === "transfer" ? "transfers" : "top_ups");
  return await tx<VerifyCount[]>`
    select status, count(*) as count from ${table}
    where status = any(${statuses as TransferStatus[]})
    group by status`;
}

export interface AlertBacklog {
  readonly undelivered: number;
  /** null: there is none */
  readonly oldestAt: Instant | null;
}

/** Alerts that some channel has not had yet. */
export async function readAlertBacklog(tx: Query): Promise<AlertBacklog> {
  const [row] = await tx<AlertBacklog[]>`
    select count(*) as undelivered, min(created_at) as "oldestAt" from alerts where delivered_at is null`;
  return row ?? { undelivered: 0, oldestAt: null };
}

export interface BackfillCount {
  readonly status: BackfillStatus;
  readonly count: number;
}

export async function countBackfills(tx: Query): Promise<BackfillCount[]> {
  return await tx<BackfillCount[]>`select status, count(*) as count from backfills group by status`;
}

/** When the newest entry of the ledger was received; null: there is none. Reads one row of an index. */
export async function readNewestReceivedAt(tx: Query): Promise<Instant | null> {
  const [row] = await tx<{ at: Instant | null }[]>`select max(received_at) as at from callback_entries`;
  return row?.at ?? null;
}
