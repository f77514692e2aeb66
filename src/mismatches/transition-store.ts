/**
 * Writes transitions of mismatches to PostgreSQL: all transitions of one transaction at once, each with its line of
 * history.
 */

import { formatInstant, type Instant } from "../clock.ts";
import { CHANGING_NOW } from "../db/change-position.ts";
import type { Query } from "../db/client.ts";
import { noteAddedText } from "../db/row-counts.ts";
import type { MismatchChange, MismatchContent } from "../mismatch.ts";
import { formatAmount } from "../money.ts";
import { RESOLVED_BY_RECON, type Transition } from "./transitions.ts";

/**
 * The shortest time between two writes of an open mismatch with unchanged values. Without it, ten thousand open ones
 * would be written at every comparison.
 */
const SEEN_EVERY_MS = 3_600_000;

/**
 * Writes the transitions, with a line of history for each change of status: one statement opens mismatches, one
 * updates those that still hold, one ends others. Skips a change that no longer fits the status, because a reviewer
 * acted in between.
 * @returns the changes, without mismatches that still hold with the same values
 */
export async function writeTransitions(
  tx: Query,
  transitions: readonly Transition[],
  now: Instant,
): Promise<MismatchChange[]> {
  const opening = transitions.filter((one) => one.change === "open");
  const holding = transitions.filter(
    (one) => one.change !== "open" && one.change !== "resolve" && one.change !== "cease",
  );
  const ending = transitions.filter((one) => one.change === "resolve");
  const ceasing = transitions.filter((one) => one.change === "cease");
  if (ceasing.length > 0) await noteCeased(tx, ceasing, now);
  const changed = [
    ...(opening.length === 0 ? [] : await openMismatches(tx, opening, now)),
    ...(holding.length === 0 ? [] : await refreshMismatches(tx, holding, now)),
    ...(ending.length === 0 ? [] : await resolveMismatches(tx, ending, now)),
  ];
  return changed.map((one) => ({ ...one, at: now }));
}

type ChangeRow = Omit<MismatchChange, "at">;

const VALUES = [
  "currency",
  "bet_id",
  "transaction_id",
  "round_id",
  "transaction_ref",
  "amount_at_risk",
  "effect",
  "reason",
  "provider",
  "ledger",
  "occurred_at",
];
const VALUE_TYPES = `currency text, bet_id text, transaction_id text, round_id text, transaction_ref text,
  amount_at_risk numeric, effect numeric, reason text, provider jsonb, ledger jsonb, occurred_at timestamptz`;

const CHANGED = (change: string) => `id, kind, product_id as "productId", ${change} as change,
  amount_at_risk as amount, currency, occurred_at as "occurredAt"`;

const RECORD_EVENTS = (from: string, status: string) => `
  insert into mismatch_events (mismatch_id, at, from_status, to_status, by, amount_at_risk, reason, provider, ledger)
  select id, $2::timestamptz, ${status}, status, '${RESOLVED_BY_RECON}', amount_at_risk, reason, provider, ledger
  from ${from}`;

async function openMismatches(
  tx: Query,
  opening: readonly Extract<Transition, { change: "open" }>[],
  now: Instant,
): Promise<ChangeRow[]> {
  const rows = opening.map(({ content }, position) => ({
    place: position,
    product_id: content.productId,
    username: content.username,
    subject: content.subject,
    kind: content.kind,
    ...valuesOf(content),
  }));
  return await tx.unsafe<ChangeRow[]>(
    `with input as (
      select * from jsonb_to_recordset($1::text::jsonb) as t (
        place integer, product_id text, username text, subject text, kind text, ${VALUE_TYPES})
    ),
    opened as (
      insert into mismatches (product_id, username, subject, kind, status, ${VALUES.join(", ")}, first_seen_at, last_seen_at, changed_in)
      select product_id, username, subject, kind, 'open', ${VALUES.join(", ")}, $2::timestamptz, $2::timestamptz,
        ${CHANGING_NOW}
      from input order by place
      returning *
    ),
    recorded as (${RECORD_EVENTS("opened", "null")}),
    noted as (${noteAddedText("mismatches", "count(*)", "from opened having count(*) > 0")})
    select ${CHANGED("'open'")} from opened order by id`,
    [JSON.stringify(rows), now],
    { prepare: true },
  );
}

