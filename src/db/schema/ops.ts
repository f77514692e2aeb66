/** Who uses the ops server, and for what. */

import { index, integer, pgTable, text } from "drizzle-orm/pg-core";
import { identity, instant } from "./columns.ts";

/** The sign-ins of the dashboard; nobody can sign in with the stored values. */
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
export const auditLog = pgTable(
  "audit_log",
  {
    id: identity().primaryKey(),
    at: instant("at").notNull(),
    /** whose token; "local" where there are no tokens */
    who: text("who").notNull(),
    /** read, write */
    role: text("role").notNull(),
    /** token, session, loopback, command */
    by: text("by").notNull(),
    address: text("address").notNull(),
    method: text("method").notNull(),
    /** as it is registered: "/api/mismatches/:id/ack" */
    route: text("route").notNull(),
    /** the parameters of the path, as JSON text */
    target: text("target").notNull(),
    /** what was sent, as JSON text without secrets; null: nothing, or it was not read */
    details: text("details"),
    /** of the answer; null: none was given */
    status: integer("status"),
  },
  (t) => [index("audit_log_at").on(t.at)],
);
