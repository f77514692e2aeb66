/** What people and programs changed through the ops server, in PostgreSQL: changed never, and forgotten when it is old. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { type DroppedRows, dropOldest } from "../db/drop-oldest.ts";
import type { TimeRange } from "../window.ts";

/** A request that would change something, by somebody known. */
export interface AuditedRequest {
  readonly at: Instant;
  /** whose token; "local" where there are no tokens */
  readonly who: string;
  /** read, write */
  readonly role: string;
  /** token, session, loopback */
  readonly by: string;
  /** it came from */
  readonly address: string;
  readonly method: string;
  /** as it is registered: "/api/mismatches/:id/ack" */
  readonly route: string;
  /** what of the path stands for something, as JSON: {"id":"7"} */
  readonly target: string;
  /** what was sent, as JSON without secrets; null: nothing, or it was not read */
  readonly details: string | null;
  /** of the answer; null: none was given yet */
  readonly status: number | null;
}

/** @returns its id */
export async function insertAudit(sql: Query, request: AuditedRequest): Promise<number> {
  const { at, who, role, by, address, method, route, target, details, status } = request;
  const [row] = await sql<{ id: number }[]>`
    insert into audit_log (at, who, role, by, address, method, route, target, details, status)
    values (${at}, ${who}, ${role}, ${by}, ${address}, ${method}, ${route}, ${target}, ${details}, ${status})
    returning id`;
  return row?.id ?? 0;
}

/** Notes how a request was answered. */
export async function answerAudit(sql: Query, id: number, status: number): Promise<void> {
  await sql`update audit_log set status = ${status} where id = ${id}`;
}

/** A page of the log, the newest first. @param after the id of the last of the page before; null: from the newest on */
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

/** Forgets what was asked for in a range of time, as `dropOldest` does. */
export function dropOldAudit(sql: Query, range: TimeRange, most: number): Promise<DroppedRows> {
  return dropOldest(sql, { table: "audit_log", key: "id", at: "at" }, range, most);
}
