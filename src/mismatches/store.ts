/** Mismatches in PostgreSQL: written with their history in one transaction, listed page by page. */

import type { Instant } from "../clock.ts";
import { formatInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { Finding, Mismatch, MismatchKind, MismatchStatus } from "../mismatch.ts";
import { MISMATCH_STATUSES } from "../mismatch.ts";
import { formatAmount } from "../money.ts";
import { type KnownMismatch, RESOLVED_BY_RECON, type Transition } from "./life.ts";

/** The mismatches of a player's subjects, whatever their status. */
export async function readKnown(
  tx: Query,
  productId: string,
  username: string,
  subjects: readonly string[],
): Promise<KnownMismatch[]> {
  return await tx<KnownMismatch[]>`
    select id, subject, kind, status, resolved_by as "resolvedBy", provider, ledger
    from mismatches
    where product_id = ${productId} and username = ${username} and subject = any(${subjects as string[]})
    order by id
    for update`;
}

/** Carries out what was decided, with a line of history for each change of status. */
export async function writeTransitions(
  tx: Query,
  transitions: readonly Transition[],
  now: Instant,
): Promise<void> {
  for (const transition of transitions) {
    if (transition.change === "open") await openMismatch(tx, transition.finding, now);
    else if (transition.change === "resolve") await resolveMismatch(tx, transition.id, now);
    else await holdMismatch(tx, transition.id, transition.finding, now, transition.change === "reopen");
  }
}

async function openMismatch(tx: Query, finding: Finding, now: Instant): Promise<void> {
  await tx`
    with opened as (
      insert into mismatches (product_id, username, subject, kind, status, currency, bet_id, transaction_id, round_id,
        amount_at_risk, reason, provider, ledger, occurred_at, first_seen_at, last_seen_at)
      values (${finding.productId}, ${finding.username}, ${finding.subject}, ${finding.kind}, 'open',
        ${finding.currency}, ${finding.betId}, ${finding.transactionId}, ${finding.roundId},
        ${formatAmount(finding.amountAtRisk)}, ${finding.reason}, ${toJson(finding.provider)}::text::jsonb,
        ${toJson(finding.ledger)}::text::jsonb, ${finding.occurredAt}, ${now}, ${now})
      returning *
    )
    insert into mismatch_events (mismatch_id, at, from_status, to_status, by, amount_at_risk, reason, provider, ledger)
    select id, ${now}, null, status, ${RESOLVED_BY_RECON}, amount_at_risk, reason, provider, ledger from opened`;
}

async function holdMismatch(
  tx: Query,
  id: number,
  finding: Finding,
  now: Instant,
  reopens: boolean,
): Promise<void> {
  await tx`
    with before as (select id, status from mismatches where id = ${id}),
    held as (
      update mismatches m set
        status = case when ${reopens} then 'open' else m.status end,
        currency = ${finding.currency}, bet_id = ${finding.betId}, transaction_id = ${finding.transactionId},
        round_id = ${finding.roundId}, amount_at_risk = ${formatAmount(finding.amountAtRisk)},
        reason = ${finding.reason}, provider = ${toJson(finding.provider)}::text::jsonb,
        ledger = ${toJson(finding.ledger)}::text::jsonb, last_seen_at = ${now},
        resolved_at = case when ${reopens} then null else m.resolved_at end,
        resolved_by = case when ${reopens} then null else m.resolved_by end
      where m.id = ${id}
      returning *
    )
    insert into mismatch_events (mismatch_id, at, from_status, to_status, by, amount_at_risk, reason, provider, ledger)
    select held.id, ${now}, before.status, held.status, ${RESOLVED_BY_RECON}, amount_at_risk, reason, provider, ledger
    from held join before using (id) where before.status <> held.status`;
}

async function resolveMismatch(tx: Query, id: number, now: Instant): Promise<void> {
  await tx`
    with before as (select id, status from mismatches where id = ${id}),
    resolved as (
      update mismatches set status = 'resolved', resolved_at = ${now}, resolved_by = ${RESOLVED_BY_RECON}
      where id = ${id}
      returning *
    )
    insert into mismatch_events (mismatch_id, at, from_status, to_status, by, amount_at_risk, reason, provider, ledger)
    select resolved.id, ${now}, before.status, 'resolved', ${RESOLVED_BY_RECON}, amount_at_risk, reason, provider, ledger
    from resolved join before using (id)`;
}

export interface MismatchFilter {
  /** empty: open and acknowledged */
  readonly statuses: readonly MismatchStatus[];
  readonly kind: MismatchKind | null;
  readonly productId: string | null;
  readonly username: string | null;
  readonly limit: number;
  /** the `next` of the page before */
  readonly after: string | null;
}

interface MismatchRow
  extends Omit<Mismatch, "id" | "occurredAt" | "firstSeenAt" | "lastSeenAt" | "resolvedAt"> {
  readonly id: number;
  readonly occurredAt: Instant;
  readonly firstSeenAt: Instant;
  readonly lastSeenAt: Instant;
  readonly resolvedAt: Instant | null;
}

/** One page of mismatches, oldest first; `next` is null on the last page. */
export async function listMismatches(
  sql: Query,
  filter: MismatchFilter,
): Promise<{ mismatches: Mismatch[]; next: string | null }> {
  const statuses: MismatchStatus[] =
    filter.statuses.length === 0 ? ["open", "acknowledged"] : [...filter.statuses];
  const rows = await sql<MismatchRow[]>`
    select ${columns(sql)} from mismatches
    where status = any(${statuses})
      ${filter.kind === null ? sql`` : sql`and kind = ${filter.kind}`}
      ${filter.productId === null ? sql`` : sql`and product_id = ${filter.productId}`}
      ${filter.username === null ? sql`` : sql`and username = ${filter.username}`}
      ${filter.after === null ? sql`` : sql`and id > ${Number(filter.after)}`}
    order by id
    limit ${filter.limit + 1}`;
  const page = rows.slice(0, filter.limit);
  const last = page.at(-1);
  return {
    mismatches: page.map(toMismatch),
    next: rows.length > filter.limit && last ? String(last.id) : null,
  };
}

export async function readMismatch(sql: Query, id: string): Promise<Mismatch | null> {
  if (!/^\d{1,15}$/.test(id)) return null;
  const [row] = await sql<MismatchRow[]>`select ${columns(sql)} from mismatches where id = ${Number(id)}`;
  return row === undefined ? null : toMismatch(row);
}

/** One change of a mismatch's status. */
export interface MismatchEvent {
  readonly at: string;
  readonly fromStatus: MismatchStatus | null;
  readonly toStatus: MismatchStatus;
  readonly by: string;
  readonly note: string | null;
  readonly reason: string;
}

export async function readHistory(sql: Query, id: string): Promise<MismatchEvent[]> {
  const rows = await sql<(Omit<MismatchEvent, "at"> & { at: Instant })[]>`
    select at, from_status as "fromStatus", to_status as "toStatus", by, note, reason
    from mismatch_events where mismatch_id = ${Number(id)} order by id`;
  return rows.map((row) => ({ ...row, at: formatInstant(row.at) }));
}

export type StatusCounts = Record<MismatchStatus, number>;

export async function countByStatus(sql: Query): Promise<StatusCounts> {
  const rows = await sql<{ status: MismatchStatus; count: number }[]>`
    select status, count(*) as count from mismatches group by status`;
  const counts = new Map(rows.map(({ status, count }) => [status, count]));
  return Object.fromEntries(
    MISMATCH_STATUSES.map((status) => [status, counts.get(status) ?? 0]),
  ) as StatusCounts;
}

export async function countOpenByProduct(sql: Query): Promise<Map<string, number>> {
  const rows = await sql<{ productId: string; count: number }[]>`
    select product_id as "productId", count(*) as count from mismatches
    where status in ('open', 'acknowledged') group by product_id`;
  return new Map(rows.map(({ productId, count }) => [productId, count]));
}

function columns(sql: Query) {
  return sql`id, kind, status, product_id as "productId", username, currency, bet_id as "betId",
    transaction_id as "transactionId", round_id as "roundId", transaction_ref as "transactionRef",
    amount_at_risk as "amountAtRisk", reason, provider, ledger, occurred_at as "occurredAt",
    first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", resolved_at as "resolvedAt",
    resolved_by as "resolvedBy", note`;
}

function toMismatch(row: MismatchRow): Mismatch {
  return {
    ...row,
    id: String(row.id),
    occurredAt: formatInstant(row.occurredAt),
    firstSeenAt: formatInstant(row.firstSeenAt),
    lastSeenAt: formatInstant(row.lastSeenAt),
    resolvedAt: row.resolvedAt === null ? null : formatInstant(row.resolvedAt),
  };
}

function toJson(side: unknown): string | null {
  return side === null ? null : JSON.stringify(side);
}
