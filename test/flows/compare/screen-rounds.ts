/**
 * Rounds that a screening may drop, and rounds that it must leave to the exact comparison: each of these lacks one condition.
 */

import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { Sql } from "../../../src/db/client.ts";
import {
  amount,
  exampleEntry,
  exampleRecord,
  exampleSettle,
  MINUTE_MS,
  NOON,
} from "../../support/examples.ts";

/** anna's round-1: placed, settled and listed with equal values, with a record id of its own. */
export const placed = (fields: Partial<CallbackEntry> = {}) =>
  exampleEntry({ entryId: "p", requestId: "p", ...fields });
export const settled = (fields: Partial<CallbackEntry> = {}) =>
  exampleSettle({ entryId: "s", requestId: "s", payoutAmount: amount("25"), ...fields });
export const listedAs = (fields: Partial<BetRecord> = {}) =>
  exampleRecord({ payout: amount("25"), payoutStatus: "WIN", ...fields });
const answered = (before: string, after: string, moved: string) => ({
  balanceBefore: amount(before),
  balanceAfter: amount(after),
  moved: amount(moved),
});

export interface Round {
  readonly entries: CallbackEntry[];
  readonly records: BetRecord[];
  /** what is known of the product when the round is marked */
  readonly before?: (sql: Sql, productId: string) => Promise<unknown>;
}

export const agreeing: Readonly<Record<string, Round>> = {
  "of one bet": { entries: [placed(), settled()], records: [listedAs()] },
  "of several bets": {
    entries: [
      placed(),
      settled(),
      placed({ entryId: "p2", txnId: "bet-2" }),
      settled({ entryId: "s2", txnId: "bet-2" }),
    ],
    records: [listedAs(), listedAs({ betId: "bet-2", id: "rec-2" })],
  },
  "whose record has one id": { entries: [placed(), settled()], records: [listedAs({ id: "bet-1" })] },
  "whose settlement is dated before its placement": {
    entries: [placed(), settled({ occurredAt: NOON - 9 * MINUTE_MS })],
    records: [listedAs()],
  },
  "whose settlement says that it is single-state, after the placement": {
    entries: [placed(), settled({ singleState: true })],
    records: [listedAs()],
  },
  "whose settlement says that it is not single-state, by the older word for its transaction": {
    entries: [placed(), settled({ singleState: false, transactionType: "BY_BET" })],
    records: [listedAs()],
  },
  "that moved what it asks for": {
    entries: [placed(answered("10", "0", "-10")), settled(answered("0", "25", "25"))],
    records: [listedAs()],
  },
};

const mismatchOf =
  (fields: { subject: string; betId?: string; txnId?: string; roundId?: string; status?: string }) =>
  (sql: Sql, productId: string) =>
    sql`insert into mismatches (product_id, username, subject, kind, status, bet_id, transaction_id, round_id, amount_at_risk,
      reason, occurred_at, first_seen_at, last_seen_at)
    values (${productId}, 'anna', ${fields.subject}, 'payout-differs', ${fields.status ?? "open"}, ${fields.betId ?? null},
      ${fields.txnId ?? null}, ${fields.roundId ?? null}, 0, 'because', now(), now(), now())`;

