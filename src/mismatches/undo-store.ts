/** Undoes steps of people in PostgreSQL, and only where nothing has happened since (decision 62). */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { MismatchChange, MismatchStatus } from "../mismatch.ts";
import { changeByUndo } from "./act.ts";

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
 * Restores status, note and decider, with a line of history, where the step is the mismatch's last event and its
 * difference has not changed since. The transaction has locked the step's mismatches.
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
        ceased_at = (e.replaced->>'ceasedAt')::timestamptz
      from mismatch_events e
      where e.step = ${step}::uuid and m.id = e.mismatch_id and m.status = e.to_status
        and not exists (select from mismatch_events later where later.mismatch_id = e.mismatch_id and later.id > e.id)
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
  return rows.map(({ was, ...row }) => ({ ...row, change: changeByUndo(was, row.status), at }));
}
