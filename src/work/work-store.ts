/** The progress of each kind of work in PostgreSQL: written by the worker, read by all processes. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** Work that must go on (docs/alerts.md#what-stands-still), the queues whose jobs do it, and what only a page shows. */
export type WorkKind =
  | "pulling"
  | "comparing"
  | "following"
  | "verifying"
  | "closing"
  | "alerting"
  | "queue"
  | "heartbeat"
  | "retention";

export interface WorkName {
  readonly work: WorkKind;
  /** a product, a relation, a queue; empty: all of it */
  readonly subject: string;
}

export interface WorkState extends WorkName {
  /** the beginning of the present run of work without a long pause; null: the work was never done */
  readonly since: Instant | null;
  /** when the work was last done, or last went on; null: never */
  readonly doneAt: Instant | null;
  /** of comparing: everything that had arrived by this time was judged; null: no comparison has finished yet */
  readonly upTo: Instant | null;
  /** the first of the failures in a row; null: the last run succeeded */
  readonly failingSince: Instant | null;
  /** the number of failures in a row */
  readonly failures: number;
  readonly failedAt: Instant | null;
  /** the code of the last failure; null: an error without a code of this program */
  readonly errorCode: string | null;
  readonly error: string | null;
  /** of a queue: the interval of its jobs, in milliseconds */
  readonly everyMs: number | null;
}

const LEAST_PAUSE_MS = 240_000;

/** The longest pause within one run of work. After a longer pause `since` begins again. */
export function longestPause(everyMs: number): number {
  return Math.max(LEAST_PAUSE_MS, 3 * everyMs);
}

/** Notes that work was done, or went on. No time goes back. @param upTo as in `WorkState`; null: unchanged */
export async function noteDone(
  sql: Query,
  { work, subject }: WorkName,
  at: Instant,
  { upTo = null, everyMs = 0 }: { readonly upTo?: Instant | null; readonly everyMs?: number } = {},
): Promise<void> {
  const pauseFrom = at - longestPause(everyMs);
  await sql`
    insert into work_states (work, subject, since, done_at, up_to)
    values (${work}, ${subject}, ${at}, ${at}, ${upTo})
    on conflict (work, subject) do update set
      since = case when work_states.done_at >= ${pauseFrom} then coalesce(work_states.since, excluded.since)
        else excluded.since end,
      done_at = greatest(work_states.done_at, excluded.done_at),
      up_to = greatest(work_states.up_to, excluded.up_to),
      failing_since = null, failures = 0, failed_at = null, error_code = null, error = null`;
}

export interface WorkFailure {
  /** the code of a ReconError; null: another error */
  readonly code: string | null;
  readonly message: string;
  /** the number of failures since the last note */
  readonly times?: number;
}

const LONGEST_MESSAGE = 500;

export async function noteFailed(
  sql: Query,
  { work, subject }: WorkName,
  at: Instant,
  { code, message, times = 1 }: WorkFailure,
): Promise<void> {
  const sentence = message.replace(/:\s*\n\s*/g, ": ").replace(/\s*\n\s*/g, "; ");
  const error = sentence.slice(0, LONGEST_MESSAGE).replaceAll("\0", "\ufffd").toWellFormed();
  await sql`
    insert into work_states (work, subject, failing_since, failures, failed_at, error_code, error)
    values (${work}, ${subject}, ${at}, ${times}, ${at}, ${code}, ${error})
    on conflict (work, subject) do update set
      failing_since = coalesce(work_states.failing_since, excluded.failing_since),
      failures = least(work_states.failures + excluded.failures, 1000000),
      failed_at = excluded.failed_at, error_code = excluded.error_code, error = excluded.error`;
}

/** The number of failures in a row of some work. */
export async function readFailures(sql: Query, { work, subject }: WorkName): Promise<{ failures: number }> {
  const [row] = await sql<{ failures: number }[]>`
    select failures from work_states where work = ${work} and subject = ${subject}`;
  return { failures: row?.failures ?? 0 };
}

/** The time by which everything of a product was compared; null: nothing yet; undefined: no worker compares it. */
export async function readComparedUpTo(sql: Query, productId: string): Promise<Instant | null | undefined> {
  const [row] = await sql<{ upTo: Instant | null }[]>`
    select up_to as "upTo" from work_states where work = 'comparing' and subject = ${productId}`;
  return row?.upTo;
}

/** A queue as a worker opens it. */
export interface ServedQueue {
  readonly queue: string;
  readonly everyMs: number;
}

/** Replaces the watched queues. A queue that no worker serves any more is not a stall. */
export async function writeQueues(sql: Query, queues: readonly ServedQueue[]): Promise<void> {
  await sql`
    with gone as (
      delete from work_states where work = 'queue' and subject <> all(${queues.map(({ queue }) => queue)}::text[])
    )
    insert into work_states (work, subject, every_ms)
    select 'queue', queue, every_ms
    from unnest(${queues.map(({ queue }) => queue)}::text[], ${queues.map(({ everyMs }) => everyMs)}::bigint[])
      as served (queue, every_ms)
    on conflict (work, subject) do update set every_ms = excluded.every_ms`;
}
