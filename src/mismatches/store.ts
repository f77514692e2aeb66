/** Mismatches in PostgreSQL: choices, pages, counts and histories. */

import { z } from "zod";
import { type AnswerOf, INSTANT, TEXT } from "../answer.ts";
import type { Instant } from "../clock.ts";
import { formatInstant } from "../clock.ts";
import { type CaseChoice, narrowedByCase } from "../db/case-condition.ts";
import type { Query } from "../db/client.ts";
import { rowCountsText } from "../db/row-counts.ts";
import { effectLeft } from "../effect.ts";
import type { Mismatch, MismatchKind, MismatchStatus, NamedRequest } from "../mismatch.ts";
import { KINDS_IN_NO_STATEMENT, MISMATCH, MISMATCH_STATUSES } from "../mismatch.ts";
import { formatAmount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";
import type { KnownMismatch } from "./transitions.ts";

/** The mismatches of these subjects of a player, with any status. */
export async function readKnown(
  tx: Query,
  productId: string,
  username: string,
  subjects: readonly string[],
): Promise<KnownMismatch[]> {
  return await readKnownOf(
    tx,
    productId,
    subjects.map((subject) => [username, subject] as const),
  );
}

/**
 * As `readKnown`, for several players at once.
 * @param asked [username, subject]
 */
export async function readKnownOf(
  tx: Query,
  productId: string,
  asked: readonly (readonly [string, string])[],
): Promise<(KnownMismatch & { readonly username: string })[]> {
  if (asked.length === 0) return [];
  return await tx<(KnownMismatch & { username: string })[]>`
    select m.id, m.username, m.subject, m.kind, m.status, m.resolved_by as "resolvedBy",
      m.ceased_at is not null as "hasCeased", m.provider, m.ledger
    from mismatches m
    join (
      select distinct * from unnest(${asked.map(([username]) => username)}::text[],
        ${asked.map(([, subject]) => subject)}::text[]) as k (username, subject)
    ) k on m.product_id = ${productId} and m.username = k.username and m.subject = k.subject
    order by m.id
    for update of m`;
}

/** A choice of mismatches. Null and absent fields do not filter. */
export interface MismatchChoice extends CaseChoice {
  /** empty: open and acknowledged */
  readonly statuses: readonly MismatchStatus[];
  readonly kind: MismatchKind | null;
  readonly productId: string | null;
  readonly username: string | null;
  readonly currency?: string | null;
  /** in the statement of the day that has this time */
  readonly countsIn?: TimeRange | null;
  /** first seen then or later */
  readonly from?: Instant | null;
  /** first seen before then */
  readonly to?: Instant | null;
  /** `occurredAt` then or later */
  readonly happenedFrom?: Instant | null;
  /** `occurredAt` before then */
  readonly happenedTo?: Instant | null;
  /** the least amount at risk; decimal text */
  readonly minAmount?: string | null;
  /** of this incident */
  readonly incidentId?: number | null;
}

export interface MismatchFilter extends MismatchChoice {
  readonly limit: number;
  /** the `next` of the page before */
  readonly after: string | null;
}

type TextFields = Pick<
  Mismatch,
  "id" | "occurredAt" | "firstSeenAt" | "lastSeenAt" | "resolvedAt" | "withProvider" | "remindAt"
>;

/** A mismatch, or a part of one, as PostgreSQL returns it. */
type RowOf<Part extends TextFields> = Omit<Part, keyof TextFields> & {
  readonly id: number;
  readonly occurredAt: Instant;
  readonly firstSeenAt: Instant;
  readonly lastSeenAt: Instant;
  readonly resolvedAt: Instant | null;
  readonly withProvider: Instant | null;
  readonly remindAt: Instant | null;
};

/** A mismatch with the moment that decides in which day's statement it counts; null: it counts in none. */
export type StoredMismatch = Omit<Mismatch, "countsOn"> & { readonly countsAt: Instant | null };

/** As PostgreSQL returns it, with the sum of its adjustments. */
export type MismatchRow = RowOf<Omit<StoredMismatch, "effect">> & {
  readonly foundEffect: string | null;
  readonly corrected: string | null;
};

/**
 * One page of mismatches, oldest first; `next` is null on the last page.
 * PostgreSQL assigns ids before the commit, so a mismatch may appear before a page that was read already. Every
 * mismatch that was in the list at the first page, and still fits the filter, is on one of the pages.
 */
export async function listMismatches(
  sql: Query,
  filter: MismatchFilter,
): Promise<{ mismatches: StoredMismatch[]; next: string | null }> {
  // Each status has its own index in this order. One scan over several statuses reads all rows between them, and a
  // prepared plan may not use a partial index.
  const parts = statusesOf(filter).map(
    (status) => sql`(
      select * from mismatches where status = ${literalOf(sql, status)} ${narrowedBy(sql, filter)}
        ${filter.after === null ? sql`` : sql`and id > ${Number(filter.after)}`}
      order by id limit ${filter.limit + 1})`,
  );
  const rows = await sql<MismatchRow[]>`
    select ${columns(sql)} from (${parts.reduce((all, part) => sql`${all} union all ${part}`)}) chosen
    order by id
    limit ${filter.limit + 1}`;
  const page = rows.slice(0, filter.limit);
  const last = page.at(-1);
  return {
    mismatches: page.map(toMismatch),
    next: rows.length > filter.limit && last ? String(last.id) : null,
  };
}

/** A prepared plan for any status would read all mismatches in the order of their ids. */
function literalOf(sql: Query, status: MismatchStatus) {
  return sql.unsafe(`'${MISMATCH_STATUSES.find((one) => one === status) ?? ""}'`);
}

/** The statuses of a choice, each once; without any, open and acknowledged. */
export function statusesOf({ statuses }: Pick<MismatchChoice, "statuses">): MismatchStatus[] {
  return statuses.length === 0 ? ["open", "acknowledged"] : [...new Set(statuses)];
}

/** The condition of a choice. */
export function chosenBy(sql: Query, choice: MismatchChoice) {
  return sql`status = any(${statusesOf(choice)}) ${narrowedBy(sql, choice)}`;
}

/** The condition of a choice beside the status. */
export function narrowedBy(sql: Query, choice: MismatchChoice) {
  const { kind, productId, username, from = null, to = null, minAmount = null, incidentId = null } = choice;
  const { currency = null, countsIn = null, happenedFrom = null, happenedTo = null } = choice;
  return sql`${kind === null ? sql`` : sql`and kind = ${kind}`}
    ${productId === null ? sql`` : sql`and product_id = ${productId}`}
    ${username === null ? sql`` : sql`and username = ${username}`}
    ${currency === null ? sql`` : sql`and (currency = ${currency} or ledger -> 'otherCurrencies' @> ${JSON.stringify([{ currency }])}::text::jsonb)`}
    ${countsIn === null ? sql`` : sql`and ${stands(sql)} and ${countsAt(sql)} >= ${countsIn.from} and ${countsAt(sql)} < ${countsIn.to}`}
    ${from === null ? sql`` : sql`and first_seen_at >= ${from}`}
    ${to === null ? sql`` : sql`and first_seen_at < ${to}`}
    ${happenedFrom === null ? sql`` : sql`and occurred_at >= ${happenedFrom}`}
    ${happenedTo === null ? sql`` : sql`and occurred_at < ${happenedTo}`}
    ${minAmount === null ? sql`` : sql`and amount_at_risk >= ${minAmount}::numeric`}
    ${incidentId === null ? sql`` : sql`and id in (select mismatch_id from incident_members where incident_id = ${incidentId})`}
    ${narrowedByCase(sql, choice)}`;
}

/**
 * The difference still exists: it is not decided, or a reviewer decided it and it still holds. The words are those
 * of the index `mismatches_unsettled`.
 */
function stands(sql: Query) {
  return sql`(status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon'))`;
}

/**
 * The moment that decides the day, as in the day's statement (`countsAt` in diff/statement-lines.ts): the latest
 * accountingDate of the records, otherwise the last entry; for a session, the later of both (decision 310).
 */
function countsAt(sql: Query) {
  const [provider, ledger] = [sql`provider ->> 'accountingDate'`, sql`ledger ->> 'lastEntryAt'`];
  return sql`case when kind = any(${KINDS_IN_NO_STATEMENT as MismatchKind[]}) then null
    when subject like 'session:%' then greatest((${provider})::timestamptz, (${ledger})::timestamptz)
    else coalesce(${provider}, ${ledger})::timestamptz end`;
}

/** Whether a mismatch of this product exists. The product may have left the config since. */
export async function hasMismatches(sql: Query, productId: string): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (select from mismatches where product_id = ${productId}) as found`;
  return row?.found ?? false;
}

/** One mismatch; null: there is none with this id. */
export async function readMismatch(sql: Query, id: string): Promise<StoredMismatch | null> {
  if (!/^[1-9]\d{0,14}$/.test(id)) return null;
  const [row] = await sql<
    MismatchRow[]
  >`select ${columns(sql)} from mismatches chosen where id = ${Number(id)}`;
  return row === undefined ? null : toMismatch(row);
}

/** Those of these mismatches that exist, in the order of their ids. */
export async function readMismatches(sql: Query, ids: readonly number[]): Promise<StoredMismatch[]> {
  const rows = await sql<MismatchRow[]>`
    select ${columns(sql)} from mismatches chosen where id = any(${ids as number[]}::bigint[]) order by id`;
  return rows.map(toMismatch);
}

/** One change of a mismatch's status, or of its owner, ticket or reminder, with the values at that time. */
export const MISMATCH_EVENT = MISMATCH.pick({ amountAtRisk: true, provider: true, ledger: true }).extend({
  at: INSTANT,
  /** null: it was found; the same as `toStatus`: `note` says what else changed */
  fromStatus: z.nullable(MISMATCH.shape.status),
  toStatus: MISMATCH.shape.status,
  by: TEXT,
  note: z.nullable(TEXT),
  reason: TEXT,
});
export type MismatchEvent = AnswerOf<typeof MISMATCH_EVENT>;

/** The history of a mismatch, the oldest event first. */
export async function readHistory(sql: Query, id: string): Promise<MismatchEvent[]> {
  const rows = await sql<(Omit<MismatchEvent, "at"> & { at: Instant })[]>`
    select at, from_status as "fromStatus", to_status as "toStatus", by, note, reason,
      amount_at_risk as "amountAtRisk", provider, ${ledgerSide(sql)} as ledger
    from mismatch_events where mismatch_id = ${Number(id)} order by id`;
  return rows.map((row) => ({ ...row, at: formatInstant(row.at) }));
}

export type StatusCounts = Record<MismatchStatus, number>;

/** Nearly all mismatches are resolved, so their number is computed: the number of all rows minus the others. */
export async function countByStatus(sql: Query): Promise<StatusCounts> {
  const rows = await sql.unsafe<{ status: MismatchStatus; count: number }[]>(COUNT_BY_STATUS, [], {
    prepare: true,
  });
  const counts = new Map(rows.map(({ status, count }) => [status, count]));
  return Object.fromEntries(
    MISMATCH_STATUSES.map((status) => [status, counts.get(status) ?? 0]),
  ) as StatusCounts;
}

const COUNT_BY_STATUS = `
  with others as (
    select status, count(*) as count from mismatches where status in ('open', 'acknowledged', 'ignored') group by status
  )
  select status, count from others
  union all
  select 'resolved', greatest(0, (select coalesce(sum(rows), 0) from (${rowCountsText("mismatches")}) counted)::bigint
    - (select coalesce(sum(count), 0) from others)::bigint)`;

/** The ledger's values without the fields that are stored with them (`MismatchContent.ledger`). */
function ledgerSide(sql: Query) {
  return sql`ledger - '{otherCurrencies,previous}'::text[]`;
}

/**
 * The requests that a `balance-differs` is about: its own, and the one that left another balance. One that was answered at
 * several times is there for the first and the last.
 */
export async function readRequestsOf(sql: Query, id: string): Promise<NamedRequest[]> {
  const [row] = await sql<
    (Pick<NamedRequest, "productId"> & {
      subject: string;
      times: string[];
      previous: NamedRequest[];
    })[]
  >`
    select product_id as "productId", subject, array[ledger ->> 'firstEntryAt', ledger ->> 'lastEntryAt'] as times,
      coalesce(ledger -> 'previous', '[]') as previous
    from mismatches where id = ${Number(id)} and kind = 'balance-differs'`;
  if (row === undefined) return [];
  const named: unknown = JSON.parse(row.subject.slice(row.subject.indexOf(":") + 1));
  const [callback, requestId] = named as [string, string];
  const own = [...new Set(row.times)].map((at) => ({ productId: row.productId, callback, requestId, at }));
  return [...row.previous, ...own];
}

/**
 * The subjects of the unresolved mismatches of a player about the order of balances.
 * @param within both ends count; null: no limit
 */
export async function readOpenChains(
  sql: Query,
  productId: string,
  username: string,
  within: { readonly currency: string; readonly from: Instant | null; readonly to: Instant | null },
): Promise<string[]> {
  const { currency, from, to } = within;
  const rows = await sql<{ subject: string }[]>`
    select subject from mismatches
    where product_id = ${productId} and username = ${username} and currency = ${currency}
      and kind = 'balance-differs' and subject like 'chain:%' and status in ('open', 'acknowledged')
      and (${from}::timestamptz is null or occurred_at >= ${from}) and (${to}::timestamptz is null or occurred_at <= ${to})`;
  return rows.map(({ subject }) => subject);
}

/** The columns of a `MismatchRow` of rows that are called `chosen`. */
export function columns(sql: Query) {
  return sql`id, kind, status, product_id as "productId", username, currency, bet_id as "betId",
    transaction_id as "transactionId", round_id as "roundId", transaction_ref as "transactionRef",
    amount_at_risk as "amountAtRisk", effect as "foundEffect",
    coalesce(ledger -> 'otherCurrencies', '[]') as "otherCurrencies", reason,
    provider, ${ledgerSide(sql)} as ledger, occurred_at as "occurredAt",
    first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", resolved_at as "resolvedAt",
    resolved_by as "resolvedBy", note, owner, ticket, with_provider as "withProvider", remind_at as "remindAt",
    case when ${stands(sql)} then ${countsAt(sql)} end as "countsAt",
    (select sum(a.amount) from adjustments a where a.mismatch_id = chosen.id) as corrected`;
}

/** The effect is shown after all corrections made by hand (decision 311). */
export function toMismatch({ corrected, foundEffect, ...row }: MismatchRow): StoredMismatch {
  const sum = corrected === null ? null : parseAmount(corrected, "corrected");
  const effect = effectLeft({ ...row, foundEffect }, sum);
  return { ...withTextFields(row), effect: effect === null ? null : formatAmount(effect) };
}

/** A mismatch with its id and times as text. */
function withTextFields<Row extends RowOf<TextFields>>(row: Row): Omit<Row, keyof TextFields> & TextFields {
  return {
    ...row,
    id: String(row.id),
    occurredAt: formatInstant(row.occurredAt),
    firstSeenAt: formatInstant(row.firstSeenAt),
    lastSeenAt: formatInstant(row.lastSeenAt),
    resolvedAt: instantOrNull(row.resolvedAt),
    withProvider: instantOrNull(row.withProvider),
    remindAt: instantOrNull(row.remindAt),
  };
}

function instantOrNull(at: Instant | null): string | null {
  return at === null ? null : formatInstant(at);
}