async function refreshMismatches(
  tx: Query,
  holding: readonly Extract<Transition, { change: "reopen" | "refresh" }>[],
  now: Instant,
): Promise<ChangeRow[]> {
  const rows = holding.map(({ id, change, content }) => ({
    id,
    reopens: change === "reopen",
    ...valuesOf(content),
  }));
  const values = (of: string) => `(${VALUES.map((column) => `${of}.${column}`).join(", ")})`;
  return await tx.unsafe<ChangeRow[]>(
    `with input as (
      select * from jsonb_to_recordset($1::text::jsonb) as t (id bigint, reopens boolean, ${VALUE_TYPES})
    ),
    before as (
      select m.id, m.status as from_status, ${values("i")} is distinct from ${values("m")} as differs
      from mismatches m join input i using (id)
      where i.reopens = (m.status in ('resolved', 'ignored'))
      order by m.id for update of m
    ),
    held as (
      update mismatches m set ${VALUES.map((column) => `${column} = i.${column}`).join(", ")},
        last_seen_at = $2::timestamptz,
        changed_in = case when i.reopens or b.differs then ${CHANGING_NOW} else m.changed_in end,
        status = case when i.reopens then 'open' else m.status end,
        resolved_at = case when i.reopens then null else m.resolved_at end,
        resolved_by = case when i.reopens then null else m.resolved_by end, ceased_at = null
      from input i join before b using (id)
      where m.id = i.id
        and (i.reopens or b.differs or m.last_seen_at <= $2::timestamptz - $3::integer * interval '1 millisecond')
      returning m.*, b.from_status, b.differs, i.reopens
    ),
    recorded as (${RECORD_EVENTS("held", "from_status")} where reopens)
    select ${CHANGED("case when reopens then 'reopen' else 'refresh' end")}
    from held where reopens or differs order by id`,
    [JSON.stringify(rows), now, SEEN_EVERY_MS],
    { prepare: true },
  );
}

async function resolveMismatches(
  tx: Query,
  ending: readonly { readonly id: number }[],
  now: Instant,
): Promise<ChangeRow[]> {
  return await tx.unsafe<ChangeRow[]>(
    `with before as (
      select id, status as from_status from mismatches
      where id = any($1::bigint[]) and status in ('open', 'acknowledged')
      order by id for update
    ),
    resolved as (
      update mismatches m set status = 'resolved', resolved_at = $2::timestamptz, resolved_by = '${RESOLVED_BY_RECON}',
        changed_in = ${CHANGING_NOW}
      from before b where m.id = b.id
      returning m.*, b.from_status
    ),
    recorded as (${RECORD_EVENTS("resolved", "from_status")})
    select ${CHANGED("'resolve'")} from resolved order by id`,
    [ending.map(({ id }) => id), now],
    { prepare: true },
  );
}

async function noteCeased(
  tx: Query,
  ceasing: readonly { readonly id: number }[],
  now: Instant,
): Promise<void> {
  await tx`
    update mismatches set ceased_at = ${now}, changed_in = ${tx.unsafe(CHANGING_NOW)}
    where id in (
      select id from mismatches
      where id = any(${ceasing.map(({ id }) => id)}::bigint[]) and status in ('resolved', 'ignored')
      order by id for update
    )`;
}

function valuesOf(content: MismatchContent): Record<string, unknown> {
  return {
    currency: content.currency,
    bet_id: content.betId,
    transaction_id: content.transactionId,
    round_id: content.roundId,
    transaction_ref: content.transactionRef,
    amount_at_risk: formatAmount(content.amountAtRisk),
    effect: content.effect === undefined ? null : formatAmount(content.effect),
    reason: content.reason,
    provider: content.provider,
    ledger: content.ledger,
    occurred_at: formatInstant(content.occurredAt),
  };
}
