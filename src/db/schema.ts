/** Every table. drizzle-kit makes the migrations from this file: `npm run db:generate`. */

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  customType,
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
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";

const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 6 });
const transactionId = customType<{ data: string }>({ dataType: () => "xid8" });
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
  // The betId comes first, so that a bet is also found where its player is not known.
  primaryKey({ columns: [t.productId, t.betId, t.username, t.id] }),
  index("bet_records_round").on(t.productId, t.username, t.roundId),
  index("bet_records_id").on(t.productId, t.id),
  index("bet_records_accounted").on(t.productId, t.accountingDate),
]);

/** Versions that a newer one replaced. */
export const betRecordVersions = pgTable(
  "bet_record_versions",
  { ...recordColumns, replacedAt: instant("replaced_at").notNull() },
  (t) => [
    index("bet_record_versions_key").on(t.productId, t.username, t.betId, t.id),
    index("bet_record_versions_replaced").on(t.replacedAt),
  ],
);

/** Records that a complete pass over their accountingDate did not return, and nothing has returned since. */
export const recordAbsences = pgTable(
  "record_absences",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    betId: text("bet_id").notNull(),
    id: text("id").notNull(),
    /** when that pass began */
    missedSince: instant("missed_since").notNull(),
    /** another window returns it: the provider does not list it by its accountingDate */
    elsewhere: boolean("elsewhere").notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.productId, t.username, t.betId, t.id] })],
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
  (t) => [
    unique("rejected_records_once").on(t.productId, t.rawDigest),
    // Of the player that it names, as JSON writes it; any length will do for a hash.
    index("rejected_records_player").using(
      "hash",
      sql.raw(String.raw`(substring("raw" from '"username"\s*:\s*"((?:[^"\\]|\\.)*)"'))`),
    ),
  ],
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
    /** which transaction wrote it, so that what is new is found whatever its times say */
    appendedIn: transactionId("appended_in").notNull().default(sql`pg_current_xact_id()`),
  },
  (t) => [
    index("callback_entries_top_up").on(t.productId, t.appendedIn).where(sql`callback = 'adjustBalance'`),
    index("callback_entries_txn").on(t.productId, t.txnId, t.username),
    index("callback_entries_round").on(t.productId, t.username, t.roundId),
    index("callback_entries_received").on(t.receivedAt),
    index("callback_entries_occurred").on(t.occurredAt),
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

/** Mismatches of one product and kind that belong together in time: what is alerted once. */
export const incidents = pgTable(
  "incidents",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    kind: text("kind").notNull(),
    /** the backfill that brought its mismatches; 0: none did */
    backfillId: bigint("backfill_id", { mode: "number" }).notNull(),
    /** counts the incidents of one product, kind and backfill: two transactions cannot begin the same one */
    number: integer("number").notNull(),
    beganAt: instant("began_at").notNull(),
    /** when the last of its mismatches was first seen */
    lastAt: instant("last_at").notNull(),
    /** how many mismatches it has had */
    total: integer("total").notNull(),
    /** how many of them are open or acknowledged */
    open: integer("open").notNull(),
    /** how many it had when the last alert told of it; 0: none did */
    alertedTotal: integer("alerted_total").notNull(),
    endedAt: instant("ended_at"),
  },
  (t) => [unique("incidents_once").on(t.productId, t.kind, t.backfillId, t.number)],
);

/** The incident that a mismatch belongs to, the last one where it has had several. */
export const incidentMembers = pgTable(
  "incident_members",
  {
    mismatchId: bigint("mismatch_id", { mode: "number" }).primaryKey(),
    incidentId: bigint("incident_id", { mode: "number" }).notNull(),
  },
  (t) => [index("incident_members_of").on(t.incidentId)],
);

/** Alerts on their way out: written with what they tell of, delivered at least once. */
export const alerts = pgTable(
  "alerts",
  {
    id: identity().primaryKey(),
    idempotencyKey: text("idempotency_key").notNull().unique(),
    kind: text("kind").notNull(),
    productId: text("product_id"),
    body: jsonb("body").notNull(),
    createdAt: instant("created_at").notNull(),
    /** when the last of the channels that are set had it */
    deliveredAt: instant("delivered_at"),
  },
  (t) => [index("alerts_undelivered").on(t.id).where(sql`delivered_at is null`)],
);

/** How a channel is: one that does not take alerts is left alone for a while, and loses none. */
export const alertChannels = pgTable("alert_channels", {
  /** webhook, slack */
  channel: text("channel").primaryKey(),
  /** vain ones in a row */
  attempts: integer("attempts").notNull().default(0),
  nextAttemptAt: instant("next_attempt_at"),
  failingSince: instant("failing_since"),
  lastError: text("last_error"),
  leaseToken: uuid("lease_token"),
  leaseUntil: instant("lease_until"),
});

/** What became of an alert in a channel; none: it was not sent there yet. */
export const alertDeliveries = pgTable(
  "alert_deliveries",
  {
    alertId: bigint("alert_id", { mode: "number" }).notNull(),
    channel: text("channel").notNull(),
    attempts: integer("attempts").notNull(),
    deliveredAt: instant("delivered_at"),
    /** the channel takes others but not this one: it is not sent before then; null: it waits for its channel only */
    nextAttemptAt: instant("next_attempt_at"),
    lastError: text("last_error"),
  },
  (t) => [primaryKey({ columns: [t.alertId, t.channel] })],
);

