/** The sign-ins of the dashboard, and the audit log of the ops server. */

import { index, integer, pgTable, text } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

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

/** One row. A backup contains it, so a restored database is still the same installation. */
export const installations = pgTable("installations", {
  id: integer("id").primaryKey(),
  /** a random UUID, which the installation writes into its Redis too */
  installationId: text("installation_id").notNull(),
  /** when a process last checked that it may write */
  writtenAt: instant("written_at").notNull(),
});
