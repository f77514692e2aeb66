/** Incidents and alerts, and what has become of them. */

import { sql } from "drizzle-orm";
import { bigint, index, integer, jsonb, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

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
    /** `total` at the last alert; 0: there was no alert */
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

/** Undelivered alerts: written in the transaction that they report, delivered at least once. */
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

/** The state of a channel: one that refuses alerts waits for a while, and loses none. */
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

/**
 * Present conditions: one alert reports the beginning of a condition, another one its end.
 */
export const alertConditions = pgTable(
  "alert_conditions",
  {
    kind: text("kind").notNull(),
    /** what it is about: a product, a channel */
    subject: text("subject").notNull(),
    productId: text("product_id"),
    since: instant("since").notNull(),
    /** the sentence of the alert at its end */
    whatWhenOver: text("what_when_over").notNull(),
    /** where its products had got to when it began */
    heads: jsonb("heads").notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.subject] })],
);