/** What is wrong as a whole at this moment, and was told: it is told once when it begins, and once when it is over. */
export const alertConditions = pgTable(
  "alert_conditions",
  {
    kind: text("kind").notNull(),
    /** what it is about: a product, a channel */
    subject: text("subject").notNull(),
    productId: text("product_id"),
    since: instant("since").notNull(),
    /** what is told when it is over */
    whatWhenOver: text("what_when_over").notNull(),
    /** where its products had got to when it began */
    heads: jsonb("heads").notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.subject] })],
);

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

/** What each player has of each currency, where the built-in wallet keeps it. */
export const wallets = pgTable(
  "wallets",
  {
    username: text("username").notNull(),
    currency: text("currency").notNull(),
    balance: numeric("balance").notNull(),
    createdAt: instant("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.username, t.currency] })],
);

/** Money that people gave to a player, or took back, by hand. */
export const walletCredits = pgTable("wallet_credits", {
  /** the person's own reference: the same one cannot count twice */
  ref: text("ref").primaryKey(),
  username: text("username").notNull(),
  currency: text("currency").notNull(),
  /** signed: positive was given to the player */
  amount: numeric("amount").notNull(),
  at: instant("at").notNull(),
});

/** How each bet stands for the built-in wallet: what the next callback for it is judged by. */
export const walletBets = pgTable(
  "wallet_bets",
  {
    /** in the order in which bets began */
    id: identity(),
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    txnId: text("txn_id").notNull(),
    currency: text("currency").notNull(),
    /** null: its callbacks named no real one */
    roundId: text("round_id"),
    /** open, settled, void */
    status: text("status").notNull(),
    stake: numeric("stake").notNull(),
    /** of the stake, what was taken from the player and not given back */
    debited: numeric("debited").notNull(),
    /** some of the stake was once asked for, and not skipped */
    wasDebited: boolean("was_debited").notNull(),
    settlement: numeric("settlement").notNull(),
    reward: numeric("reward").notNull(),
    placed: boolean("placed").notNull(),
    waiting: boolean("waiting").notNull(),
    tip: boolean("tip").notNull(),
    rewardOnly: boolean("reward_only").notNull(),
    /** its last settle said that no other follows */
    endRound: boolean("end_round").notNull(),
    /** it was settled when it became void: its payout was taken back with that */
    payoutReturned: boolean("payout_returned").notNull(),
    /** the settles and rewards of the present generation, by which repeats are known */
    said: text("said").array().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.productId, t.username, t.txnId] }),
    index("wallet_bets_round").on(t.productId, t.username, t.roundId).where(sql`round_id is not null`),
  ],
);

/** Bets and rounds that were cancelled before they arrived: should they still arrive, they are refused. */
export const walletTombstones = pgTable(
  "wallet_tombstones",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    /** bet, round */
    kind: text("kind").notNull(),
    ref: text("ref").notNull(),
    at: instant("at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.username, t.kind, t.ref] })],
);

/** Callback requests that were answered with success, so that a replay is given the first answer again. */
export const callbackRequests = pgTable(
  "callback_requests",
  {
    productId: text("product_id").notNull(),
    callback: text("callback").notNull(),
    requestId: text("request_id").notNull(),
    /** of player, currency and items */
    digest: text("digest").notNull(),
    balanceBefore: numeric("balance_before").notNull(),
    balanceAfter: numeric("balance_after").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.callback, t.requestId] })],
);

/** The body of every callback as it came, without session tokens, and how it was answered; dropped when it is old. */
export const callbackBodies = pgTable(
  "callback_bodies",
  {
    /** in the order in which a player's requests were answered; the entry_id of an entry begins with it */
    id: identity().primaryKey(),
    callback: text("callback").notNull(),
    /** null: could not be read */
    productId: text("product_id"),
    requestId: text("request_id"),
    statusCode: integer("status_code").notNull(),
    body: text("body").notNull(),
    receivedAt: instant("received_at").notNull(),
  },
  (t) => [index("callback_bodies_received").on(t.receivedAt)],
);

/** Who is signed in to the dashboard; what stands here lets nobody in. */
export const opsSessions = pgTable(
  "ops_sessions",
  {
    /** SHA-256 of the cookie's value */
    idHash: text("id_hash").primaryKey(),
    /** of the token it was signed in with */
    name: text("name").notNull(),
    /** HMAC of that token, keyed by the cookie's value */
    tokenProof: text("token_proof").notNull(),
    createdAt: instant("created_at").notNull(),
    expiresAt: instant("expires_at").notNull(),
    /** somebody signed out */
    endedAt: instant("ended_at"),
  },
  (t) => [index("ops_sessions_expire").on(t.expiresAt)],
);

/** Every request to the ops server that would change something, by somebody known; append-only but for its answer. */
export const auditLog = pgTable("audit_log", {
  id: identity().primaryKey(),
  at: instant("at").notNull(),
  /** whose token; "local" where there are no tokens */
  who: text("who").notNull(),
  /** read, write */
  role: text("role").notNull(),
  /** token, session, loopback */
  by: text("by").notNull(),
  address: text("address").notNull(),
  method: text("method").notNull(),
  /** as it is registered: "/api/mismatches/:id/ack" */
  route: text("route").notNull(),
  /** what of the path stands for something, as JSON text */
  target: text("target").notNull(),
  /** what was sent, as JSON text without secrets; null: nothing, or it was not read */
  details: text("details"),
  /** of the answer; null: none was given */
  status: integer("status"),
});
