/** The sign-ins of the dashboard in PostgreSQL: several workers behind one address share them. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

/** A sign-in. The stored values are hashes, so a leaked table reveals neither the cookie nor the token. */
export interface OpsSession {
  /** SHA-256 of the cookie's value */
  readonly idHash: string;
  /** the name of the token */
  readonly name: string;
  /** an HMAC of the token, keyed by the cookie's value; a changed or removed token does not match */
  readonly tokenProof: string;
  readonly expiresAt: Instant;
}

/** Begins a session. */
export async function insertSession(sql: Query, session: OpsSession, now: Instant): Promise<void> {
  const { idHash, name, tokenProof, expiresAt } = session;
  await sql`
    insert into ops_sessions (id_hash, name, token_proof, created_at, expires_at)
    values (${idHash}, ${name}, ${tokenProof}, ${now}, ${expiresAt})`;
}

/** @returns null if the session does not exist or has ended */
export async function findSession(sql: Query, idHash: string, now: Instant): Promise<OpsSession | null> {
  const [session] = await sql<OpsSession[]>`
    select id_hash as "idHash", name, token_proof as "tokenProof", expires_at as "expiresAt"
    from ops_sessions where id_hash = ${idHash} and ended_at is null and expires_at > ${now}`;
  return session ?? null;
}

/** Ends a session for every worker. A session that has ended already does not change. */
export async function endSession(sql: Query, idHash: string, now: Instant): Promise<void> {
  await sql`update ops_sessions set ended_at = ${now} where id_hash = ${idHash} and ended_at is null`;
}

/** Deletes the sessions that expired in a range of time, as `dropOldest` does. */
export function dropOldSessions(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "ops_sessions", key: "id_hash", at: "expires_at" }, range, most);
}
