/** What the auditor of a run in real time reads: every mismatch with its whole history, and when each entry arrived. */

import type { Instant } from "../../../src/clock.ts";
import type { Sql } from "../../../src/db/client.ts";
import type { AuditedMismatch } from "../audit.ts";

interface StatusChange {
  readonly at: Instant;
  readonly toStatus: string;
  readonly by: string;
  readonly reason: string;
  readonly provider: unknown;
  readonly ledger: unknown;
}

export interface MismatchHistory extends AuditedMismatch {
  readonly id: number;
  readonly occurredAt: Instant;
  readonly transitions: readonly StatusChange[];
}

export async function readHistories(sql: Sql): Promise<MismatchHistory[]> {
  const rows = await sql<Omit<MismatchHistory, "transitions">[]>`
    select id, kind, occurred_at as "occurredAt", product_id as "productId", username, bet_id as "betId", transaction_id as "transactionId",
      round_id as "roundId", amount_at_risk as "amountAtRisk", status, reason
    from mismatches order by id`;
  const events = await sql<(StatusChange & { mismatchId: number })[]>`
    select mismatch_id as "mismatchId", at, to_status as "toStatus", by, reason, provider, ledger
    from mismatch_events order by id`;
  const eventsOf = Map.groupBy(events, ({ mismatchId }) => mismatchId);
  return rows.map((row) => ({ ...row, transitions: eventsOf.get(row.id) ?? [] }));
}

/** An entry as the ledger has it. */
export interface HeardEntry {
  readonly productId: string;
  readonly username: string;
  readonly txnId: string;
  readonly callback: string;
  readonly occurredAt: Instant;
  readonly receivedAt: Instant;
}

export async function readHeard(sql: Sql): Promise<HeardEntry[]> {
  return await sql<HeardEntry[]>`
    select product_id as "productId", username, txn_id as "txnId", callback, occurred_at as "occurredAt",
      received_at as "receivedAt"
    from callback_entries order by occurred_at, received_at`;
}
