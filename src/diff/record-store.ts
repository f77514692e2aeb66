/** The records that a comparison needs, and those that the provider no longer returns. */

import type { StoredRecord } from "../bet.ts";
import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { mapInTurns } from "../in-turns.ts";
import { parseAmount } from "../money.ts";

/**
 * The most rows to read. A caller that asks for one row more than it can use learns whether there are more. A
 * comparison loads no text of unlimited length (ids are limited when they are stored), so a limit of rows is also
 * one of bytes.
 */
export interface MostRows {
  /** of one round; null: all */
  readonly ofRound: number | null;
  readonly inAll: number | null;
}

export interface RecordKeys {
  /** [username, roundId] */
  readonly rounds: readonly (readonly [string, string])[];
  /** [username, betId or id] */
  readonly bets: readonly (readonly [string, string])[];
}

/** A record as PostgreSQL gives it: amounts are decimal text. */
export type RecordRow = Omit<StoredRecord, "stake" | "payout"> & {
  readonly stake: string;
  readonly payout: string;
};

/**
 * The records of some rounds, and the records with one of some ids. A record that several keys name is returned
 * several times.
 * @param most the most rows of one round, and of all keys together
 */
export async function readRecords(
  tx: Query,
  productId: string,
  keys: RecordKeys,
  most: MostRows,
): Promise<StoredRecord[]> {
  const roundUsers = keys.rounds.map(([username]) => username);
  const roundIds = keys.rounds.map(([, roundId]) => roundId);
  const betUsers = keys.bets.map(([username]) => username);
  const betRefs = keys.bets.map(([, ref]) => ref);
  const columns = recordColumns(tx);
  // "offset 0" makes PostgreSQL search each key by its index, however few rows the planner assumes.
  const rows = await tx<RecordRow[]>`
    select found.* from unnest(${roundUsers}::text[], ${roundIds}::text[]) as k (username, round_id)
    cross join lateral (select ${columns} from bet_records r
      where r.product_id = ${productId} and r.username = k.username and r.round_id = k.round_id
      limit ${most.ofRound} offset 0) found
    union all
    select found.* from unnest(${betUsers}::text[], ${betRefs}::text[]) as k (username, ref)
    cross join lateral (
      (select ${columns} from bet_records r
        where r.product_id = ${productId} and r.username = k.username and r.bet_id = k.ref offset 0)
      union all
      (select ${columns} from bet_records r
        where r.product_id = ${productId} and r.id = k.ref and r.username = k.username and r.bet_id <> k.ref offset 0)
    ) found
    limit ${most.inAll}`;
  return await mapInTurns(rows, toRecord);
}

/** The columns of a `RecordRow`, from `bet_records r`. */
export function recordColumns(tx: Query) {
  return tx`r.product_id as "productId", r.username, r.bet_id as "betId", r.id, r.round_id as "roundId", r.currency,
    r.stake, r.payout, r.bet_status as "betStatus",
    r.payout_status as "payoutStatus",
    to_char(${readable(tx, "accounting_date")} at time zone 'UTC', ${ISO_FORMAT}) as "accountingDate",
    to_char(${readable(tx, "updated_date")} at time zone 'UTC', ${ISO_FORMAT}) as "updatedDate",
    r.version_seen_at as "versionSeenAt", r.requested_at as "requestedAt"`;
}

/** The record of a row, with its amounts as exact decimals. */
export function toRecord(row: RecordRow): StoredRecord {
  return { ...row, stake: parseAmount(row.stake, "stake"), payout: parseAmount(row.payout, "payout") };
}

/**
 * A date clamped to years of four digits, because its text needs them. A provider may write "no date yet" as the
 * last moment of 9999, which the database rounds up, or as the first of year 1 in a time zone further east.
 */
function readable(tx: Query, column: "accounting_date" | "updated_date") {
  return tx`greatest(least(r.${tx(column)}, '9999-12-31T23:59:59.999Z'), '0001-01-01T00:00:00Z')`;
}

const ISO_FORMAT = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

type RecordKey = Pick<StoredRecord, "username" | "betId" | "id">;

/** A record that a complete pass did not return, and that no later pass returned either. */
export interface NotedAbsence extends RecordKey {
  /** the time at which that pass read its last page */
  readonly missedAt: Instant;
  /** the absence is certain from this time on; null: the record is in doubt */
  readonly absentSince: Instant | null;
}

/**
 * The noted absences of some records, without records that the provider lists under another of their times (decision
 * 106).
 */
export async function readNotedAbsences(
  tx: Query,
  productId: string,
  records: readonly StoredRecord[],
): Promise<NotedAbsence[]> {
  if (records.length === 0) return [];
  return await tx<NotedAbsence[]>`
    select a.username, a.bet_id as "betId", a.id, coalesce(a.missed_at, a.missed_since) as "missedAt",
      a.absent_since as "absentSince"
    from record_absences a
    join unnest(${records.map((r) => r.username)}::text[], ${records.map((r) => r.betId)}::text[],
      ${records.map((r) => r.id)}::text[]) as k (username, bet_id, id) using (username, bet_id, id)
    where a.product_id = ${productId} and not a.elsewhere`;
}

/** Stores that these records are absent, because the windows that prove it are deleted later. */
export async function writeAbsent(
  tx: Query,
  productId: string,
  records: readonly RecordKey[],
  now: Instant,
): Promise<void> {
  if (records.length === 0) return;
  await tx`
    update record_absences a set absent_since = ${now}
    from unnest(${records.map((r) => r.username)}::text[], ${records.map((r) => r.betId)}::text[],
      ${records.map((r) => r.id)}::text[]) as k (username, bet_id, id)
    where a.product_id = ${productId} and a.username = k.username and a.bet_id = k.bet_id and a.id = k.id`;
}
