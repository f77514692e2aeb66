/** The ledger: callback entries, and the progress of reading the operator's own relation. */

import { sql } from "drizzle-orm";
import { bigint, boolean, date, index, integer, jsonb, numeric, pgTable, text } from "drizzle-orm/pg-core";
import { identity, instant, transactionId } from "./columns.ts";

/**
 * The ledger: every callback item that the operator answered with success. Any program may write rows. Triggers, which the migrations
 * create, mark the bets and rounds of a row, move unusable rows to `rejected_entries`, and decide whether an update or a delete counts
 * (decision 81).
 */
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
    /** the item's isSingleState and isEndRound; null: not given, or unknown to the writer */
    singleState: boolean("single_state"),
    endRound: boolean("end_round"),
    /** the transaction that wrote the entry. New entries are found by it, whichever times they have (decision 32) */
    appendedIn: transactionId("appended_in").notNull().default(sql`pg_current_xact_id()`),
  },
  (t) => [
    index("callback_entries_top_up").on(t.productId, t.appendedIn).where(sql`callback = 'adjustBalance'`),
    index("callback_entries_txn").on(t.productId, t.txnId, t.username),
    index("callback_entries_round").on(t.productId, t.username, t.roundId),
    index("callback_entries_received").on(t.receivedAt),
    index("callback_entries_occurred").on(t.occurredAt),
    // Finds the entries of a session: a range of time of one player. Partial, so other callbacks do not pay for it.
    index("callback_entries_adjusted")
      .on(t.productId, t.username, t.occurredAt)
      .where(sql`callback = 'adjustBalance'`),
    // Finds rewards and tips of sessions. Partial for the same reason.
    index("callback_entries_rewarded")
      .on(t.productId, t.username, t.occurredAt)
      .where(sql`callback in ('winRewards', 'placeTips', 'cancelTips')`),
  ],
);

/** The progress of reading the operator's relation. */
export const ledgerFollows = pgTable("ledger_follows", {
  /** `ledger.relation` */
  relation: text("relation").primaryKey(),
  /** the newest received_at that was read; null: none yet */
  readUntil: instant("read_until"),
  /** when the last complete reading began; null: none yet */
  readAt: instant("read_at"),
});

/** Hours of the relation that are read again, because a resweep fetches the records of these hours again. */
export const ledgerRereads = pgTable("ledger_rereads", {
  /** the first moment of the hour, UTC */
  day: instant("day").primaryKey(),
  askedAt: instant("asked_at").notNull(),
  /** when the present or last reading began */
  begunAt: instant("begun_at"),
  /** when the last complete reading began */
  readAt: instant("read_at"),
  /** the present reading continues after this row */
  afterReceivedAt: instant("after_received_at"),
  afterEntryId: text("after_entry_id"),
});

/**
 * The account of the accepted entries of each day on which they occurred, by UTC (decision 272). `entry_notes` has what
 * was added since. A day whose rows differ from its account has lost entries.
 */
export const entryDays = pgTable(
  "entry_days",
  {
    day: date("day").primaryKey(),
    entries: bigint("entries", { mode: "number" }).notNull(),
    /** the digests of the entries, combined by xor */
    digest: bigint("digest", { mode: "bigint" }).notNull(),
    /** when the rows were last compared with the account; null: not yet */
    comparedAt: instant("compared_at"),
    /** rows were there before the account: the next comparison accepts what it finds, unless entries are missing */
    uncounted: boolean("uncounted").notNull().default(false),
    /** when the triggers were enabled again after the day had an account; null: a comparison has confirmed the rows since */
    unwatchedAt: instant("unwatched_at"),
    /** when the difference was found that is neither repaired nor accepted by the operator; null: there is none */
    goneAt: instant("gone_at"),
    /** the account and the rows when the difference was found */
    accepted: bigint("accepted", { mode: "number" }),
    /** null: a second difference was found since, so a repair cannot be recognised */
    acceptedDigest: bigint("accepted_digest", { mode: "bigint" }),
    found: bigint("found", { mode: "number" }),
  },
  (t) => [index("entry_days_gone").on(t.day).where(sql`gone_at is not null`)],
);

