/** The corrections of closed days in PostgreSQL, and the marks of what may have changed them. */

import { formatInstant, type Instant } from "../clock.ts";
import type { Correction } from "../closed.ts";
import type { Query } from "../db/client.ts";
import type { TimeRange } from "../window.ts";

/** The time of the corrections of a transaction: the database's, and not before the end of the closed time. */
export async function readCorrectionTime(tx: Query): Promise<Instant> {
  const [row] = await tx<{ at: Instant }[]>`
    select greatest(date_trunc('milliseconds', clock_timestamp()), (select max(to_at) from closed_days)) as at`;
  return row?.at ?? 0;
}

/** @param replaced for each correction the rows of `closed_bets` that it replaces, as JSON; null: none that its day was closed with */
export async function writeCorrections(
  tx: Query,
  corrections: readonly Omit<Correction, "at">[],
  at: Instant,
  replaced: readonly (string | null)[] = [],
): Promise<void> {
  if (corrections.length === 0) return;
  await tx`
    insert into corrections (day, at, correction, replaced)
    select * from unnest(${corrections.map(({ day }) => day)}::text[]::date[], ${corrections.map(() => at)}::timestamptz[],
      ${corrections.map((one) => JSON.stringify({ ...one, at: formatInstant(at) }))}::text[]::jsonb[],
      ${corrections.map((_, index) => replaced[index] ?? null)}::text[]::jsonb[])`;
}

/** The corrections that arrived in a range of time, in the order of their arrival. */
export async function readArrived(tx: Query, { from, to }: TimeRange): Promise<Correction[]> {
  const rows = await tx<{ correction: Correction }[]>`
    select correction from corrections where at >= ${from} and at < ${to} order by id`;
  return rows.map(({ correction }) => correction);
}

/** The corrections of the closed days of a month, in the order of their arrival. @param month YYYY-MM */
export async function readCorrectionsOf(tx: Query, month: string): Promise<Correction[]> {
  const rows = await tx<{ correction: Correction }[]>`
    select correction from corrections
    where day >= ${`${month}-01`}::text::date and day < ${`${month}-01`}::text::date + interval '1 month' order by id`;
  return rows.map(({ correction }) => correction);
}

/** The corrections of one closed day, in the order of their arrival. */
export async function readCorrectionsOfDay(tx: Query, day: string, most: number): Promise<Correction[]> {
  const rows = await tx<{ correction: Correction }[]>`
    select correction from corrections where day = ${day}::text::date order by id limit ${most}`;
  return rows.map(({ correction }) => correction);
}

/** A round, a bet or a session that was compared, or whose mismatch changed. */
export interface ClosingMark {
  readonly productId: string;
  readonly username: string;
  readonly roundId: string | null;
  /** "session:…" names a session by its beginning */
  readonly betRef: string | null;
}

/** Takes the oldest marks of some products. @returns all marks of the taken rows; `upTo` is the id of the last row; null: there was none */
export async function takeClosingMarks(
  tx: Query,
  productIds: readonly string[],
  upTo: number,
  mostRows: number,
): Promise<{ readonly marks: readonly ClosingMark[]; readonly rows: number }> {
  const rows = await tx<
    { productId: string; usernames: string[]; roundIds: (string | null)[]; betRefs: (string | null)[] }[]
  >`
    delete from closing_marks
    where id in (select id from closing_marks
      where id <= ${upTo} and product_id = any(${productIds}::text[]) order by id limit ${mostRows})
    returning product_id as "productId", usernames, round_ids as "roundIds", bet_refs as "betRefs"`;
  const marks = rows.flatMap(({ productId, usernames, roundIds, betRefs }) =>
    usernames.map((username, index) => ({
      productId,
      username,
      roundId: roundIds[index] ?? null,
      betRef: betRefs[index] ?? null,
    })),
  );
  return { marks, rows: rows.length };
}

/** The id of the newest row of marks of some products; 0: there is none. */
export async function readNewestMark(tx: Query, productIds: readonly string[]): Promise<number> {
  const [row] = await tx<{ newest: number }[]>`
    select coalesce(max(id), 0) as newest from closing_marks where product_id = any(${productIds}::text[])`;
  return row?.newest ?? 0;
}

/** Writes a mark again, at the end. */
export async function writeMarkAgain(
  tx: Query,
  { productId, username, roundId, betRef }: ClosingMark,
): Promise<void> {
  await tx`
    insert into closing_marks (product_id, usernames, round_ids, bet_refs)
    values (${productId}, array[${username}::text], array[${roundId}::text], array[${betRef}::text])`;
}

