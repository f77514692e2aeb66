/** Every table. drizzle-kit makes the migrations from this file: `npm run db:generate`. */

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uuid,
} from "drizzle-orm/pg-core";

const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 6 });
const identity = () => bigint("id", { mode: "number" }).generatedAlwaysAsIdentity();

/** Where pulling has got to, and how long a window the provider can answer. */
export const pullStates = pgTable("pull_states", {
  productId: text("product_id").primaryKey(),
  /** where live pulling began */
  begin: instant("begin").notNull(),
  /** live pulling has got this far; gaps may lie before it */
  head: instant("head").notNull(),
  windowMs: integer("window_ms").notNull(),
  /** a window of this length timed out lately; null: none did */
  ceilingMs: integer("ceiling_ms"),
  /** the credentials were refused: nothing is asked before then */
  stoppedUntil: instant("stopped_until"),
  /** so many comfortable answers are needed before the ceiling is tried again */
  holdFor: integer("hold_for").notNull().default(1),
  /** quick answers in a row since the length last changed */
  quickAnswers: integer("quick_answers").notNull().default(0),
  /** what the last answer took, per hour of its window; null: nothing was answered since the last time-out */
  msPerHour: doublePrecision("ms_per_hour"),
});

/** How far the resweeps of an age have got, per product. */
export const resweepStates = pgTable(
  "resweep_states",
  {
    productId: text("product_id").notNull(),
    ageMs: bigint("age_ms", { mode: "number" }).notNull(),
    sweptUntil: instant("swept_until").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.ageMs] })],
);

/** Ranges that somebody asked to be fetched again; the windows that do it name their backfill. */
export const backfills = pgTable("backfills", {
  id: identity().primaryKey(),
  productId: text("product_id").notNull(),
  fromAt: instant("from_at").notNull(),
  toAt: instant("to_at").notNull(),
  /** queued, running, paused, done, cancelled, failed */
  status: text("status").notNull(),
  requestedAt: instant("requested_at").notNull(),
  startedAt: instant("started_at"),
  endedAt: instant("ended_at"),
});

/** Every window ever planned: the plan, the work in progress and the coverage in one. */
export const windows = pgTable(
  "windows",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    /** live, confirm, resweep, backfill */
    kind: text("kind").notNull(),
    fromAt: instant("from_at").notNull(),
    toAt: instant("to_at").notNull(),
    /** planned, done, split (its parts took over), gap (given up for now), cancelled */
    status: text("status").notNull().default("planned"),
    /** the provider's nextId to go on with; null: from the first page */
    cursor: text("cursor"),
    cursorAt: instant("cursor_at"),
    /** of the first page of the present pass */
    startedAt: instant("started_at"),
    /** of the last page */
    fetchedAt: instant("fetched_at"),
    attempts: integer("attempts").notNull().default(0),
    nextAttemptAt: instant("next_attempt_at"),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    leaseToken: uuid("lease_token"),
    leaseUntil: instant("lease_until"),
    pages: integer("pages").notNull().default(0),
    records: integer("records").notNull().default(0),
    created: integer("created").notNull().default(0),
    changed: integer("changed").notNull().default(0),
    unchanged: integer("unchanged").notNull().default(0),
    rejected: integer("rejected").notNull().default(0),
    /** records dated outside the window: kept, and counted here */
    outOfRange: integer("out_of_range").notNull().default(0),
    /** the backfill that asked for it; null for every other kind */
    backfillId: bigint("backfill_id", { mode: "number" }).references(() => backfills.id),
  },
  (t) => [
    index("windows_unfinished").on(t.productId, t.kind, t.fromAt).where(sql`status in ('planned', 'gap')`),
    index("windows_backfill").on(t.backfillId).where(sql`backfill_id is not null`),
    index("windows_coverage").on(t.productId, t.toAt).where(sql`status = 'done'`),
    check("windows_range", sql`from_at < to_at`),
  ],
);

const recordColumns = {
  productId: text("product_id").notNull(),
  username: text("username").notNull(),
  betId: text("bet_id").notNull(),
  id: text("id").notNull(),
  roundId: text("round_id").notNull(),
  currency: text("currency").notNull(),
  stake: numeric("stake").notNull(),
  payout: numeric("payout").notNull(),
  gameCode: text("game_code").notNull(),
  gameName: text("game_name").notNull(),
  betStatus: text("bet_status").notNull(),
  payoutStatus: text("payout_status").notNull(),
  accountingDate: instant("accounting_date").notNull(),
  updatedDate: instant("updated_date").notNull(),
  /** fields the interface does not name */
  extra: jsonb("extra"),
  /** when this version was first seen */
  versionSeenAt: instant("version_seen_at").notNull(),
  /** when the request that brought this version was sent */
  requestedAt: instant("requested_at").notNull(),
};

