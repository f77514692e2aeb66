/** What the operator has heard: callback entries, and how far a relation of its own has been read. */

import { sql } from "drizzle-orm";
import { boolean, index, numeric, pgTable, text } from "drizzle-orm/pg-core";
import { identity, instant, transactionId } from "./columns.ts";

/** The ledger: every callback item the operator answered with success, append-only. */
export const callbackEntries = pgTable(
  "callback_entries",
  {
    entryId: text("entry_id").primaryKey(),
    callback: text("callback").notNull(),
    requestId: text("request_id").notNull(),
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    currency: text("currency").notNull(),
    txnId: text("txn_id").notNull(),
    roundId: text("round_id"),
    status: text("status").notNull(),
    betAmount: numeric("bet_amount"),
    payoutAmount: numeric("payout_amount"),
    transactionType: text("transaction_type"),
    skipBalanceUpdate: boolean("skip_balance_update").notNull(),
    moved: numeric("moved"),
    balanceBefore: numeric("balance_before"),
    balanceAfter: numeric("balance_after"),
    occurredAt: instant("occurred_at").notNull(),
    receivedAt: instant("received_at").notNull(),
    /** which transaction wrote it, so that what is new is found whatever its times say */
    appendedIn: transactionId("appended_in").notNull().default(sql`pg_current_xact_id()`),
  },
  (t) => [
    index("callback_entries_top_up").on(t.productId, t.appendedIn).where(sql`callback = 'adjustBalance'`),
    index("callback_entries_txn").on(t.productId, t.txnId, t.username),
    index("callback_entries_round").on(t.productId, t.username, t.roundId),
    index("callback_entries_received").on(t.receivedAt),
    index("callback_entries_occurred").on(t.occurredAt),
    // A session is a stretch of time of a player; other entries need not pay for it.
    index("callback_entries_adjusted")
      .on(t.productId, t.username, t.occurredAt)
      .where(sql`callback = 'adjustBalance'`),
  ],
);

/** How far a relation of the operator's own has been read. */
export const ledgerFollows = pgTable("ledger_follows", {
  /** `ledger.relation` */
  relation: text("relation").primaryKey(),
  /** the newest received_at seen; null: none yet */
  readUntil: instant("read_until"),
  /** when the last reading that reached its end began; null: none did yet */
  readAt: instant("read_at"),
});

/** Days whose entries are read again, because a resweep fetches them again. */
export const ledgerRereads = pgTable("ledger_rereads", {
  /** its first moment, UTC */
  day: instant("day").primaryKey(),
  askedAt: instant("asked_at").notNull(),
  /** of the reading under way, or of the last one */
  begunAt: instant("begun_at"),
  /** when the last reading that reached its end began */
  readAt: instant("read_at"),
  /** the reading under way goes on behind this row */
  afterReceivedAt: instant("after_received_at"),
  afterEntryId: text("after_entry_id"),
});

/** Rows of the operator's relation that cannot be used, with their text, each once however often it is read. */
export const rejectedEntries = pgTable(
  "rejected_entries",
  {
    id: identity().primaryKey(),
    /** md5 of entry_id, or of raw where there is none, so that the text may be longer than an index entry */
    entryDigest: text("entry_digest").notNull().unique(),
    entryId: text("entry_id"),
    productId: text("product_id"),
    username: text("username"),
    txnId: text("txn_id"),
    roundId: text("round_id"),
    raw: text("raw").notNull(),
    reason: text("reason").notNull(),
    firstSeenAt: instant("first_seen_at").notNull(),
  },
  (t) => [index("rejected_entries_username").using("hash", t.username)],
);
