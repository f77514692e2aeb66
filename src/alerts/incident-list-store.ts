/** Lists of incidents, their sums and trends. */

import type { Instant } from "../clock.ts";
import { type CaseChoice, narrowedByCase } from "../db/case-condition.ts";
import { type ChangePlace, type ChangesEnd, changedBetween } from "../db/change-position.ts";
import type { Query } from "../db/client.ts";
import { countList, type ListCount } from "../db/row-counts.ts";
import type { MismatchKind, MismatchStatus } from "../mismatch.ts";
import type { Money } from "./incident.ts";

export interface ListedIncident {
  readonly id: number;
  readonly productId: string;
  readonly kind: MismatchKind;
  /** the backfill that found its mismatches; 0: no backfill */
  readonly backfillId: number;
  readonly beganAt: Instant;
  /** the time at which its newest mismatch was first seen */
  readonly lastAt: Instant;
  readonly total: number;
  /** the number of its open or acknowledged mismatches */
  readonly open: number;
  readonly endedAt: Instant | null;
  readonly owner: string | null;
  readonly ticket: string | null;
  readonly withProvider: Instant | null;
  readonly remindAt: Instant | null;
}

/** Null and absent fields do not filter. `currency` and the times are about one mismatch: some mismatch has them all. */
export interface IncidentChoice extends CaseChoice {
  /** null: both open and ended ones */
  readonly isOpen: boolean | null;
  readonly productId: string | null;
  /** with money at risk in this currency; null: in any, or none */
  readonly currency: string | null;
  /** with a mismatch whose `occurredAt` is then or later */
  readonly happenedFrom?: Instant | null;
  /** with a mismatch whose `occurredAt` is before then */
  readonly happenedTo?: Instant | null;
}

/**
 * "newest": the one that began last. "growth": those with an undecided mismatch, and of these and of the others the one
 * that grew last. "at-risk": by currency, and of each currency the one with the most money at risk; one with several
 * currencies counts with the chosen one, or the one that most of its mismatches have. "remind-at": only those with a reminder,
 * the earliest first.
 */
type IncidentOrder = "newest" | "growth" | "at-risk" | "remind-at";

export interface IncidentRange {
  readonly limit: number;
  /** the `next` of the page before in the same order; null: the first page */
  readonly after: string | null;
  readonly order: IncidentOrder;
}

/** One page. */
export async function listIncidents(
  sql: Query,
  choice: IncidentChoice,
  { limit, after, order }: IncidentRange,
): Promise<{ incidents: ListedIncident[]; next: string | null }> {
  if (order === "at-risk") return await listByRisk(sql, choice, { limit, after });
  const growth = sql`${isUndecided(sql)}, last_at, id`;
  const { place, beyond, inOrder } = {
    newest: { place: sql`id::text`, beyond: sql`id < ${Number(after)}`, inOrder: sql`id desc` },
    growth: {
      place: sql`id::text`,
      beyond: sql`(${growth}) < (select ${growth} from incidents where id = ${Number(after)})`,
      inOrder: sql`${isUndecided(sql)} desc, last_at desc, id desc`,
    },
    "remind-at": {
      place: sql`to_char(remind_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || id`,
      beyond: sql`(remind_at, id) > (split_part(${after}, '~', 1)::timestamptz, split_part(${after}, '~', 2)::bigint)`,
      inOrder: sql`remind_at, id`,
    },
  }[order];
  const rows = await sql<(ListedIncident & { readonly place: string })[]>`
    select ${columns(sql)}, ${place} as place from incidents
    where ${isListed(sql, choice, order)} ${after === null ? sql`` : sql`and ${beyond}`}
    order by ${inOrder} limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  return {
    incidents: page.map(({ place: _, ...incident }) => incident),
    next: rows.length > limit ? (page.at(-1)?.place ?? null) : null,
  };
}

/** Those without a currency are the last group. */
async function listByRisk(
  sql: Query,
  choice: IncidentChoice,
  { limit, after }: Pick<IncidentRange, "limit" | "after">,
): Promise<{ incidents: ListedIncident[]; next: string | null }> {
  const { currency } = choice;
  const place = after === null ? null : placeAtRisk(after);
  const key = sql`code is null, coalesce(code, '') collate "C", -amount, -id`;
  const rows = await sql<(ListedIncident & { readonly code: string | null; readonly amount: string })[]>`
    select * from (
      select ${columns(sql)}, code, coalesce(amount, 0) as amount from incidents
      left join lateral (
        select nullif(currency, '') as code, sum(amount_at_risk) as amount from (${atRisk(sql)}) members
        ${currency === null ? sql`` : sql`where currency = ${currency}`}
        group by code order by count(*) desc, code limit 1
      ) risk on true
      where ${isChosen(sql, choice)}
    ) listed
    ${place === null ? sql`` : sql`where (${key}) > (${place.currency === null}, ${place.currency ?? ""}::text collate "C", -(${place.amount}::text::numeric), ${-Number(place.id)}::bigint)`}
    order by ${key} limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    incidents: page.map(({ code: _, amount: __, ...incident }) => incident),
    next: rows.length > limit && last !== undefined ? `${last.code ?? ""}~${last.amount}~${last.id}` : null,
  };
}