export const plain = { entries: [placed(), settled()], records: [listedAs()] };
export const elsewhere = { roundId: "round-2" };
/** Each breaks exactly one condition. */
export const uncertain: Readonly<Record<string, Round>> = {
  "that was never placed": { ...plain, entries: [settled()] },
  "that was never settled": { ...plain, entries: [placed()] },
  "that was placed twice": {
    ...plain,
    entries: [placed(), settled(), placed({ entryId: "p2", requestId: "p2" })],
  },
  "that was placed twice and never settled": {
    ...plain,
    entries: [placed(), placed({ entryId: "p2", requestId: "p2" })],
  },
  "that was placed once more, with another stake": {
    ...plain,
    entries: [placed(), settled(), placed({ entryId: "p2", requestId: "p2", betAmount: amount("9") })],
  },
  "that was settled twice": {
    ...plain,
    entries: [placed(), settled(), settled({ entryId: "s2", requestId: "s2" })],
  },
  "that was settled twice and never placed": {
    ...plain,
    entries: [settled(), settled({ entryId: "s2", requestId: "s2" })],
  },
  "that was placed and settled twice": {
    ...plain,
    entries: [
      placed(),
      settled(),
      placed({ entryId: "p2", requestId: "p2" }),
      settled({ entryId: "s2", requestId: "s2" }),
    ],
  },
  "that was settled in parts": {
    ...plain,
    entries: [placed(), settled(), settled({ entryId: "s2", payoutAmount: amount("0") })],
  },
  "whose settlement came first, and says that it is single-state": {
    ...plain,
    entries: [placed(), settled({ singleState: true, occurredAt: NOON - 9 * MINUTE_MS })],
  },
  "whose settlement came first, and says that it is not single-state": {
    ...plain,
    entries: [placed(), settled({ singleState: false, occurredAt: NOON - 9 * MINUTE_MS })],
  },
  "whose settlement says that it is single-state, at the moment of the placement": {
    ...plain,
    entries: [placed(), settled({ singleState: true, occurredAt: NOON - 5 * MINUTE_MS })],
  },
  "that was placed as WAITING": { ...plain, entries: [placed({ status: "WAITING" }), settled()] },
  "that was settled BY_ROUND": { ...plain, entries: [placed(), settled({ transactionType: "BY_ROUND" })] },
  "with any other callback": {
    ...plain,
    entries: [placed(), settled({ callback: "winRewards" })],
  },
  "whose placement was skipped": { ...plain, entries: [placed({ skipBalanceUpdate: true }), settled()] },
  "whose settlement was skipped": { ...plain, entries: [placed(), settled({ skipBalanceUpdate: true })] },
  "whose placement moved another amount": { ...plain, entries: [placed({ moved: amount("-9") }), settled()] },
  "whose settlement moved another amount": {
    ...plain,
    entries: [placed(), settled({ moved: amount("24") })],
  },
  "whose placement names no stake": { ...plain, entries: [placed({ betAmount: null }), settled()] },
  "whose settlement names no payout": { ...plain, entries: [placed(), settled({ payoutAmount: null })] },
  "whose balance changed by something else": {
    ...plain,
    entries: [placed(), settled(answered("0", "24", "25"))],
  },
  "whose balance changed by something else than was asked, if no entry says what moved": {
    ...plain,
    entries: [placed(), settled({ ...answered("0", "24", "25"), moved: null })],
  },
  "whose request has another item elsewhere, if no entry says what moved": {
    ...plain,
    entries: [
      placed(),
      settled({ ...answered("0", "25", "25"), moved: null }),
      settled({ ...answered("0", "25", "25"), ...elsewhere, entryId: "s2", txnId: "bet-2", moved: null }),
    ],
  },
  "whose request has another item elsewhere": {
    ...plain,
    entries: [
      placed(),
      settled(answered("0", "25", "25")),
      settled({ ...answered("0", "25", "25"), ...elsewhere, entryId: "s2", txnId: "bet-2" }),
    ],
  },
  "placed and settled in different currencies": {
    ...plain,
    entries: [placed(), settled({ currency: "USD" })],
  },
  "listed in another currency": { ...plain, records: [listedAs({ currency: "USD" })] },
  "listed with another stake": { ...plain, records: [listedAs({ stake: amount("11") })] },
  "listed with another stake and another payout": {
    ...plain,
    records: [listedAs({ stake: amount("11"), payout: amount("26") })],
  },
  "listed with another payout": { ...plain, records: [listedAs({ payout: amount("26") })] },
  "that is not listed": { ...plain, records: [] },
  "without a callback": { ...plain, entries: [] },
  "listed as running": { ...plain, records: [listedAs({ betStatus: "UNSETTLED" })] },
  "listed as a win that pays nothing": {
    entries: [placed(), settled({ payoutAmount: amount("0") })],
    records: [listedAs({ payout: amount("0") })],
  },
  "listed as a loss that pays more than its stake": {
    ...plain,
    records: [listedAs({ payoutStatus: "LOSE" })],
  },
  "listed for another player": { ...plain, records: [listedAs({ username: "bob" })] },
  "whose record a later fetch has missed": {
    ...plain,
    before: (
      sql,
      productId,
    ) => sql`insert into record_absences (product_id, username, bet_id, id, missed_since)
      values (${productId}, 'anna', 'bet-1', 'rec-1', now())`,
  },
  "listed twice": { ...plain, records: [listedAs(), listedAs({ id: "rec-2" })] },
  "of which one bet more is listed": {
    ...plain,
    records: [listedAs(), listedAs({ betId: "bet-2", id: "rec-2" })],
  },
  "listed in another round": { ...plain, records: [listedAs(elsewhere)] },
  "settled in another round": { ...plain, entries: [placed(), settled(elsewhere)] },
  "with a callback that names no round": { ...plain, entries: [placed(), settled({ roundId: null })] },
  "whose bet another round knows": {
    ...plain,
    entries: [placed(), settled(), settled({ ...elsewhere, entryId: "s2", callback: "winRewards" })],
  },
  "whose record's id is a bet of another round": {
    ...plain,
    entries: [placed(), settled(), placed({ ...elsewhere, entryId: "p2", txnId: "rec-1" })],
  },
  "whose bet is the id of another record": {
    ...plain,
    records: [listedAs(), listedAs({ ...elsewhere, betId: "bet-2", id: "bet-1" })],
  },
  "whose bet another player has": {
    ...plain,
    entries: [placed(), settled(), placed({ username: "bob", entryId: "p2", ...elsewhere })],
  },
  "whose bet is listed for another player as well": {
    ...plain,
    records: [listedAs(), listedAs({ ...elsewhere, username: "bob" })],
  },
  "whose bet is the id of another player's record": {
    ...plain,
    records: [listedAs(), listedAs({ ...elsewhere, username: "bob", betId: "bet-2", id: "bet-1" })],
  },
  "with an open mismatch of its bet": { ...plain, before: mismatchOf({ subject: "bet:bet-1" }) },
  "with an acknowledged one": {
    ...plain,
    before: mismatchOf({ subject: "bet:bet-1", status: "acknowledged" }),
  },
  "with an open mismatch of its record's id": { ...plain, before: mismatchOf({ subject: "bet:rec-1" }) },
  "with an open mismatch of its record": {
    ...plain,
    before: mismatchOf({ subject: 'record:["bet-1","rec-1"]', betId: "bet-1" }),
  },
  "with an open mismatch of the bet under another id": {
    ...plain,
    before: mismatchOf({ subject: "bet:x", txnId: "bet-1" }),
  },
  "with an open mismatch of its round": { ...plain, before: mismatchOf({ subject: "round:round-1" }) },
  "with an open mismatch that names its round": {
    ...plain,
    before: mismatchOf({ subject: "bet:x", roundId: "round-1" }),
  },
  "with an open mismatch of its request": {
    ...plain,
    before: mismatchOf({ subject: 'request:["settleBets","s"]' }),
  },
};
