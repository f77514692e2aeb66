/** What is pulled, when, and how much of it at once: pull states, windows, backfills, the budget of requests. */

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
import { identity, instant } from "./columns.ts";

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
  /** the length before the time-outs since the last answer; null: there was none */
  steadyMs: integer("steady_ms"),
  /** live windows given up in a row, with no answer in between */
  failures: integer("failures").notNull().default(0),
  /** nothing but one window is asked for, then; null: the provider answers */
  probeAt: instant("probe_at"),
  /** the length of that window; null: as learned */
  probeMs: integer("probe_ms"),
  /** the newest time had its turn: lost time, where there is some, comes next */
  lostTurn: boolean("lost_turn").notNull().default(false),
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

/** When a product was served last, by those who fetch live windows and by those who fetch the rest: the first is the next. */
export const pullTurns = pgTable(
  "pull_turns",
  {
    productId: text("product_id").notNull(),
    /** live, rest */
    lanes: text("lanes").notNull(),
    servedAt: instant("served_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.productId, t.lanes] })],
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
    /** live, confirm, resweep, backfill; lost: time that live pulling has left behind, of any length, and still has to cut */
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
    /** another process began the pass: nobody knows all that it returned */
    resumed: boolean("resumed").notNull().default(false),
    attempts: integer("attempts").notNull().default(0),
    /** in a row, of the request that is to be made again */
    failures: integer("failures").notNull().default(0),
    /** the last of them that asked for a shorter window, in a row */
    timeouts: integer("timeouts").notNull().default(0),
    /** how often it began again since it was planned, or became a gap */
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
    /** the backfill that asked for it; null for every other kind */
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

/** One row: when the provider may be asked next, for all processes together. */
export const requestBudget = pgTable("request_budget", {
  id: integer("id").primaryKey(),
  /** a 429 asked for silence until then */
  pausedUntil: instant("paused_until").notNull(),
  /** the minimal interval between two requests ends then */
  nextAt: instant("next_at").notNull(),
});

/** A 429 of one product asked for silence until then: nobody asks for that product. */
export const requestPauses = pgTable("request_pauses", {
  productId: text("product_id").primaryKey(),
  pausedUntil: instant("paused_until").notNull(),
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
