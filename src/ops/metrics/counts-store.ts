/**
 * The counts of the metrics. The cost of these statements depends on open work: none reads records, entries or
 * finished windows.
 */

import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import type { MismatchKind, MismatchStatus } from "../../mismatch.ts";
import type { BackfillStatus } from "../../sync/backfill.ts";
import type { TransferStatus } from "../../transfer.ts";
import type { VerifyKind } from "../../verify/row-store.ts";

/** Limits the time of each statement of this transaction. */
export async function limitStatements(tx: Query, longestMs: number): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(longestMs)}, true)`;
}

export interface MismatchCount {
  readonly productId: string;
  readonly kind: MismatchKind;
  readonly status: MismatchStatus;
  readonly count: number;
}

/** Counts the mismatches in these statuses, with their index. */
export async function countMismatches(
  tx: Query,
  statuses: readonly MismatchStatus[],
): Promise<MismatchCount[]> {
  return await tx<MismatchCount[]>`
    select product_id as "productId", kind, status, count(*) as count from mismatches
    where status = any(${statuses as MismatchStatus[]})
    group by product_id, kind, status`;
}

/** Counts the records in doubt, by product. */
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
  /** "other": the sum of the currencies beyond the limit */
  readonly currency: string;
  /** decimal text */
  readonly amount: string;
}

/** Currencies come from outside, and each creates lasting time series. */
const MOST_CURRENCIES = 50;

/**
 * The money at risk in open and acknowledged mismatches. The currencies of the oldest mismatches have names: all
 * workers use the same names, and later currencies do not displace them.
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

/** Counts the transfers or top-ups in these statuses, with their index. */
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

/** The alerts that some channel has not received yet. */
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

/** The time at which the newest entry was received; null: there is none. Reads one row of an index. */
export async function readNewestReceivedAt(tx: Query): Promise<Instant | null> {
  const [row] = await tx<{ at: Instant | null }[]>`select max(received_at) as at from callback_entries`;
  return row?.at ?? null;
}
