/** Closed days, what each bet counted for on them, and the corrections that later changes cause. */

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
} from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

/** The closed days. A row is never changed. */
export const closedDays = pgTable("closed_days", {
  /** the date in `zone` */
  day: date("day").primaryKey(),
  /** the time zone in which the day was closed; an IANA name */
  zone: text("zone").notNull(),
  fromAt: instant("from_at").notNull(),
  /** exclusive; the next closed day begins here */
  toAt: instant("to_at").notNull(),
  /** 1, 2, 3, … without a gap */
  number: bigint("number", { mode: "number" }).notNull().unique(),
  closedAt: instant("closed_at").notNull(),
  /** sha-256 of the statement with its number and `previous_hash`, in hexadecimal */
  hash: text("hash").notNull().unique(),
  /** the hash of the day before; null: the first closed day */
  previousHash: text("previous_hash").unique(),
  /** the rows of the day's statement, and the corrections that arrived on the day */
  statement: jsonb("statement").notNull(),
});

/**
 * The products of the day that is being closed: each is closed in a transaction of its own, and the statement is made of them.
 * Without rows while no day is being closed.
 */
export const closedParts = pgTable("closed_parts", {
  productId: text("product_id").primaryKey(),
  day: date("day").notNull(),
  fromAt: instant("from_at").notNull(),
  toAt: instant("to_at").notNull(),
  /** its rows of the statement; its bets are in `closed_bets`. Null: only its gap was accepted so far */
  rows: jsonb("rows"),
  /** the missing time that was accepted, with who accepted it, and why; null: none */
  gap: jsonb("gap"),
});

const figures = {
  providerBets: integer("provider_bets").notNull(),
  providerStake: numeric("provider_stake").notNull(),
  providerPayout: numeric("provider_payout").notNull(),
  providerNet: numeric("provider_net").notNull(),
  /** the four columns of the ledger are null if they equal those of the provider */
  ledgerBets: integer("ledger_bets"),
  ledgerStake: numeric("ledger_stake"),
  ledgerPayout: numeric("ledger_payout"),
  ledgerNet: numeric("ledger_net"),
  /** what explains the difference; null: 0 */
  mismatches: numeric("mismatches"),
  adjustments: numeric("adjustments"),
  pending: numeric("pending"),
  rounding: numeric("rounding"),
};

/**
 * What each bet counts for on a closed day: what it counted for when the day was closed, with all corrections since.
 */
export const closedBets = pgTable(
  "closed_bets",
  {
    productId: text("product_id").notNull(),
    username: text("username").notNull(),
    /** "round:…" if the bet has a round, otherwise "bet:…"; "sessions" for sessions. Rows of one subject are loaded together */
    subject: text("subject").notNull(),
    /** the id of the bet, or of the first of the bets that were compared together; empty: the rest of a large round */
    betRef: text("bet_ref").notNull(),
    day: date("day").notNull(),
    currency: text("currency").notNull(),
    ...figures,
    /** what the wallet moved; null: the ledger's net */
    ledgerMoved: numeric("ledger_moved"),
    /** the part of the ledger's payout that was rewards, and the tips; null: 0. Rows of older versions have neither */
    ledgerRewards: numeric("ledger_rewards"),
    ledgerTips: numeric("ledger_tips"),
    /** what entries outside of the comparison moved; null: 0 */
    outside: numeric("outside"),
    /** how soon both sides agreed: day, week, later, never; null: within an hour, or there is no stake */
    confirmed: text("confirmed"),
    /** the provider's id and the ledger's; empty: the same as `bet_ref`; null: that side does not have the bet. Rows of older versions have neither */
    betId: text("bet_id"),
    transactionId: text("transaction_id"),
    /** empty: the side is there without a status; null: it is not, or an older version did not store it */
    providerStatus: text("provider_status"),
    ledgerStatus: text("ledger_status"),
    /** the mismatch that explains the difference; null: none */
    mismatchId: bigint("mismatch_id", { mode: "number" }),
    /** "mismatch" or "pending", if the sides differ and no money does; null: they do not */
    verdict: text("verdict"),
    /** true: a correction wrote the row; null: it is as the day was closed */
    corrected: boolean("corrected"),
  },
  (t) => [primaryKey({ columns: [t.productId, t.username, t.subject, t.betRef, t.day, t.currency] })],
);

/**
 * The provider's stake of each closed day with its corrections, and the parts of it that both sides confirmed in time. Stays when the
 * bets are deleted. Days that an older version closed have no row.
 */
export const confirmedDays = pgTable(
  "confirmed_days",
  {
    day: date("day").notNull(),
    productId: text("product_id").notNull(),
    currency: text("currency").notNull(),
    stake: numeric("stake").notNull(),
    /** each includes the one before */
    withinHour: numeric("within_hour").notNull(),
    withinDay: numeric("within_day").notNull(),
    withinWeek: numeric("within_week").notNull(),
  },
  (t) => [primaryKey({ columns: [t.day, t.productId, t.currency] })],
);

/** Changes of closed days, on the day on which they arrived. A row is never changed. */
export const corrections = pgTable(
  "corrections",
  {
    id: identity().primaryKey(),
    /** the closed day that changed */
    day: date("day").notNull(),
    /** when the change was found */
    at: instant("at").notNull(),
    /** one correction, as in the JSON of a report */
    correction: jsonb("correction").notNull(),
    /** the rows of `closed_bets` that the day was closed with and this correction replaced; null: none */
    replaced: jsonb("replaced"),
  },
  (t) => [index("corrections_day").on(t.day), index("corrections_at").on(t.at)],
);

/** Rounds and bets that were compared, or whose mismatch changed, since corrections of closed days were last searched. */
export const closingMarks = pgTable("closing_marks", {
  id: identity().primaryKey(),
  productId: text("product_id").notNull(),
  /** the three arrays have one element for each mark, as in `diff_marks` */
  usernames: text("usernames").array().notNull(),
  roundIds: text("round_ids").array().notNull(),
  betRefs: text("bet_refs").array().notNull(),
});

/** One row, written before the first day is closed: from then on triggers write `closing_marks`. */
export const closingStates = pgTable("closing_states", {
  id: integer("id").primaryKey(),
  since: instant("since").notNull().default(sql`now()`),
});