/** Reads a position in the order of the money at risk: "THB~3000~17", "~0~4" without a currency. */
export function placeAtRisk(name: string): { currency: string | null; amount: string; id: string } {
  const [, currency = "", amount = "", id = ""] = /^(.*)~([^~]*)~([^~]*)$/s.exec(name) ?? [];
  return { currency: currency === "" ? null : currency, amount, id };
}

/** The mismatches of an incident whose money is at risk: once it is over, all of them. */
function atRisk(sql: Query) {
  return sql`select currency, amount_at_risk from incident_members join mismatches m on m.id = mismatch_id
    where incident_id = incidents.id and (incidents.ended_at is not null or status in ('open', 'acknowledged'))`;
}

/** One of its mismatches has the chosen currency and time. */
function hasChosenMismatch(sql: Query, choice: IncidentChoice) {
  const { currency, happenedFrom = null, happenedTo = null } = choice;
  if (currency === null && happenedFrom === null && happenedTo === null) return sql``;
  return sql`and exists (
    select from incident_members join mismatches m on m.id = mismatch_id where incident_id = incidents.id
      ${currency === null ? sql`` : sql`and currency = ${currency} and (incidents.ended_at is not null or status in ('open', 'acknowledged'))`}
      ${happenedFrom === null ? sql`` : sql`and occurred_at >= ${happenedFrom}`}
      ${happenedTo === null ? sql`` : sql`and occurred_at < ${happenedTo}`})`;
}

function isChosen(sql: Query, choice: IncidentChoice) {
  const { isOpen, productId } = choice;
  return sql`true
      ${isOpen === null ? sql`` : isOpen ? sql`and ended_at is null` : sql`and ended_at is not null`}
      ${productId === null ? sql`` : sql`and product_id = ${productId}`}
      ${narrowedByCase(sql, choice)}
      ${hasChosenMismatch(sql, choice)}`;
}

/**
 * The incidents of these ids that exist, or those of a choice, in the order of their ids, in which all transactions lock them.
 * @param locks whether the transaction changes them
 */
export async function chooseIncidents(
  sql: Query,
  target: { readonly ids: readonly number[] } | { readonly choice: IncidentChoice },
  { locks, most }: { readonly locks: boolean; readonly most: number },
): Promise<{ id: number; isOver: boolean }[]> {
  return await sql<{ id: number; isOver: boolean }[]>`
    select id, ended_at is not null as "isOver" from incidents
    where ${"ids" in target ? sql`id = any(${target.ids as number[]}::bigint[])` : isChosen(sql, target.choice)}
    order by id limit ${most} ${locks ? sql`for update` : sql``}`;
}

function isListed(sql: Query, choice: IncidentChoice, order: IncidentOrder) {
  return sql`${isChosen(sql, choice)} ${order === "remind-at" ? sql`and remind_at is not null` : sql``}`;
}

/** The number of chosen incidents, on all pages of an order. */
export async function countIncidents(
  sql: Query,
  choice: IncidentChoice,
  order: IncidentOrder,
): Promise<ListCount> {
  return await countList(sql, "incidents", isListed(sql, choice, order));
}

/**
 * Incidents that changed after a place, or one of whose mismatches did, in the order of their last changes; both open and ended
 * ones, if the choice does not say which.
 * @returns the place of the last one, if others follow; null: these are all
 */
