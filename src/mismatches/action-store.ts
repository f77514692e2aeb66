/** Actions of reviewers in PostgreSQL: chooses and counts mismatches, changes them with their history, stores adjustments, and undoes steps. */

import { AMOUNT, type AnswerOf, INSTANT, objectOf, TEXT } from "../answer.ts";
import { formatInstant, type Instant } from "../clock.ts";
import { CHANGING_NOW } from "../db/change-position.ts";
import type { Query } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import type { MismatchChange, MismatchKind, MismatchStatus } from "../mismatch.ts";
import { ACTS, type ActedOn, type Adjustment, changeByUndo, type MismatchAction } from "./act.ts";
import { chosenBy, type MismatchChoice } from "./store.ts";
import { RESOLVED_BY_RECON } from "./transitions.ts";

/** The fields of a mismatch that an action needs. */
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
 * @param byReviewer only mismatches that a reviewer decided, because recon's own decisions are too many to list
 */
export async function chooseByFilter(
  sql: Query,
  choice: MismatchChoice,
  options: { readonly byReviewer: boolean; readonly locks: boolean; readonly most: number },
): Promise<ChosenMismatch[]> {
  return await sql<ChosenMismatch[]>`
    select ${chosenColumns(sql)} from mismatches
    where ${chosenBy(sql, choice)}
      ${options.byReviewer ? sql`and resolved_by <> ${RESOLVED_BY_RECON}` : sql``}
    order by id
    limit ${options.most}
    ${options.locks ? sql`for update` : sql``}`;
}

function chosenColumns(sql: Query) {
  return sql`id, kind, occurred_at as "occurredAt", status, resolved_by as "resolvedBy", product_id as "productId", username, currency,
    amount_at_risk as amount, note, bet_id as "betId", transaction_id as "transactionId", round_id as "roundId"`;
}

export interface ReviewerAction {
  readonly action: MismatchAction;
  /** null: none, which only an acknowledgement may have */
  readonly note: string | null;
  readonly by: string;
  readonly at: Instant;
  /** a UUID of the step, for undoing it; null or absent: the step cannot be undone */
  readonly step?: string | null;
}

/**
 * Writes an action on mismatches that the transaction has locked, with a line of history for each. The line keeps
 * note, name and times from before the action, so an undo can restore them.
 */
export async function writeAction(
  tx: Query,
  chosen: readonly ChosenMismatch[],
  { action, note, by, at, step = null }: ReviewerAction,
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
        resolved_at = ${ends ? at : null}, resolved_by = ${ends ? by : null}, ceased_at = null,
        changed_in = ${tx.unsafe(CHANGING_NOW)}
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
  return rows.map((row) => ({ ...row, change, at, by }));
}

/** A stored adjustment; its amount has a sign. */
export const ADJUSTMENT = objectOf({
  ref: TEXT,
  amount: AMOUNT,
  currency: TEXT,
  at: INSTANT,
  by: TEXT,
  note: TEXT,
});
type StoredAdjustment = AnswerOf<typeof ADJUSTMENT>;

/**
 * Stores an adjustment. A repetition has no effect.
 * @returns whether the adjustment is new
 * @throws ReconError `conflict` if the ref belongs to another adjustment
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

/** The mismatches that a step changed, in the order of their ids; empty: there is no such step. */
export async function readStep(sql: Query, step: string): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select mismatch_id as id from mismatch_events where step = ${step}::uuid order by mismatch_id`;
  return rows.map(({ id }) => id);
}

/** A mismatch after its step was undone. */
export interface UndoneMismatch extends Omit<MismatchChange, "change"> {
  /** the restored status */
  readonly status: MismatchStatus;
  /** null: the number of waiting mismatches did not change */
  readonly change: MismatchChange["change"] | null;
}

/**
 * Restores status, note and decider, with a line of history, if the step is the last event that changed the mismatch's status
 * and its difference has not changed since. Each event keeps what its step replaced. The transaction has locked the mismatches of the step.
 */
export async function writeUndo(
  tx: Query,
  step: string,
  { by, at }: { readonly by: string; readonly at: Instant },
): Promise<UndoneMismatch[]> {
  const rows = await tx<(Omit<UndoneMismatch, "at" | "change"> & { was: MismatchStatus })[]>`
    with undone as (
      update mismatches m set status = e.from_status, note = e.replaced->>'note',
        resolved_at = (e.replaced->>'resolvedAt')::timestamptz, resolved_by = e.replaced->>'resolvedBy',
        ceased_at = (e.replaced->>'ceasedAt')::timestamptz,
        changed_in = ${tx.unsafe(CHANGING_NOW)}
      from mismatch_events e
      where e.step = ${step}::uuid and m.id = e.mismatch_id and m.status = e.to_status
        and not exists (select from mismatch_events later where later.mismatch_id = e.mismatch_id and later.id > e.id
          and later.from_status is distinct from later.to_status)
        and (e.from_status in ('open', 'acknowledged') or (m.provider, m.ledger) is not distinct from (e.provider, e.ledger))
      returning m.*, e.to_status as was, e.note as said
    ),
    recorded as (
      insert into mismatch_events (mismatch_id, at, from_status, to_status, by, note, amount_at_risk, reason, provider, ledger)
      select id, ${at}, was, status, ${by}, 'undone by ' || ${by}::text || ': ' || said, amount_at_risk, reason, provider, ledger
      from undone order by id
    )
    select id, kind, product_id as "productId", amount_at_risk as amount, currency, occurred_at as "occurredAt", status, was
    from undone order by id`;
  return rows.map(({ was, ...row }) => ({ ...row, change: changeByUndo(was, row.status), at, by }));
}