/** Marks of changes that no correction states yet, and of changes that are to be compared now. Takes none of them. */
export async function readWaitingMarks(
  tx: Query,
  productId: string,
  now: Instant,
  most: number,
): Promise<ClosingMark[]> {
  return await tx<ClosingMark[]>`
    select distinct ${productId} as "productId", k.username, k.round_id as "roundId", k.ref as "betRef"
    from ((select usernames, round_ids, bet_refs from closing_marks
        where product_id = ${productId} order by id limit ${most})
      union all
      (select usernames, round_ids, bet_refs from diff_marks
        where product_id = ${productId} and due_at <= ${now} order by due_at limit ${most})) m
    cross join lateral unnest(m.usernames, m.round_ids, m.bet_refs) as k (username, round_id, ref)
    limit ${most}`;
}

/**
 * The marks that can concern closed time: a bet is stored for a closed day, or an entry or a record lies before the
 * end of the closed time. Most marks concern open time only.
 * @param from only what lies then or later; null: any time
 */
export async function keepMarksBefore(
  tx: Query,
  productId: string,
  marks: readonly ClosingMark[],
  upTo: Instant,
  from: Instant | null = null,
): Promise<ClosingMark[]> {
  const later = (time: ReturnType<Query>) => (from === null ? tx`` : tx`and found.${time} >= ${from}`);
  const onDays =
    from === null
      ? tx``
      : tx`and c.day in (select day from closed_days where from_at >= ${from} and from_at < ${upTo})`;
  // "offset 0" makes PostgreSQL search each mark by an index.
  const found = (inner: ReturnType<Query>) => tx`exists (select from (${inner} offset 0) found)`;
  const entry = tx`select e.occurred_at as at from callback_entries e where e.product_id = ${productId} and e.username = k.username`;
  const record = tx`select r.* from bet_records r where r.product_id = ${productId}`;
  const before = (rows: ReturnType<Query>, time: ReturnType<Query>) =>
    tx`exists (select from (${rows} offset 0) found where found.${time} < ${upTo} ${later(time)})`;
  return await tx<ClosingMark[]>`
    select ${productId} as "productId", k.username, k.round_id as "roundId", k.ref as "betRef"
    from (select distinct * from unnest(${marks.map(({ username }) => username)}::text[],
      ${marks.map(({ roundId }) => roundId)}::text[], ${marks.map(({ betRef }) => betRef)}::text[]) as k (username, round_id, ref)) k
    where k.round_id is not null and (
        ${found(tx`select from closed_bets c where c.product_id = ${productId} and c.username = k.username and c.subject = 'round:' || k.round_id ${onDays}`)}
        or ${before(tx`${entry} and e.round_id = k.round_id`, tx`at`)}
        or ${before(tx`${record} and r.username = k.username and r.round_id = k.round_id`, tx`accounting_date`)})
      or k.ref is not null and (
        ${found(tx`select from closed_bets c where c.product_id = ${productId} and c.username = k.username and c.subject = 'bet:' || k.ref ${onDays}`)}
        or ${before(tx`${entry} and e.txn_id = k.ref`, tx`at`)}
        or ${before(tx`${record} and r.bet_id = k.ref`, tx`accounting_date`)}
        or ${before(tx`${record} and r.id = k.ref`, tx`accounting_date`)}
        or exists (select from (${record} and r.bet_id = k.ref and r.username = k.username offset 0) named
          where ${before(tx`${entry} and e.txn_id = named.id`, tx`at`)}))`;
}

/**
 * Without the marks of bets that are pending on a day whose gap of the product was accepted: comparing looks at them again and
 * again until the time is fetched, and nothing of them changes.
 */
export async function dropMarksInGaps(
  tx: Query,
  productId: string,
  marks: readonly ClosingMark[],
): Promise<ClosingMark[]> {
  return await tx<ClosingMark[]>`
    select ${productId} as "productId", k.username, k.round_id as "roundId", k.ref as "betRef"
    from unnest(${marks.map(({ username }) => username)}::text[], ${marks.map(({ roundId }) => roundId)}::text[],
      ${marks.map(({ betRef }) => betRef)}::text[]) as k (username, round_id, ref)
    where not exists (select from closed_bets c join closed_days d using (day)
      where c.product_id = ${productId} and c.username = k.username and c.pending <> 0
        and (c.subject = 'round:' || k.round_id or c.bet_ref = k.ref)
        and d.statement -> 'acceptedGaps' @> jsonb_build_array(jsonb_build_object('productId', ${productId}::text)))`;
}