/** Our copy of the provider's bet records, newest version of each. */
export const betRecords = pgTable("bet_records", recordColumns, (t) => [
  primaryKey({ columns: [t.productId, t.username, t.betId, t.id] }),
  index("bet_records_round").on(t.productId, t.username, t.roundId),
  index("bet_records_id").on(t.productId, t.id),
]);

/** Versions that a newer one replaced. */
export const betRecordVersions = pgTable(
  "bet_record_versions",
  { ...recordColumns, replacedAt: instant("replaced_at").notNull() },
  (t) => [index("bet_record_versions_key").on(t.productId, t.username, t.betId, t.id)],
);

/** Records that cannot be used, with their text, each once however often it is fetched. */
export const rejectedRecords = pgTable(
  "rejected_records",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    raw: text("raw").notNull(),
    /** md5 of raw, so that the text may be longer than an index entry */
    rawDigest: text("raw_digest").notNull(),
    reason: text("reason").notNull(),
    firstSeenAt: instant("first_seen_at").notNull(),
  },
  (t) => [unique("rejected_records_once").on(t.productId, t.rawDigest)],
);

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
  },
  (t) => [
    index("callback_entries_txn").on(t.productId, t.username, t.txnId),
    index("callback_entries_round").on(t.productId, t.username, t.roundId),
    index("callback_entries_received").on(t.receivedAt),
    index("callback_entries_occurred").on(t.occurredAt),
  ],
);

/**
 * What to look at: rounds, or bets without one, that something touched, a row for each write that touched them.
 * Append-only, so that writers never wait for each other; a look removes the marks it has seen.
 */
export const diffMarks = pgTable(
  "diff_marks",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    /** the three arrays belong together place by place */
    usernames: text("usernames").array().notNull(),
    roundIds: text("round_ids").array().notNull(),
    /** a txn id, betId or record id; null where the round says enough */
    betRefs: text("bet_refs").array().notNull(),
    dueAt: instant("due_at").notNull(),
  },
  (t) => [index("diff_marks_due").on(t.productId, t.dueAt)],
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
  },
  (t) => [
    unique("mismatches_identity").on(t.productId, t.username, t.subject, t.kind),
    index("mismatches_status").on(t.status, t.id),
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
  },
  (t) => [index("mismatch_events_of").on(t.mismatchId, t.id)],
);

/** Deposits and withdrawals whose outcome must become certain. */
export const transfers = pgTable(
  "transfers",
  {
    transactionRef: text("transaction_ref").primaryKey(),
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    currency: text("currency").notNull(),
    type: text("type").notNull(),
    amount: numeric("amount").notNull(),
    status: text("status").notNull(),
    sentAt: instant("sent_at").notNull(),
  },
  (t) => [index("transfers_status").on(t.status)],
);

/** Alerts on their way out: written with what they tell of, delivered at least once. */
export const alerts = pgTable("alerts", {
  id: identity().primaryKey(),
  idempotencyKey: text("idempotency_key").notNull().unique(),
  kind: text("kind").notNull(),
  productId: text("product_id"),
  body: jsonb("body").notNull(),
  createdAt: instant("created_at").notNull(),
  deliveredAt: instant("delivered_at"),
});

/** One row: when the provider may be asked next, for all processes together. */
export const requestBudget = pgTable("request_budget", {
  id: integer("id").primaryKey(),
  /** a 429 asked for silence until then */
  pausedUntil: instant("paused_until").notNull(),
  /** the minimal interval between two requests ends then */
  nextAt: instant("next_at").notNull(),
});

/** A row per request under way; one whose time is over died with its holder. */
export const requestSlots = pgTable("request_slots", {
  slot: integer("slot").primaryKey(),
  holder: uuid("holder").notNull(),
  heldUntil: instant("held_until").notNull(),
});

/** Who asks for a place and has none yet; the less urgent let the more urgent pass. */
export const requestWaiters = pgTable("request_waiters", {
  waiter: uuid("waiter").primaryKey(),
  urgency: integer("urgency").notNull(),
  seenAt: instant("seen_at").notNull(),
});
