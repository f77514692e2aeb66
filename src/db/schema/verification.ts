/** Transfers and top-ups whose outcome must become certain, with every answer. */

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { identity, instant, transactionId } from "./columns.ts";

const verifyColumns = {
  id: identity(),
  productId: text("product_id").notNull(),
  username: text("username").notNull(),
  currency: text("currency").notNull(),
  type: text("type").notNull(),
  amount: numeric("amount").notNull(),
  status: text("status").notNull().default("pending"),
  sentAt: instant("sent_at").notNull(),
  handedAt: instant("handed_at").notNull(),
  /** asks that had an answer, or none in time */
  attempts: integer("attempts").notNull().default(0),
  /** null: it is not asked any more */
  nextVerifyAt: instant("next_verify_at"),
  decidedAt: instant("decided_at"),
  /** since when every answer that said something said that it failed */
  failedSince: instant("failed_since"),
  rejectedAt: instant("rejected_at"),
  /** what its answers have led to; the mismatch itself has a life of its own */
  mismatchKind: text("mismatch_kind"),
  /** the person who closed an inconclusive one, and why */
  closedBy: text("closed_by"),
  note: text("note"),
  leaseToken: uuid("lease_token"),
  leaseUntil: instant("lease_until"),
};

/** Deposits and withdrawals that were handed over because their outcome must become certain (DEPOSIT, WITHDRAW). */
export const transfers = pgTable(
  "transfers",
  { transactionRef: text("transaction_ref").primaryKey(), ...verifyColumns },
  (t) => [
    uniqueIndex("transfers_id").on(t.id),
    index("transfers_due").on(t.nextVerifyAt).where(sql`next_verify_at is not null`),
    index("transfers_due_of").on(t.productId, t.nextVerifyAt).where(sql`next_verify_at is not null`),
    index("transfers_status").on(t.status, t.id),
    index("transfers_player").on(t.username, t.id),
  ],
);

/** Top-ups that the ledger knows from adjustBalance entries (DEBIT, CREDIT); their ref is the provider's refId. */
export const topUps = pgTable(
  "top_ups",
  { transactionRef: text("transaction_ref").notNull(), ...verifyColumns },
  (t) => [
    primaryKey({ columns: [t.transactionRef, t.productId, t.username] }),
    uniqueIndex("top_ups_id").on(t.id),
    index("top_ups_due").on(t.nextVerifyAt).where(sql`next_verify_at is not null`),
    index("top_ups_due_of").on(t.productId, t.nextVerifyAt).where(sql`next_verify_at is not null`),
    index("top_ups_status").on(t.status, t.id),
    index("top_ups_player").on(t.username, t.id),
  ],
);

const answerColumns = {
  ofId: bigint("of_id", { mode: "number" }).notNull(),
  /** which ask it was, from 1 on */
  attempt: integer("attempt").notNull(),
  askedAt: instant("asked_at").notNull(),
  tookMs: integer("took_ms").notNull(),
  /** booked, failed, nothing */
  says: text("says").notNull(),
  /** the answer's own code, or that of the error there was instead of one */
  code: text("code"),
  message: text("message"),
  /** the answer's text, cut where it is long; null: there was none */
  raw: text("raw"),
  /** the status after it */
  status: text("status").notNull(),
  /** it changed the status or the mismatch: such an answer is never dropped */
  isDecisive: boolean("is_decisive").notNull(),
  nextVerifyAt: instant("next_verify_at"),
};

/** What came back each time a transfer was asked for, and what was decided: the evidence. */
export const transferAnswers = pgTable("transfer_answers", answerColumns, (t) => [
  primaryKey({ columns: [t.ofId, t.attempt] }),
]);

/** The same of top-ups. */
export const topUpAnswers = pgTable("top_up_answers", answerColumns, (t) => [
  primaryKey({ columns: [t.ofId, t.attempt] }),
]);

/** Up to which database transaction the top-ups of a product have been picked up from the ledger. */
export const topUpStates = pgTable("top_up_states", {
  productId: text("product_id").primaryKey(),
  pickedUntil: transactionId("picked_until").notNull(),
});
