/** Who works on a mismatch or an incident, the provider's ticket, and the reminder. One table's columns are the other's. */

import { formatInstant, type Instant } from "../clock.ts";
import { CHANGING_NOW } from "../db/change-position.ts";
import type { Query } from "../db/client.ts";
import type { DueReminder, MismatchChange } from "../mismatch.ts";
import type { CaseChange } from "./act.ts";

/** A change, and who made it. */
export interface MadeChange {
  readonly change: CaseChange;
  readonly by: string;
  readonly at: Instant;
  /** why; null: nothing was said */
  readonly note: string | null;
}

/** The values that a change sets, and the rows in which it changes something. */
function valuesOf(sql: Query, { change, at }: MadeChange) {
  if (change.what === "assign")
    return { set: sql`owner = ${change.owner}`, differs: sql`owner is distinct from ${change.owner}` };
  if (change.what === "remind") {
    const { remindAt } = change;
    return {
      set: sql`remind_at = ${remindAt}, reminded_at = null`,
      differs: sql`remind_at is distinct from ${remindAt}::timestamptz`,
    };
  }
  const { ticket, isWithProvider } = change;
  const named = ticket === undefined ? sql`ticket` : sql`${ticket}::text`;
  return {
    // A second ticket does not begin the wait again.
    set: sql`ticket = ${named}, with_provider = case when ${isWithProvider}::boolean then coalesce(with_provider, ${at}) end`,
    differs: sql`(ticket, with_provider is not null) is distinct from (${named}, ${isWithProvider}::boolean)`,
  };
}

/** The line of the history: "assigned to mia", "ticket PRV-12, with the provider". In SQL, because a kept ticket differs by row. */
function lineOf(sql: Query, { change, note }: MadeChange) {
  const why = note === null ? "" : `: ${note}`;
  if (change.what === "ticket") {
    const rest = `, ${change.isWithProvider ? "" : "not "}with the provider${why}`;
    return sql`coalesce('ticket ' || ticket, 'no ticket') || ${rest}::text`;
  }
  const line =
    change.what === "assign"
      ? `assigned to ${change.owner ?? "nobody"}`
      : change.remindAt === null
        ? "no reminder"
        : `reminder at ${formatInstant(change.remindAt)}`;
  return sql`${line + why}::text`;
}

/**
 * Changes owner, ticket or reminder of mismatches that the transaction has locked, each with a line of its history. Every change of
 * these columns is made here. One that has the value already stays as it is, without a line, unless
 * a note says something new.
 * @returns the changed ones, for their events
 */
export async function changeMismatchCases(
  tx: Query,
  ids: readonly number[],
  made: MadeChange,
): Promise<MismatchChange[]> {
  if (ids.length === 0) return [];
  const { by, at } = made;
  const { set, differs } = valuesOf(tx, made);
  const rows = await tx<Omit<MismatchChange, "change" | "at" | "by">[]>`
    with changed as (
      update mismatches set ${set}, changed_in = ${tx.unsafe(CHANGING_NOW)} where id = any(${ids as number[]}::bigint[])
        and (${made.note !== null} or ${differs}) returning *
    ),
    recorded as (
      insert into mismatch_events (mismatch_id, at, from_status, to_status, by, note, amount_at_risk, reason, provider, ledger)
      select id, ${made.at}, status, status, ${made.by}, ${lineOf(tx, made)}, amount_at_risk, reason, provider, ledger
      from changed order by id
    )
    select id, kind, product_id as "productId", amount_at_risk as amount, currency, occurred_at as "occurredAt"
    from changed order by id`;
  return rows.map((row) => ({ ...row, change: "refresh", at, by }));
}

/**
 * The same of incidents that the transaction has locked; their mismatches keep their own. An incident has no history of its own,
 * so its line is a comment.
 * @param most the most comments of one incident
 * @returns the first one that has the most comments already: then the transaction must not commit; null: there is none
 */
export async function changeIncidentCases(
  tx: Query,
  ids: readonly number[],
  made: MadeChange,
  most: number,
): Promise<number | null> {
  if (ids.length === 0) return null;
  const { set, differs } = valuesOf(tx, made);
  const [full] = await tx<{ id: number }[]>`
    with changed as (
      update incidents set ${set}, changed_in = ${tx.unsafe(CHANGING_NOW)} where id = any(${ids as number[]}::bigint[])
        and (${made.note !== null} or ${differs}) returning *
    ),
    commented as (
      insert into comments (about, about_id, at, by, note)
      select 'incident', id, ${made.at}, ${made.by}, ${lineOf(tx, made)} from changed order by id
    )
    select id from changed
    where (select count(*) from comments where about = 'incident' and about_id = changed.id) >= ${most}
    order by id limit 1`;
  return full?.id ?? null;
}

/**
 * Takes the due reminders that were not sent: of open and acknowledged mismatches, and of incidents that are not over. Another worker
 * does not get them again, if the transaction commits.
 * @param most the most of each
 */
export async function takeDueReminders(tx: Query, now: Instant, most: number): Promise<DueReminder[]> {
  return await tx<DueReminder[]>`
    with due as (
      select id from mismatches
      where remind_at is not null and reminded_at is null and remind_at <= ${now} and status in ('open', 'acknowledged')
      order by remind_at, id limit ${most} for update skip locked
    ),
    due_incidents as (
      select id from incidents
      where remind_at is not null and reminded_at is null and remind_at <= ${now} and ended_at is null
      order by remind_at, id limit ${most} for update skip locked
    ),
    reminded as (
      update mismatches m set reminded_at = ${now} from due where m.id = due.id
      returning m.*
    ),
    reminded_incidents as (
      update incidents i set reminded_at = ${now} from due_incidents due where i.id = due.id
      returning i.*
    )
    select 'mismatch' as about, id, remind_at as "remindAt", kind, product_id as "productId", owner, ticket,
      amount_at_risk as amount, currency, username, reason
    from reminded
    union all
    select 'incident', id, remind_at, kind, product_id, owner, ticket, null, null, null, null from reminded_incidents
    order by 3, 1, 2`;
}
