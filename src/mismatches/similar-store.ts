/** Finds mismatches that are like another one: of the same kind and time, the same player, or the same round. */

import { formatInstant, type Instant, parseInstant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { MISMATCH_STATUSES, type Mismatch, type MismatchKind, type MismatchStatus } from "../mismatch.ts";

/** The most mismatches to count. A reviewer needs to know that there are many, not the exact number. */
const MOST_COUNTED = 1_000;
const MOST_OF_ROUND = 10;
/** Mismatches of one cause are first seen soon after each other. */
const AROUND_MS = 3_600_000;

/** `isMore`: there are more than the count. */
export interface SimilarCount {
  readonly count: number;
  readonly isMore: boolean;
}

export interface Similar {
  /** of the same product and kind, first seen in this time; ISO 8601 */
  readonly ofKind: SimilarCount & { readonly from: string; readonly to: string };
  /** of the same player, in any product */
  readonly ofPlayer: SimilarCount;
  /** of the same round; null: the mismatch names no round */
  readonly ofRound: {
    readonly found: readonly {
      readonly id: string;
      readonly kind: MismatchKind;
      readonly status: MismatchStatus;
    }[];
    readonly isMore: boolean;
  } | null;
}

type Subject = Pick<Mismatch, "id" | "productId" | "kind" | "username" | "roundId" | "firstSeenAt">;

/** @param round null: not of a round */
export async function readSimilar(sql: Query, subject: Subject, round: string | null): Promise<Similar> {
  const at = parseInstant(subject.firstSeenAt, "firstSeenAt");
  const range = { from: at - AROUND_MS, to: at + AROUND_MS };
  const [ofKind, ofPlayer, ofRound] = await Promise.all([
    countOfKind(sql, subject, range),
    countOfPlayer(sql, subject),
    round === null ? null : findOfRound(sql, subject, round),
  ]);
  return {
    ofKind: { ...ofKind, from: formatInstant(range.from), to: formatInstant(range.to) },
    ofPlayer,
    ofRound,
  };
}

/** Each status is read by its own index on the time. */
async function countOfKind(
  sql: Query,
  { id, productId, kind }: Subject,
  { from, to }: { readonly from: Instant; readonly to: Instant },
): Promise<SimilarCount> {
  const parts = MISMATCH_STATUSES.map(
    (status) => sql`(select id from mismatches where status = ${status} and first_seen_at >= ${from}
      and first_seen_at < ${to} and product_id = ${productId} and kind = ${kind} and id <> ${Number(id)}
      limit ${MOST_COUNTED + 1})`,
  );
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from (${parts.reduce((all, part) => sql`${all} union all ${part}`)}) found`;
  return capped(row?.count ?? 0);
}

async function countOfPlayer(sql: Query, { id, username }: Subject): Promise<SimilarCount> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from (
      select id from mismatches where username = ${username} and id <> ${Number(id)} limit ${MOST_COUNTED + 1}) found`;
  return capped(row?.count ?? 0);
}

/** Searches the mismatches of the player, because no index has the rounds. */
async function findOfRound(
  sql: Query,
  { id, productId, username }: Subject,
  round: string,
): Promise<NonNullable<Similar["ofRound"]>> {
  const rows = await sql<{ id: number; kind: MismatchKind; status: MismatchStatus }[]>`
    with own as (
      select id, kind, status, product_id, round_id from mismatches
      where username = ${username} order by id desc limit ${MOST_COUNTED}
    )
    select id, kind, status from own
    where product_id = ${productId} and round_id = ${round} and id <> ${Number(id)}
    order by id limit ${MOST_OF_ROUND + 1}`;
  return {
    found: rows
      .slice(0, MOST_OF_ROUND)
      .map((one) => ({ id: String(one.id), kind: one.kind, status: one.status })),
    isMore: rows.length > MOST_OF_ROUND,
  };
}

function capped(count: number): SimilarCount {
  return { count: Math.min(count, MOST_COUNTED), isMore: count > MOST_COUNTED };
}
