/** Differences of the two sides: marks for the comparison, mismatches, and what operators decided. */

import { sql } from "drizzle-orm";
import { bigint, index, jsonb, numeric, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { caseColumns, changedIn, identity, instant } from "./columns.ts";

/**
 * Marks: rounds, or bets without a round, that must be compared. Each write that touches some adds one row. Append-only, so writers never wait
 * for each other, nor for a comparison; a duplicate costs one more comparison. A comparison deletes the marks that it takes.
 */
export const diffMarks = pgTable(
  "diff_marks",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    /** the three arrays have one element for each mark */
    usernames: text("usernames").array().notNull(),
    roundIds: text("round_ids").array().notNull(),
    /** the txn id, betId or record id that was touched; null: any bet of the round may have changed */
    betRefs: text("bet_refs").array().notNull(),
    dueAt: instant("due_at").notNull(),
  },
  (t) => [index("diff_marks_due").on(t.productId, t.dueAt)],
);

/**
 * Rounds, bets and sessions that cannot be compared, because they are too large, take too long, or have unusable
 * data. The first comparison that succeeds deletes the row.
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
    /** one sentence for the operator: what could not be compared, why, and what to do */
    reason: text("reason").notNull(),
    /** since when it has not been compared */
    since: instant("since").notNull(),
    /** the time of the next attempt */
    retryAt: instant("retry_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.username, t.subject] })],
);

/**
 * Large rounds: rounds with more bets than a comparison loads. All their bets reconcile by themselves, except for those that are named here
 * and those that a mark names.
 */
export const wideRounds = pgTable(
  "wide_rounds",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    roundId: text("round_id").notNull(),
    /**
     * the currency of the bets that reconcile by themselves; null: an entry acts on the whole round, so the round is compared whole
     */
    currency: text("currency"),
    /** ids of the bets that do not reconcile by themselves */
    apart: text("apart").array().notNull(),
    /**
     * of the bets that reconcile: when their first and last entry occurred, and when the latest was received; null: no bet does
     */
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
    /** "bet:…" or "round:…"; the identity of a mismatch together with product, player and kind */
    subject: text("subject").notNull(),
    kind: text("kind").notNull(),
    status: text("status").notNull(),
    currency: text("currency"),
    betId: text("bet_id"),
    transactionId: text("transaction_id"),
    roundId: text("round_id"),
    transactionRef: text("transaction_ref"),
    amountAtRisk: numeric("amount_at_risk").notNull(),
    /** signed, without corrections made by hand; null: it follows from the sides, or is not known */
    effect: numeric("effect"),
    reason: text("reason").notNull(),
    provider: jsonb("provider"),
    ledger: jsonb("ledger"),
    occurredAt: instant("occurred_at").notNull(),
    firstSeenAt: instant("first_seen_at").notNull(),
    lastSeenAt: instant("last_seen_at").notNull(),
    resolvedAt: instant("resolved_at"),
    resolvedBy: text("resolved_by"),
    note: text("note"),
    /**
     * of a mismatch that an operator has decided: since when the difference no longer holds. If it comes back, it is reported (decision 44)
     */
    ceasedAt: instant("ceased_at"),
    ...caseColumns(),
    changedIn: changedIn(),
  },
  (t) => [
    unique("mismatches_identity").on(t.productId, t.username, t.subject, t.kind),
    index("mismatches_status").on(t.status, t.id),
    /** includes the currency, so sums of money need only the index */
    index("mismatches_amount").on(t.status, t.amountAtRisk, t.id, t.currency),
    index("mismatches_first_seen").on(t.status, t.firstSeenAt, t.id),
    index("mismatches_occurred").on(t.status, t.occurredAt, t.id),
    // The condition of `MISMATCHES_TO_CHECK` in diff/agreement-store.ts: PostgreSQL uses the index only if the two are equal.
    index("mismatches_unsettled")
      .on(t.productId)
      .where(sql`status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon')`),
    index("mismatches_misnamed")
      .on(t.productId, sql`(provider ->> 'username')`)
      .where(sql`kind = 'username-differs'`),
    index("mismatches_player").on(t.username, t.id),
    index("mismatches_last_seen").on(t.lastSeenAt),
    // For trends, which count the mismatches that were resolved in a range of time.
    index("mismatches_over").on(t.resolvedAt).where(sql`resolved_at is not null`),
    index("mismatches_changed").on(t.changedIn, t.id),
    index("mismatches_counted").on(t.status, t.productId, t.kind),
    index("mismatches_owner").on(t.owner, t.id).where(sql`owner is not null`),
    index("mismatches_remind").on(t.status, t.remindAt, t.id).where(sql`remind_at is not null`),
    index("mismatches_to_remind")
      .on(t.remindAt)
      .where(sql`remind_at is not null and reminded_at is null and status in ('open', 'acknowledged')`),
  ],
);

/**
 * Each change of a mismatch's status, with the values of that moment; and each change of its owner, ticket or reminder, whose two
 * statuses are the same.
 */
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
    /** the id of an operator's step, which can be undone; one step may change many mismatches */
    step: uuid("step"),
    /** the values that the step replaced: note, resolvedAt, resolvedBy, ceasedAt */
    replaced: jsonb("replaced"),
  },
  (t) => [
    index("mismatch_events_of").on(t.mismatchId, t.id),
    index("mismatch_events_step").on(t.step).where(sql`step is not null`),
  ],
);

/** Corrections that operators made by hand for a mismatch; the day's report adds them up. */
export const adjustments = pgTable(
  "adjustments",
  {
    id: identity().primaryKey(),
    mismatchId: bigint("mismatch_id", { mode: "number" }).notNull(),
    /** the operator's own reference; a reference cannot count twice */
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

/** Comments of operators on a mismatch or an incident. Rows are only added, and deleted together with their subject. */
export const comments = pgTable(
  "comments",
  {
    id: identity().primaryKey(),
    /** mismatch, incident */
    about: text("about").notNull(),
    /** the id of that mismatch or incident */
    aboutId: bigint("about_id", { mode: "number" }).notNull(),
    at: instant("at").notNull(),
    by: text("by").notNull(),
    note: text("note").notNull(),
  },
  (t) => [index("comments_of").on(t.about, t.aboutId, t.id)],
);
