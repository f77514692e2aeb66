/** Incidents, alerts and their deliveries. */

import { sql } from "drizzle-orm";
import { bigint, index, integer, jsonb, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { caseColumns, changedIn, identity, instant } from "./columns.ts";

/** Mismatches of one product and kind that belong together in time, reported by one alert. */
export const incidents = pgTable(
  "incidents",
  {
    id: identity().primaryKey(),
    productId: text("product_id").notNull(),
    kind: text("kind").notNull(),
    /** the backfill that found its mismatches; 0: no backfill */
    backfillId: bigint("backfill_id", { mode: "number" }).notNull(),
    /**
     * the number within product, kind and backfill; unique, so two transactions cannot begin the same incident
     */
    number: integer("number").notNull(),
    beganAt: instant("began_at").notNull(),
    /** when its newest mismatch was first seen */
    lastAt: instant("last_at").notNull(),
    /** the number of its mismatches, ended ones included */
    total: integer("total").notNull(),
    /** the number of its open or acknowledged mismatches */
    open: integer("open").notNull(),
    /** `total` at the last alert; 0: there was no alert */
    alertedTotal: integer("alerted_total").notNull(),
    endedAt: instant("ended_at"),
    ...caseColumns(),
    changedIn: changedIn(),
  },
  (t) => [
    unique("incidents_once").on(t.productId, t.kind, t.backfillId, t.number),
    index("incidents_to_remind")
      .on(t.remindAt)
      .where(sql`remind_at is not null and reminded_at is null and ended_at is null`),
    index("incidents_changed").on(t.changedIn, t.id),
  ],
);

/** The incident of a mismatch; the latest if it had several. */
export const incidentMembers = pgTable(
  "incident_members",
  {
    mismatchId: bigint("mismatch_id", { mode: "number" }).primaryKey(),
    incidentId: bigint("incident_id", { mode: "number" }).notNull(),
  },
  (t) => [index("incident_members_of").on(t.incidentId)],
);

/** The outbox of alerts: a row is written in the transaction that it reports, and delivered at least once. */
export const alerts = pgTable(
  "alerts",
  {
    id: identity().primaryKey(),
    idempotencyKey: text("idempotency_key").notNull().unique(),
    kind: text("kind").notNull(),
    productId: text("product_id"),
    body: jsonb("body").notNull(),
    createdAt: instant("created_at").notNull(),
    /** when the last configured channel received it */
    deliveredAt: instant("delivered_at"),
    /** of an event of a single mismatch: which one. Its events are delivered in the order of their ids */
    mismatchId: bigint("mismatch_id", { mode: "number" }),
    /** of such an event: the endpoints that get it; null: an alert, which every channel gets */
    endpoints: text("endpoints").array(),
  },
  (t) => [
    index("alerts_undelivered").on(t.id).where(sql`delivered_at is null`),
    index("alerts_of_mismatch").on(t.mismatchId, t.id).where(sql`mismatch_id is not null`),
  ],
);

/** The state of a channel. A failing channel waits, and loses no alert. */
export const alertChannels = pgTable("alert_channels", {
  /** webhook, slack, or the name of an endpoint */
  channel: text("channel").primaryKey(),
  /** the kinds of alerts that an endpoint gets; null: all */
  kinds: text("kinds").array(),
  /** failed attempts in a row */
  attempts: integer("attempts").notNull().default(0),
  nextAttemptAt: instant("next_attempt_at"),
  failingSince: instant("failing_since"),
  lastError: text("last_error"),
  leaseToken: uuid("lease_token"),
  leaseUntil: instant("lease_until"),
});

/** The delivery of an alert to a channel; no row: not sent yet. */
export const alertDeliveries = pgTable(
  "alert_deliveries",
  {
    alertId: bigint("alert_id", { mode: "number" }).notNull(),
    channel: text("channel").notNull(),
    attempts: integer("attempts").notNull(),
    deliveredAt: instant("delivered_at"),
    /**
     * the channel refused this alert and accepts others: the time of the next attempt; null: the alert waits only for
     * its channel
     */
    nextAttemptAt: instant("next_attempt_at"),
    lastError: text("last_error"),
  },
  (t) => [primaryKey({ columns: [t.alertId, t.channel] })],
);

/**
 * Conditions that hold now. One alert reports the beginning of a condition, another its end.
 */
export const alertConditions = pgTable(
  "alert_conditions",
  {
    kind: text("kind").notNull(),
    /** a product, a channel, a queue, a relation, a process, or "provider" */
    subject: text("subject").notNull(),
    productId: text("product_id"),
    since: instant("since").notNull(),
    /** the sentence of the alert at its end */
    whatWhenOver: text("what_when_over").notNull(),
    /** the heads of its products at the beginning */
    heads: jsonb("heads").notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.subject] })],
);
