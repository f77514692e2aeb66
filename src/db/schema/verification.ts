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
  /** how often the provider was asked so far, with or without a response */
  attempts: integer("attempts").notNull().default(0),
  /** null: the provider is not asked again */
  nextVerifyAt: instant("next_verify_at"),
  decidedAt: instant("decided_at"),
  /** the time of the first of the latest consecutive answers "failed" */
  failedSince: instant("failed_since"),
  rejectedAt: instant("rejected_at"),
  /** the kind of the mismatch that the answers caused */
  mismatchKind: text("mismatch_kind"),
  /** the operator who closed an inconclusive row, and why */
  closedBy: text("closed_by"),
  note: text("note"),
  leaseToken: uuid("lease_token"),
  leaseUntil: instant("lease_until"),
};

/** Deposits and withdrawals whose outcome must become certain (DEPOSIT, WITHDRAW), as the operator handed them over. */
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

/**
 * Top-ups that the ledger knows from adjustBalance entries (DEBIT, CREDIT); transaction_ref is the provider's refId.
 */
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
  /** the number of the question, from 1 on */
  attempt: integer("attempt").notNull(),
  askedAt: instant("asked_at").notNull(),
  tookMs: integer("took_ms").notNull(),
  /** booked, failed, nothing */
  says: text("says").notNull(),
  /** the code of the answer, or of the error without an answer */
  code: text("code"),
  message: text("message"),
  /** the text of the answer, cut if it is long; null: there was none */
  raw: text("raw"),
  /** the status after the answer */
  status: text("status").notNull(),
  /** the answer changed the status or the mismatch; such an answer is never deleted */
  isDecisive: boolean("is_decisive").notNull(),
  nextVerifyAt: instant("next_verify_at"),
};

/** Every answer about a transfer, with the decision that followed. This is the evidence. */
export const transferAnswers = pgTable("transfer_answers", answerColumns, (t) => [
  primaryKey({ columns: [t.ofId, t.attempt] }),
]);

/** Every answer about a top-up. */
export const topUpAnswers = pgTable("top_up_answers", answerColumns, (t) => [
  primaryKey({ columns: [t.ofId, t.attempt] }),
]);

/** The database transaction up to which a product's top-ups were found in the ledger (decision 32). */
export const topUpStates = pgTable("top_up_states", {
  productId: text("product_id").primaryKey(),
  pickedUntil: transactionId("picked_until").notNull(),
});
