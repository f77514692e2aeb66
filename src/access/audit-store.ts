/**
 * The audit log in PostgreSQL: what users and programs changed through the ops server. After the insert only the
 * status of the answer is written; old rows are deleted.
 */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-rows.ts";
import type { TimeRange } from "../window.ts";

/** A request that would change something, from a known person or program. */
export interface AuditedRequest {
  readonly at: Instant;
  /** the name of the token, or of the user at a proxy; "local" without tokens */
  readonly who: string;
  /** as OPS_TOKENS or OPS_ROLES names it */
  readonly role: string;
  /** token, session, proxy, loopback, command */
  readonly by: string;
  /** the address of the client */
  readonly address: string;
  readonly method: string;
  /** the route as registered: "/api/mismatches/:id/ack" */
  readonly route: string;
  /** the parameters of the path, as JSON: {"id":"7"} */
  readonly target: string;
  /** the body as JSON, without secrets; null: there was none, or the server did not read it */
  readonly details: string | null;
  /** the status of the answer, or the exit code of a command; null: there is no answer yet */
  readonly status: number | null;
}

/** @returns the id of the row */
export async function insertAudit(sql: Query, request: AuditedRequest): Promise<number> {
  const { at, who, role, by, address, method, route, target, details, status } = request;
  const [row] = await sql<{ id: number }[]>`
    insert into audit_log (at, who, role, by, address, method, route, target, details, status)
    values (${at}, ${who}, ${role}, ${by}, ${address}, ${method}, ${route}, ${target}, ${details}, ${status})
    returning id`;
  return row?.id ?? 0;
}

/** Stores the status of the answer. */
export async function answerAudit(sql: Query, id: number, status: number): Promise<void> {
  await sql`update audit_log set status = ${status} where id = ${id}`;
}

/**
 * A page of the log, the newest first.
 * @param after the last id of the page before; null: the page begins with the newest row
 */
export async function listAudit(
  sql: Query,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<{ audit: (AuditedRequest & { readonly id: number })[]; next: string | null }> {
  const found = await sql<(AuditedRequest & { id: number })[]>`
    select id, at, who, role, by, address, method, route, target, details, status
    from audit_log where ${after}::bigint is null or id < ${after}::bigint
    order by id desc limit ${limit + 1}`;
  const audit = found.slice(0, limit);
  return { audit, next: found.length > limit ? String(audit.at(-1)?.id) : null };
}

/** Deletes the rows of a range of time, as `dropOldest` does. */
export function dropOldAudit(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "audit_log", key: "id", at: "at" }, range, most);
}
