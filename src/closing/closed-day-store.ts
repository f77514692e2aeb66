/** The closed days in PostgreSQL (decision 153). */

import type { Instant } from "../clock.ts";
import type { Query, Sql } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import type { TimeRange } from "../window.ts";
import type { ZonedDay } from "./day-bounds.ts";
import { bodyOf, type ClosedBounds, type Statement, type StatementBody, StatementDays } from "./statement.ts";

/** A stored closed day. */
export interface ClosedDay extends Statement {
  readonly hash: string;
}

/** The tables whose triggers note what may change a closed day; they have no other triggers. */
const NOTED = ["diff_marks", "mismatches"] as const;

/** The closed time, which has no gap from the first closed day on; null: no day is closed. */
export async function readClosedTime(tx: Query): Promise<TimeRange | null> {
  const [row] = await tx<{ from: Instant | null; to: Instant | null }[]>`
    select min(from_at) as "from", max(to_at) as "to" from closed_days`;
  const { from = null, to = null } = row ?? {};
  return from === null || to === null ? null : { from, to };
}

/**
 * Makes the triggers note changes, before the first day is closed. Changes the catalogue and not a row, because a
 * comparison with an older snapshot would not see a row. `alter table` waits for all transactions that have written
 * to the table.
 * @throws ReconError `conflict` if that takes too long
 */
export async function startNoting(sql: Sql): Promise<void> {
  const [state] = await sql`select from closing_states`;
  if (state !== undefined) return;
  for (const table of NOTED) {
    await orBusy(() =>
      sql.begin(async (tx) => {
        // Live work waits behind a statement that waits for a table.
        await tx`select set_config('lock_timeout', '2s', true)`;
        await tx.unsafe(`alter table ${table} enable trigger user`);
      }),
    );
  }
  await sql`insert into closing_states (id) values (1) on conflict do nothing`;
}

/**
 * Lets only one transaction close days or correct them. Must be the first statement of its transaction: the snapshot
 * of the transaction begins afterwards.
 * @throws ReconError `conflict` if the wait is too long
 */
export async function lockClosing(tx: Query): Promise<void> {
  await orBusy(async () => await tx`lock table closing_states in exclusive mode`);
}

async function orBusy(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if ((error as { code?: string }).code !== "55P03") throw error;
    throw new ReconError("conflict", "other work holds what closing a day needs; try again in a minute", {
      cause: error,
      retryable: true,
    });
  }
}

/** The closed day with the highest number; null: no day is closed. */
export async function readLastClosed(tx: Query): Promise<ClosedDay | null> {
  const [row] = await tx<ClosedDayRow[]>`
    select ${columns(tx)} from closed_days order by number desc limit 1`;
  return row === undefined ? null : toClosedDay(row);
}

/** The number of the last closed day; 0: no day is closed. */
export async function readLastNumber(tx: Query): Promise<number> {
  const [row] = await tx<{ number: number }[]>`select coalesce(max(number), 0) as number from closed_days`;
  return row?.number ?? 0;
}

/** @returns null: the day is open */
export async function readClosedDay(tx: Query, day: string): Promise<ClosedDay | null> {
  const [row] = await tx<
    ClosedDayRow[]
  >`select ${columns(tx)} from closed_days where day = ${day}::text::date`;
  return row === undefined ? null : toClosedDay(row);
}

/** The last closed day before a date that has none of its own; null: none is closed before it. */
export async function readClosedBefore(tx: Query, date: string): Promise<string | null> {
  const [row] = await tx<{ day: string }[]>`
    select day::text as day from closed_days where day < ${date}::text::date order by number desc limit 1`;
  return row?.day ?? null;
}

/** Closed days by their number, from `after` (exclusive) on. */
export async function readClosedDays(tx: Query, after: number, most: number): Promise<ClosedDay[]> {
  const rows = await tx<ClosedDayRow[]>`
    select ${columns(tx)} from closed_days where number > ${after} order by number limit ${most}`;
  return rows.map(toClosedDay);
}

/** The closed days with a date of a month, in their order. @param month YYYY-MM */
export async function readClosedDaysOf(tx: Query, month: string): Promise<ClosedDay[]> {
  const rows = await tx<ClosedDayRow[]>`
    select ${columns(tx)} from closed_days
    where day >= ${`${month}-01`}::text::date and day < ${`${month}-01`}::text::date + interval '1 month' order by number`;
  return rows.map(toClosedDay);
}

/** The bounds of all closed days, in their order: consecutive ranges. */
export async function readClosedBounds(tx: Query): Promise<ClosedBounds[]> {
  return await tx`select day::text as day, from_at as "from", to_at as "to" from closed_days order by number`;
}

/** Each with the day in whose statement it counts, as the days are closed now; null: in none. */
export async function withStatementDays<Counted extends { readonly countsAt: Instant | null }>(
  tx: Query,
  zone: string,
  found: readonly Counted[],
): Promise<(Omit<Counted, "countsAt"> & { readonly countsOn: string | null })[]> {
  const isCounted = found.some(({ countsAt }) => countsAt !== null);
  const days = isCounted ? new StatementDays(await readClosedBounds(tx), zone) : null;
  return found.map(({ countsAt, ...one }) => ({
    ...one,
    countsOn: countsAt === null ? null : (days?.dayAt(countsAt) ?? null),
  }));
}

/** Stores a closed day. */
export async function writeClosedDay(tx: Query, closed: ClosedDay): Promise<void> {
  const { day, zone, from, to, number, closedAt, hash, previousHash } = closed;
  const statement = bodyOf(closed);
  await tx`
    insert into closed_days (day, zone, from_at, to_at, number, closed_at, hash, previous_hash, statement)
    values (${day}::text::date, ${zone}, ${from}, ${to}, ${number}, ${closedAt}, ${hash}, ${previousHash},
      ${JSON.stringify(statement)}::text::jsonb)`;
}

type ClosedDayRow = ZonedDay &
  Pick<ClosedDay, "number" | "closedAt" | "hash" | "previousHash"> & { readonly statement: StatementBody };

function columns(tx: Query) {
  return tx`day::text as day, zone, from_at as "from", to_at as "to", number, closed_at as "closedAt", hash,
    previous_hash as "previousHash", statement`;
}

function toClosedDay({ statement, ...day }: ClosedDayRow): ClosedDay {
  return { ...day, ...bodyOf(statement) };
}
