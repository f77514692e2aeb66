/** Differences of the two sides: marks for the comparison, mismatches, and the decisions of people. */

import { sql } from "drizzle-orm";
import { bigint, index, jsonb, numeric, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

/**
 * Marks: rounds, or bets without one, that must be compared; one row for each write that touched them.
 * Append-only, so that writers never wait for each other; a comparison removes the marks that it takes.
 */
export const diffMarks = pgTable(
  "diff_marks",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    /** the three arrays belong together place by place */
    usernames: text("usernames").array().notNull(),
    roundIds: text("round_ids").array().notNull(),
    /** the txn id, betId or record id of what was touched; null: anything of the round may have been */
    betRefs: text("bet_refs").array().notNull(),
    dueAt: instant("due_at").notNull(),
  },
  (t) => [index("diff_marks_due").on(t.productId, t.dueAt)],
);

/**
 * What cannot be compared, while everything else is: too much that belongs together, or data that nothing can be made
 * of. A row goes away with the first comparison that succeeds.
 */
export const comparisonsSetAside = pgTable(
  "comparisons_set_aside",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    /** "round:…", "bet:…", or "sessions": all of the player's sessions that were touched together */
    subject: text("subject").notNull(),
    /** round-too-wide, session-too-long; too-slow: the database takes too long; unusable: the data cannot be read */
    code: text("code").notNull(),
    /** one sentence for people: what could not be compared, why, and what to do */
    reason: text("reason").notNull(),
    /** since when it has not been compared */
    since: instant("since").notNull(),
    /** when it is tried again */
    retryAt: instant("retry_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.username, t.subject] })],
);

/**
 * Rounds with more bets than are loaded for a comparison. All bets of such a round agree by themselves, but for those
 * that are named here; what arrives is named by its mark.
 */
export const wideRounds = pgTable(
  "wide_rounds",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    roundId: text("round_id").notNull(),
    /** of the bets that agree by themselves; null: an entry acts on the round as a whole, which is compared as one */
    currency: text("currency"),
    /** ids of the bets that do not agree by themselves */
    apart: text("apart").array().notNull(),
    /** of the bets that agree: their first and last entry, and the last one to come; null: there are none */
    firstEntryAt: instant("first_entry_at"),
    lastEntryAt: instant("last_entry_at"),
    lastReceivedAt: instant("last_received_at"),
  },
  (t) => [primaryKey({ columns: [t.productId, t.username, t.roundId] })],
);

export const mismatches = pgTable(
  "mismatches",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    /** "bet:…" or "round:…": with product, player and kind the identity */
    subject: text("subject").notNull(),
    kind: text("kind").notNull(),
    status: text("status").notNull(),
    currency: text("currency"),
    betId: text("bet_id"),
    transactionId: text("transaction_id"),
    roundId: text("round_id"),
    transactionRef: text("transaction_ref"),
    amountAtRisk: numeric("amount_at_risk").notNull(),
    reason: text("reason").notNull(),
    provider: jsonb("provider"),
    ledger: jsonb("ledger"),
    occurredAt: instant("occurred_at").notNull(),
    firstSeenAt: instant("first_seen_at").notNull(),
    lastSeenAt: instant("last_seen_at").notNull(),
    resolvedAt: instant("resolved_at"),
    resolvedBy: text("resolved_by"),
    note: text("note"),
    /** a person has decided it, and since then it no longer held: when it holds again, it is news */
    ceasedAt: instant("ceased_at"),
  },
  (t) => [
    unique("mismatches_identity").on(t.productId, t.username, t.subject, t.kind),
    index("mismatches_status").on(t.status, t.id),
    /** the currency stands behind, so that money is added up from the index alone */
    index("mismatches_amount").on(t.status, t.amountAtRisk, t.id, t.currency),
    index("mismatches_first_seen").on(t.status, t.firstSeenAt, t.id),
    index("mismatches_occurred").on(t.status, t.occurredAt, t.id),
    // What screen-store.ts calls unsettled, word for word.
    index("mismatches_unsettled")
      .on(t.productId)
      .where(sql`status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon')`),
    index("mismatches_misnamed")
      .on(t.productId, sql`(provider ->> 'username')`)
      .where(sql`kind = 'username-differs'`),
    index("mismatches_last_seen").on(t.lastSeenAt),
    index("mismatches_counted").on(t.status, t.productId, t.kind),
  ],
);

/** Each change of a mismatch's status, with the values of that moment. */
export const mismatchEvents = pgTable(
  "mismatch_events",
  {
    id: identity().primaryKey(),
    mismatchId: bigint("mismatch_id", { mode: "number" })
      .notNull()
      .references(() => mismatches.id),
    at: instant("at").notNull(),
    fromStatus: text("from_status"),
    toStatus: text("to_status").notNull(),
    by: text("by").notNull(),
    note: text("note"),
    amountAtRisk: numeric("amount_at_risk").notNull(),
    reason: text("reason").notNull(),
    provider: jsonb("provider"),
    ledger: jsonb("ledger"),
    /** of a person's step that can be taken back: what was done at once */
    step: uuid("step"),
    /** what that step replaced: note, resolvedAt, resolvedBy, ceasedAt */
    replaced: jsonb("replaced"),
  },
  (t) => [
    index("mismatch_events_of").on(t.mismatchId, t.id),
    index("mismatch_events_step").on(t.step).where(sql`step is not null`),
  ],
);

/** Corrections that people made by hand for a mismatch; the day's report adds them up. */
export const adjustments = pgTable(
  "adjustments",
  {
    id: identity().primaryKey(),
    mismatchId: bigint("mismatch_id", { mode: "number" }).notNull(),
    /** the person's own reference: the same one cannot count twice */
    ref: text("ref").notNull().unique(),
    /** signed: positive was given to the player */
    amount: numeric("amount").notNull(),
    currency: text("currency").notNull(),
    at: instant("at").notNull(),
    by: text("by").notNull(),
    note: text("note").notNull(),
  },
  (t) => [index("adjustments_of").on(t.mismatchId), index("adjustments_at").on(t.at)],
);
