/**
 * Actions of people in PostgreSQL: chooses and counts mismatches, changes them with their history, and stores
 * adjustments.
 */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import type { MismatchChange, MismatchKind } from "../mismatch.ts";
import { ACTS, type ActedOn, type Adjustment, type MismatchAction } from "./act.ts";
import { chosenBy, type MismatchChoice } from "./store.ts";
import { RESOLVED_BY_RECON } from "./transitions.ts";

/** What an action needs to know about a mismatch. */
export interface ChosenMismatch extends ActedOn {
  readonly kind: MismatchKind;
  readonly productId: string;
  readonly username: string;
  readonly occurredAt: Instant;
  readonly currency: string | null;
  /** decimal text */
  readonly amount: string;
  readonly note: string | null;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly roundId: string | null;
}

/**
 * The existing mismatches with these ids, in the order of their ids.
 * @param locks locks the rows until the transaction ends; all transactions lock in this order
 */
export async function chooseByIds(
  sql: Query,
  ids: readonly number[],
  locks: boolean,
): Promise<ChosenMismatch[]> {
  return await sql<ChosenMismatch[]>`
    select ${chosenColumns(sql)} from mismatches where id = any(${ids as number[]}::bigint[])
    order by id ${locks ? sql`for update` : sql``}`;
}

/**
 * The mismatches of a choice, in the order of their ids.
 * @param byPerson only mismatches that a person decided: recon's own decisions are too many to list
 */
export async function chooseByFilter(
  sql: Query,
  choice: MismatchChoice,
  options: { readonly byPerson: boolean; readonly locks: boolean; readonly most: number },
): Promise<ChosenMismatch[]> {
  return await sql<ChosenMismatch[]>`
    select ${chosenColumns(sql)} from mismatches
    where ${chosenBy(sql, choice)}
      ${options.byPerson ? sql`and resolved_by <> ${RESOLVED_BY_RECON}` : sql``}
    order by id
    limit ${options.most}
    ${options.locks ? sql`for update` : sql``}`;
}

function chosenColumns(sql: Query) {
  return sql`id, kind, occurred_at as "occurredAt", status, resolved_by as "resolvedBy", product_id as "productId", username, currency,
    amount_at_risk as amount, note, bet_id as "betId", transaction_id as "transactionId", round_id as "roundId"`;
}

export interface PersonsAction {
  readonly action: MismatchAction;
  readonly note: string;
  readonly by: string;
  readonly at: Instant;
  /** a UUID of the step, for undoing the step; null or absent: the step cannot be undone */
  readonly step?: string | null;
}

/** Writes an action on mismatches that the transaction has locked, with a line of history for each. */
export async function writeAction(
  tx: Query,
  chosen: readonly ChosenMismatch[],
  { action, note, by, at, step = null }: PersonsAction,
): Promise<MismatchChange[]> {
  if (chosen.length === 0) return [];
  const { to, change } = ACTS[action];
  const ends = to === "resolved" || to === "ignored";
  const rows = await tx<Omit<MismatchChange, "at" | "change">[]>`
    with before as (
      select b.*, jsonb_build_object('note', m.note, 'resolvedAt', m.resolved_at, 'resolvedBy', m.resolved_by,
        'ceasedAt', m.ceased_at) as replaced
      from unnest(${chosen.map(({ id }) => id)}::bigint[], ${chosen.map(({ status }) => status)}::text[])
        as b (id, from_status)
      join mismatches m using (id)
    ),
    acted as (
      update mismatches m set status = ${to}, note = ${note},
        resolved_at = ${ends ? at : null}, resolved_by = ${ends ? by : null}, ceased_at = null
      from before b where m.id = b.id and m.status = b.from_status
      returning m.*, b.from_status, b.replaced
    ),
    recorded as (
      insert into mismatch_events (mismatch_id, at, from_status, to_status, by, note, amount_at_risk, reason, provider, ledger,
        step, replaced)
      select id, ${at}, from_status, status, ${by}, note, amount_at_risk, reason, provider, ledger,
        ${step}::uuid, case when ${step}::uuid is not null then replaced end
      from acted order by id
    )
    select id, kind, product_id as "productId", amount_at_risk as amount, currency, occurred_at as "occurredAt"
    from acted order by id`;
  if (rows.length !== chosen.length) throw new Error("a mismatch changed although it was locked");
  return rows.map((row) => ({ ...row, change, at }));
}

/** A stored adjustment. Times are ISO 8601. */
export interface StoredAdjustment {
  readonly ref: string;
  /** signed decimal text */
  readonly amount: string;
  readonly currency: string;
  readonly at: string;
  readonly by: string;
  readonly note: string;
}

/**
 * Stores an adjustment. A repetition has no effect.
 * @returns whether the adjustment is new
 * @throws ReconError `conflict` where the ref belongs to another adjustment
 */
export async function writeAdjustment(
  tx: Query,
  mismatchId: number,
  { amount, ref }: Adjustment,
  { currency, note, by, at }: { currency: string; note: string; by: string; at: Instant },
): Promise<boolean> {
  const { count } = await tx`
    insert into adjustments (mismatch_id, ref, amount, currency, at, by, note)
    values (${mismatchId}, ${ref}, ${amount}, ${currency}, ${at}, ${by}, ${note})
    on conflict (ref) do nothing`;
  if (count > 0) return true;
  const [same] = await tx<{ mismatchId: number; amount: string; currency: string; agrees: boolean }[]>`
    select mismatch_id as "mismatchId", amount, currency,
      (mismatch_id, amount, currency, note) = (${mismatchId}::bigint, ${amount}::numeric, ${currency}, ${note}) as agrees
    from adjustments where ref = ${ref}`;
  if (same?.agrees) return false;
  const known =
    same === undefined
      ? ""
      : `: ${same.amount} ${same.currency} for mismatch ${same.mismatchId}, with its note`;
  throw new ReconError("conflict", `ref "${ref}" was used for another adjustment${known}`);
}

/** The adjustments of one mismatch, oldest first. */
export async function readAdjustments(sql: Query, mismatchId: string): Promise<StoredAdjustment[]> {
  const rows = await sql<(Omit<StoredAdjustment, "at"> & { at: Instant })[]>`
    select ref, amount, currency, at, by, note from adjustments where mismatch_id = ${Number(mismatchId)} order by id`;
  return rows.map((row) => ({ ...row, at: formatInstant(row.at) }));
}
