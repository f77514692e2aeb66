/** The progress of each kind of work, so every process can see stalls; sign-ins of the dashboard; the audit log and the keys of the ops server. */

import { bigint, index, integer, jsonb, numeric, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

/** A row for each product that is pulled, compared or verified, each relation that is followed, each queue. */
export const workStates = pgTable(
  "work_states",
  {
    /** a WorkKind of work/work-store.ts */
    work: text("work").notNull(),
    /** a product, a relation, a queue; empty: all work of this kind */
    subject: text("subject").notNull(),
    /** since when the work has been done without a long pause; null: it was never done */
    since: instant("since"),
    /** when the work last finished, or made progress; null: never */
    doneAt: instant("done_at"),
    /** of comparing: everything that had arrived by this time was compared; null: no comparison has finished yet */
    upTo: instant("up_to"),
    /** the first of the consecutive failures; null: the last run succeeded */
    failingSince: instant("failing_since"),
    /** the number of consecutive failures */
    failures: integer("failures").notNull().default(0),
    failedAt: instant("failed_at"),
    /** the code of the last failure, if it was a ReconError */
    errorCode: text("error_code"),
    error: text("error"),
    /** of a queue: how often its jobs are due */
    everyMs: bigint("every_ms", { mode: "number" }),
  },
  (t) => [primaryKey({ columns: [t.work, t.subject] })],
);

/** Sums of money that a worker has computed for all processes. */
export const moneyStates = pgTable("money_states", {
  /** "outside": money that moved outside of the comparison; "sums": is all money of the ledger in statements?
   * "books": are the closed days as they were closed, and is every rest 0? */
  name: text("name").primaryKey(),
  measuredAt: instant("measured_at").notNull(),
  tookMs: bigint("took_ms", { mode: "number" }).notNull(),
  /** the settings on which the content depends, as text */
  settings: text("settings").notNull(),
  content: jsonb("content").notNull(),
});

/**
 * The money of entries that `retain.entries` has deleted. Append-only and without a key, so deletions never wait for each other.
 */
export const movedDeleted = pgTable("moved_deleted", {
  productId: text("product_id").notNull(),
  currency: text("currency").notNull(),
  moved: numeric("moved").notNull(),
  /** the number of entries without `moved`, whose amount only the fold knew */
  unstated: bigint("unstated", { mode: "number" }).notNull(),
});

export const trendSamples = pgTable(
  "trend_samples",
  {
    productId: text("product_id").notNull(),
    /** the first moment of the quarter of an hour, UTC */
    at: instant("at").notNull(),
    /** the longest measured lag; null: no worker measured it */
    lagMs: bigint("lag_ms", { mode: "number" }),
    /** the records dated in it, counted once its time was fetched; null: not counted */
    records: integer("records"),
    /** the callback entries received in it, counted some minutes after its end; null: not counted */
    callbacks: integer("callbacks"),
  },
  (t) => [primaryKey({ columns: [t.productId, t.at] }), index("trend_samples_at").on(t.at)],
);

/** The sign-ins of the dashboard. A reader of this table cannot sign in with what it holds. */
export const opsSessions = pgTable(
  "ops_sessions",
  {
    /** SHA-256 of the cookie's value */
    idHash: text("id_hash").primaryKey(),
    /** the name of the token */
    name: text("name").notNull(),
    /** an HMAC of the token, keyed by the cookie's value */
    tokenProof: text("token_proof").notNull(),
    createdAt: instant("created_at").notNull(),
    expiresAt: instant("expires_at").notNull(),
    /** when the user signed out */
    endedAt: instant("ended_at"),
  },
  (t) => [index("ops_sessions_expire").on(t.expiresAt)],
);

/**
 * Every request to the ops server that would change something, from a known user or program. The row is written before the change; only the
 * status is added afterwards.
 */
export const auditLog = pgTable(
  "audit_log",
  {
    id: identity().primaryKey(),
    at: instant("at").notNull(),
    /** the name of the token; "local" without tokens */
    who: text("who").notNull(),
    /** read, write */
    role: text("role").notNull(),
    /** token, session, loopback, command */
    by: text("by").notNull(),
    address: text("address").notNull(),
    method: text("method").notNull(),
    /** the route as registered: "/api/mismatches/:id/ack" */
    route: text("route").notNull(),
    /** the parameters of the path, as JSON text */
    target: text("target").notNull(),
    /** the body as JSON text, without secrets; null: there was none, or the server did not read it */
    details: text("details"),
    /** the status of the response; null: there was none yet */
    status: integer("status"),
  },
  (t) => [index("audit_log_at").on(t.at)],
);

/**
 * Requests to the API with an `Idempotency-Key`, and their answers. A row without a status is a request that has not ended, or whose
 * process was killed.
 */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    /** SHA-256 of who asked, the method, the path and the key */
    id: text("id").primaryKey(),
    /** SHA-256 of the query and the body */
    bodyHash: text("body_hash").notNull(),
    /** a random id of the request that may write the answer */
    claim: text("claim").notNull(),
    claimedAt: instant("claimed_at").notNull(),
    status: integer("status"),
    /** JSON text */
    answer: text("answer"),
    /** the header of the answer; null: it has none */
    location: text("location"),
  },
  (t) => [index("idempotency_keys_claimed").on(t.claimedAt)],
);

/** One row. A backup contains it, so a restored database is still the same installation. */
export const installations = pgTable("installations", {
  id: integer("id").primaryKey(),
  /** a random UUID, which the installation writes into its Redis too */
  installationId: text("installation_id").notNull(),
  /** when a process last checked that it may write */
  writtenAt: instant("written_at").notNull(),
});
