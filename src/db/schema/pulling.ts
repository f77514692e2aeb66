/** Pulling: pull states, windows, backfills, turns, and the request budget. */

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { identity, instant, timeRanges } from "./columns.ts";

/** The head of each product, its window length, and its outage. */
export const pullStates = pgTable("pull_states", {
  productId: text("product_id").primaryKey(),
  /** the time at which live pulling began */
  begin: instant("begin").notNull(),
  /** the time from which live pulling continues; gaps may lie before it */
  head: instant("head").notNull(),
  windowMs: integer("window_ms").notNull(),
  /** a window of this length timed out; null: none did, or a window at least as long succeeded since */
  ceilingMs: integer("ceiling_ms"),
  /** the provider refused the credentials; nothing is requested before this time */
  stoppedUntil: instant("stopped_until"),
  /** the number of comfortable answers before the ceiling is tried again */
  holdFor: integer("hold_for").notNull().default(1),
  /** successes since the last slow one, at a pace that would allow the length of the ceiling */
  quickAnswers: integer("quick_answers").notNull().default(0),
  /** the duration of the last answer per hour of its window; null: no answer since the last time-out */
  msPerHour: doublePrecision("ms_per_hour"),
  /** the length before the first time-out since the last answer; null: there was no time-out */
  steadyMs: integer("steady_ms"),
  /** live windows given up in a row, without a success in between */
  failures: integer("failures").notNull().default(0),
  /** the time of the next probe; null: the provider answers */
  probeAt: instant("probe_at"),
  /** the length of the next probe's window; null: the learned length */
  probeMs: integer("probe_ms"),
  /** the last window was of the newest time; the next one is cut from the lost range, if there is one */
  lostTurn: boolean("lost_turn").notNull().default(false),
  /** the records of the last window, if they were 50 or more; null: fewer */
  lastCount: integer("last_count"),
  /** the number of windows in a row with this count */
  sameCounts: integer("same_counts").notNull().default(0),
  /** the provider cuts responses at this many records without a nextId; null: no such limit is known */
  answerLimit: integer("answer_limit"),
});

/** The time up to which the resweeps of an age are planned, for each product. */
export const resweepStates = pgTable(
  "resweep_states",
  {
    productId: text("product_id").notNull(),
    ageMs: bigint("age_ms", { mode: "number" }).notNull(),
    sweptUntil: instant("swept_until").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.ageMs] })],
);

/** When a product was last served, for each kind of windows. The product served least recently is next. */
export const pullTurns = pgTable(
  "pull_turns",
  {
    productId: text("product_id").notNull(),
    /** the kind of windows */
    lanes: text("lanes").notNull(),
    servedAt: instant("served_at").notNull(),
    /** how many windows were leased in turn; every tenth may be an old one */
    leases: integer("leases").notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.productId, t.lanes] })],
);

/** Ranges that an operator asked to fetch again. Their windows name the backfill. */
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

/** Every window that is planned, or was and is still kept: the plan, the work in progress and the coverage in one. */
export const windows = pgTable(
  "windows",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    /**
     * live, confirm, resweep, backfill; lost: a lost range of any length, from which live windows are cut
     */
    kind: text("kind").notNull(),
    fromAt: instant("from_at").notNull(),
    toAt: instant("to_at").notNull(),
    /** planned, done, split (its parts took over), gap (given up for now), cancelled */
    status: text("status").notNull().default("planned"),
    /** the provider's nextId of the next page; null: from the first page */
    cursor: text("cursor"),
    cursorAt: instant("cursor_at"),
    /** when the first page of the present pass was requested */
    startedAt: instant("started_at"),
    /** when the last page was committed */
    fetchedAt: instant("fetched_at"),
    /** two processes made the pass, so neither knows all that it returned (decision 97) */
    resumed: boolean("resumed").notNull().default(false),
    attempts: integer("attempts").notNull().default(0),
    /** consecutive failures of the request that must be repeated */
    failures: integer("failures").notNull().default(0),
    /** how many of the latest of them asked for a shorter window */
    timeouts: integer("timeouts").notNull().default(0),
    /** how often the window was restarted since it was planned or became a gap */
    restarts: integer("restarts").notNull().default(0),
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
    /** of a resweep: when its time reached the age at which it is fetched again; null for every other kind */
    dueAt: instant("due_at"),
    /** the backfill of the window; null for every other kind */
    backfillId: bigint("backfill_id", { mode: "number" }).references(() => backfills.id),
  },
  (t) => [
    index("windows_unfinished").on(t.productId, t.kind, t.fromAt).where(sql`status in ('planned', 'gap')`),
    index("windows_backfill").on(t.backfillId).where(sql`backfill_id is not null`),
    index("windows_leased").on(t.productId, t.kind).where(sql`lease_token is not null`),
    index("windows_coverage").on(t.productId, t.toAt).where(sql`status = 'done'`),
    check("windows_range", sql`from_at < to_at`),
  ],
);

/** The time that deleted windows had fetched, for each product (decision 264), without when and how often. */
export const fetchedTimes = pgTable("fetched_times", {
  productId: text("product_id").primaryKey(),
  times: timeRanges("times").notNull(),
});

/** One row for all processes together: when the next request may be sent. */
export const requestBudget = pgTable("request_budget", {
  id: integer("id").primaryKey(),
  /** until when a 429 pauses all requests */
  pausedUntil: instant("paused_until").notNull(),
  /** when the minimal interval between two requests ends */
  nextAt: instant("next_at").notNull(),
});

/** Until when a 429 pauses the requests about one product. */
export const requestPauses = pgTable("request_pauses", {
  productId: text("product_id").primaryKey(),
  pausedUntil: instant("paused_until").notNull(),
});

/** The slots of the request budget. A slot whose time is over is free. */
export const requestSlots = pgTable("request_slots", {
  slot: integer("slot").primaryKey(),
  holder: uuid("holder").notNull(),
  heldUntil: instant("held_until").notNull(),
  /** requests of others since the last request of verification; only the sum over all slots has a meaning */
  owedVerify: integer("owed_verify").notNull().default(0),
  /** the same for confirm fetches, resweeps and backfills together */
  owedRest: integer("owed_rest").notNull().default(0),
});

/** Requests that wait for a slot. Less urgent requests wait for more urgent ones. */
export const requestWaiters = pgTable("request_waiters", {
  waiter: uuid("waiter").primaryKey(),
  urgency: integer("urgency").notNull(),
  /** when it began to wait */
  since: instant("since").notNull().defaultNow(),
  seenAt: instant("seen_at").notNull(),
});