export async function listChangedIncidents(
  sql: Query,
  choice: IncidentChoice,
  limit: number,
  from: ChangePlace,
  end: ChangesEnd,
): Promise<{ incidents: ListedIncident[]; last: ChangePlace | null }> {
  const rows = await sql<(ListedIncident & { readonly transaction: string })[]>`
    with touched as (
      select i.id, i.changed_in from incidents i where i.changed_in >= ${from.transaction}::text::xid8 and i.changed_in < ${end.transaction}::text::xid8
      union all
      select incident_id, m.changed_in from mismatches m join incident_members on mismatch_id = m.id
      where m.changed_in >= ${from.transaction}::text::xid8 and m.changed_in < ${end.transaction}::text::xid8
    ),
    newest as (select distinct on (id) id, changed_in from touched order by id, changed_in desc)
    select ${columns(sql)}, newest.changed_in::text as transaction
    from newest join incidents using (id)
    where ${changedBetween(sql, "newest", from, end)} and ${isChosen(sql, choice)}
    order by newest.changed_in, id limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    incidents: page.map(({ transaction: _, ...incident }) => incident),
    last: rows.length > limit && last !== undefined ? last : null,
  };
}

/** The open incidents and their number: first those with the most undecided mismatches, then the one that grew last. */
export async function readLargestIncidents(
  sql: Query,
  most: number,
): Promise<{ incidents: ListedIncident[]; count: number }> {
  const rows = await sql<(ListedIncident & { count: number })[]>`
    select ${columns(sql)}, count(*) over () as count from incidents where ended_at is null
    order by (
      select count(*) from incident_members join mismatches m on m.id = mismatch_id
      where incident_id = incidents.id and status = 'open'
    ) desc, last_at desc, id desc limit ${most}`;
  return { incidents: rows.map(({ count: _, ...incident }) => incident), count: rows[0]?.count ?? 0 };
}

export async function readListedIncident(sql: Query, id: number): Promise<ListedIncident | null> {
  const [row] = await sql<ListedIncident[]>`select ${columns(sql)} from incidents where id = ${id}`;
  return row ?? null;
}

/** The incident of a mismatch; null: no incident counts it. */
export async function findIncidentOf(sql: Query, mismatchId: number): Promise<number | null> {
  const [row] = await sql<{ id: number }[]>`
    select incident_id as id from incident_members where mismatch_id = ${mismatchId}`;
  return row?.id ?? null;
}

/** The mismatches of an incident that have one status and one currency. */
export interface IncidentSum {
  readonly incidentId: number;
  readonly status: MismatchStatus;
  readonly currency: string | null;
  readonly count: number;
  /** the money at risk; decimal text */
  readonly amount: string;
}

export async function sumIncidents(sql: Query, ids: readonly number[]): Promise<IncidentSum[]> {
  return await sql<IncidentSum[]>`
    select incident_id as "incidentId", status, currency, count(*) as count, sum(amount_at_risk) as amount
    from incident_members join mismatches m on m.id = mismatch_id
    where incident_id = any(${ids as number[]}::bigint[])
    group by incident_id, status, currency
    order by incident_id, status, currency nulls last`;
}

/** The money at risk in all open incidents except some. */
export async function sumOtherIncidents(sql: Query, shown: readonly number[]): Promise<Money[]> {
  return await sql<Money[]>`
    select currency, sum(amount_at_risk) as amount
    from incidents i join incident_members on incident_id = i.id join mismatches m on m.id = mismatch_id
    where ended_at is null and i.id <> all(${shown as number[]}::bigint[]) and m.status in ('open', 'acknowledged')
    group by currency order by currency nulls last`;
}

/** A part of the ids of an incident's mismatches, in their order. */
export async function readMembers(
  sql: Query,
  id: number,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select mismatch_id as id from incident_members where incident_id = ${id}
    order by mismatch_id limit ${limit} offset ${offset}`;
  return rows.map(({ id: member }) => member);
}

export async function countMembers(sql: Query, id: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from incident_members where incident_id = ${id}`;
  return row?.count ?? 0;
}

/** The number of mismatches of an incident that were first seen in each of equal steps of a range. */
export async function countArrivals(
  sql: Query,
  id: number,
  { from, to }: { readonly from: Instant; readonly to: Instant },
  steps: number,
): Promise<number[]> {
  const stepMs = (to - from) / steps;
  const rows = await sql<{ step: number; count: number }[]>`
    select least(${steps - 1}, floor(extract(epoch from first_seen_at - ${from}::timestamptz) * 1000 / ${stepMs}::float8))::int as step,
      count(*) as count
    from incident_members join mismatches m on m.id = mismatch_id
    where incident_id = ${id} and first_seen_at >= ${from} and first_seen_at <= ${to}
    group by 1`;
  const counts = new Map(rows.map(({ step, count }) => [step, count]));
  return Array.from({ length: steps }, (_, step) => counts.get(step) ?? 0);
}

/** The mismatches that were first seen after an incident began. */
export interface Growth {
  readonly count: number;
  /** how many of them since the asked time */
  readonly lately: number;
  /** null: it has not grown */
  readonly firstAt: Instant | null;
  readonly lastAt: Instant | null;
}

export async function readGrowth(
  sql: Query,
  { id, beganAt }: Pick<ListedIncident, "id" | "beganAt">,
  since: Instant,
): Promise<Growth> {
  const [row] = await sql<Growth[]>`
    select count(*) as count, count(*) filter (where first_seen_at >= ${since}) as lately,
      min(first_seen_at) as "firstAt", max(first_seen_at) as "lastAt"
    from incident_members join mismatches m on m.id = mismatch_id
    where incident_id = ${id} and first_seen_at > ${beganAt}`;
  return row ?? { count: 0, lately: 0, firstAt: null, lastAt: null };
}

function isUndecided(sql: Query) {
  return sql`exists (
    select from incident_members join mismatches m on m.id = mismatch_id
    where incident_id = incidents.id and status = 'open')`;
}

function columns(sql: Query) {
  return sql`id, product_id as "productId", kind, backfill_id as "backfillId", began_at as "beganAt",
    last_at as "lastAt", total, open, ended_at as "endedAt", owner, ticket, with_provider as "withProvider",
    remind_at as "remindAt"`;
}
