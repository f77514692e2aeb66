/** The tables of transfers and top-ups: two tables with the same columns, each with a table of answers. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { CountedTable } from "../db/row-counts.ts";
import { parseAmount } from "../money.ts";
import type { TopUp, Transfer } from "../transfer.ts";
import type { VerifyState } from "./decide.ts";

export const VERIFY_KINDS = ["transfer", "top-up"] as const;
export type VerifyKind = (typeof VERIFY_KINDS)[number];

export const TABLE_OF = { transfer: "transfers", "top-up": "top_ups" } as const satisfies Record<
  VerifyKind,
  CountedTable
>;
export const ANSWERS_OF: Readonly<Record<VerifyKind, string>> = {
  transfer: "transfer_answers",
  "top-up": "top_up_answers",
};

/** A transfer or top-up with its state. */
export interface Verification {
  readonly kind: VerifyKind;
  readonly id: number;
  readonly sent: Transfer | TopUp;
  readonly state: VerifyState;
  /** who closed it; null: it is not closed */
  readonly closedBy: string | null;
  readonly note: string | null;
}

/** A row as PostgreSQL gives it. Amounts are decimal text. */
export interface VerificationRow extends Omit<Transfer, "amount" | "type">, VerifyState {
  readonly id: number;
  readonly type: Transfer["type"] | TopUp["type"];
  readonly amount: string;
  readonly closedBy: string | null;
  readonly note: string | null;
  readonly leaseToken: string | null;
  readonly handedAt: Instant;
}

/** @param table an alias of the table */
export function verificationColumns(sql: Query, table: string) {
  const t = sql(table);
  return sql`${t}.id, ${t}.product_id as "productId", ${t}.username, ${t}.currency,
    ${t}.transaction_ref as "transactionRef", ${t}.type, ${t}.amount, ${t}.sent_at as "sentAt", ${t}.status,
    ${t}.handed_at as "handedAt", ${t}.attempts, ${t}.next_verify_at as "nextVerifyAt",
    ${t}.decided_at as "decidedAt", ${t}.failed_since as "failedSince", ${t}.rejected_at as "rejectedAt",
    ${t}.mismatch_kind as "mismatchKind", ${t}.closed_by as "closedBy", ${t}.note, ${t}.lease_token as "leaseToken"`;
}

export function toVerification(kind: VerifyKind, row: VerificationRow): Verification {
  const { productId, username, currency, transactionRef, type, sentAt, ...rest } = row;
  const { status, handedAt, attempts, nextVerifyAt, decidedAt, failedSince, rejectedAt, mismatchKind } = rest;
  const amount = parseAmount(row.amount, "amount");
  return {
    kind,
    id: row.id,
    sent: { productId, username, currency, transactionRef, type, amount, sentAt } as Transfer | TopUp,
    state: { status, handedAt, attempts, nextVerifyAt, decidedAt, failedSince, rejectedAt, mismatchKind },
    closedBy: row.closedBy,
    note: row.note,
  };
}
