/** Records and entries with defaults: a test names only the fields that matter. */

import type { BetRecord, StoredRecord } from "../../src/bet.ts";
import type { CallbackEntry } from "../../src/callback.ts";
import { parseAmount } from "../../src/money.ts";

export const NOON = Date.parse("2026-11-20T12:00:00Z");
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

export const amount = (text: string) => parseAmount(text, "amount");

/** A settled, lost bet of 10.00 THB, whose version was first seen at noon. */
export function exampleRecord(fields: Partial<BetRecord & StoredRecord> = {}): BetRecord & StoredRecord {
  return {
    id: "rec-1",
    betId: "bet-1",
    username: "anna",
    currency: "THB",
    accountingDate: "2026-11-20T11:59:00.000Z",
    updatedDate: "2026-11-20T11:59:00.000Z",
    stake: amount("10.00"),
    payout: amount("0"),
    productId: "P1",
    gameCode: "G1",
    gameName: "Game One",
    roundId: "round-1",
    betStatus: "SETTLED",
    payoutStatus: "LOSE",
    extra: null,
    versionSeenAt: NOON,
    requestedAt: NOON,
    ...fields,
  };
}

let entries = 0;

/** A placement of 10.00 THB, received five minutes before noon. */
export function exampleEntry(fields: Partial<CallbackEntry> = {}): CallbackEntry {
  entries += 1;
  return {
    entryId: `entry-${String(entries).padStart(6, "0")}`,
    callback: "placeBets",
    requestId: `request-${entries}`,
    productId: "P1",
    username: "anna",
    currency: "THB",
    txnId: "bet-1",
    roundId: "round-1",
    status: "OPEN",
    betAmount: amount("10.00"),
    payoutAmount: null,
    transactionType: null,
    singleState: null,
    endRound: null,
    skipBalanceUpdate: false,
    moved: null,
    balanceBefore: null,
    balanceAfter: null,
    occurredAt: NOON - 5 * MINUTE_MS,
    receivedAt: NOON - 5 * MINUTE_MS,
    ...fields,
  };
}

/** The settlement of the same bet, one minute later; pays nothing. */
export function exampleSettle(fields: Partial<CallbackEntry> = {}): CallbackEntry {
  return exampleEntry({
    callback: "settleBets",
    status: "SETTLED",
    betAmount: null,
    payoutAmount: amount("0"),
    occurredAt: NOON - 4 * MINUTE_MS,
    receivedAt: NOON - 4 * MINUTE_MS,
    ...fields,
  });
}

/** An adjustBalance that moves this money at this time; its refId is "ref" and the minutes after noon. */
export function exampleAdjustment(
  status: "DEBIT" | "CREDIT",
  text: string,
  minutes: number,
  fields: Partial<CallbackEntry> = {},
): CallbackEntry {
  const at = NOON + minutes * MINUTE_MS;
  return exampleEntry({
    callback: "adjustBalance",
    status,
    txnId: `ref ${minutes}`,
    roundId: null,
    betAmount: status === "DEBIT" ? amount(text) : null,
    payoutAmount: status === "CREDIT" ? amount(text) : null,
    occurredAt: at,
    receivedAt: at,
    ...fields,
  });
}

/** A line of an import: a placement of 10.00 THB, with the columns of a ledger entry. */
export function exampleEntryLine(id: string, changes: object = {}): string {
  return JSON.stringify({
    entry_id: id,
    callback: "placeBets",
    request_id: id,
    product_id: "P1",
    username: "anna",
    currency: "THB",
    txn_id: id,
    status: "OPEN",
    bet_amount: 10,
    skip_balance_update: false,
    occurred_at: "2026-11-20T10:00:00Z",
    received_at: "2026-11-20T10:00:00Z",
    ...changes,
  });
}