/** Changes of the account of a day. Append-only and without a key, so writers never wait for each other. */
export const entryNotes = pgTable("entry_notes", {
  day: date("day").notNull(),
  added: integer("added").notNull(),
  digest: bigint("digest", { mode: "bigint" }).notNull(),
});

/** One row with the settings for the triggers of `callback_entries`. */
export const ledgerSettings = pgTable("ledger_settings", {
  id: integer("id").primaryKey(),
  /** `ledger.rowsChange`: never, replace */
  rowsChange: text("rows_change").notNull(),
});

/** The former contents of entries that were replaced or deleted. */
export const entryVersions = pgTable(
  "entry_versions",
  {
    id: identity().primaryKey(),
    entryId: text("entry_id").notNull(),
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    txnId: text("txn_id").notNull(),
    /** the columns of `callback_entries` */
    content: jsonb("content").notNull(),
    /** replaced, deleted */
    change: text("change").notNull(),
    changedAt: instant("changed_at").notNull(),
  },
  (t) => [index("entry_versions_bet").on(t.productId, t.txnId, t.username)],
);

/**
 * The beginning of the ledger that each product's last comparison used. If it moves back, older records are marked for comparison: entries
 * may be inserted in any order.
 */
export const ledgerStarts = pgTable("ledger_starts", {
  productId: text("product_id").primaryKey(),
  startsAt: instant("starts_at").notNull(),
});

/** Rejected entries with their text, each stored once. */
export const rejectedEntries = pgTable(
  "rejected_entries",
  {
    id: identity().primaryKey(),
    /**
     * md5 of entry_id, or of raw if there is none, because the text may be longer than an index entry; of a change, md5 of "changed" and raw
     */
    entryDigest: text("entry_digest").notNull().unique(),
    /**
     * unusable: the row did not become an entry; changed: the entry keeps its first content, and this change was refused
     */
    kind: text("kind").notNull().default("unusable"),
    entryId: text("entry_id"),
    productId: text("product_id"),
    username: text("username"),
    txnId: text("txn_id"),
    roundId: text("round_id"),
    raw: text("raw").notNull(),
    reason: text("reason").notNull(),
    firstSeenAt: instant("first_seen_at").notNull(),
    /** when an alert reported this row, or others of its kind on that day; null: not reported yet */
    reportedAt: instant("reported_at"),
  },
  (t) => [
    index("rejected_entries_username").using("hash", t.username),
    index("rejected_entries_unreported").on(t.id).where(sql`reported_at is null`),
  ],
);

/** Imports of entries and recorded callbacks: by whom, how many rows, and with which result. */
export const ledgerImports = pgTable(
  "ledger_imports",
  {
    id: identity().primaryKey(),
    /** when it began */
    at: instant("at").notNull(),
    /** null: it is still running, or its process was killed */
    endedAt: instant("ended_at"),
    /** the name of the token, or of the account at the terminal */
    who: text("who").notNull(),
    /** page, api, command */
    via: text("via").notNull(),
    /** entries, callbacks */
    format: text("format").notNull(),
    /** of the file; null: it had none */
    name: text("name"),
    /** null: unknown */
    bytes: bigint("bytes", { mode: "number" }),
    /** the first three count entries; null until it has ended */
    added: bigint("added", { mode: "number" }),
    known: bigint("known", { mode: "number" }),
    changed: bigint("changed", { mode: "number" }),
    /** callbacks that are not entries */
    skipped: bigint("skipped", { mode: "number" }),
    rejected: bigint("rejected", { mode: "number" }),
    /** the first rejected lines, each with its number and the reason */
    rejectedLines: jsonb("rejected_lines"),
    /** the error that ended it early; null: none */
    error: text("error"),
  },
  (t) => [index("ledger_imports_at").on(t.at)],
);
