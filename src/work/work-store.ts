/** The progress of each kind of work in PostgreSQL: written by the worker, read by all processes. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";

/** Work that must go on (docs/alerts.md#what-stands-still), and the queues whose jobs do it. */
export type WorkKind = "pulling" | "comparing" | "following" | "verifying" | "alerting" | "queue";

export interface WorkName {
  readonly work: WorkKind;
  /** a product, a relation, a queue; empty: all of it */
  readonly subject: string;
}

export interface WorkState extends WorkName {
  /** since when it was done again and again without a pause; null: it was never done */
  readonly since: Instant | null;
  /** when it was last done, or went on; null: never */
  readonly doneAt: Instant | null;
  /** of comparing: what had arrived by then was judged; null: never to the end */
  readonly upTo: Instant | null;
  /** since when it has failed each time; null: the last time it did not */
  readonly failingSince: Instant | null;
  /** how often in a row */
  readonly failures: number;
  readonly failedAt: Instant | null;
  /** of the last failure; null: it was no error of ours */
  readonly errorCode: string | null;
  readonly error: string | null;
  /** of a queue: how often its jobs are due */
  readonly everyMs: number | null;
}

const LEAST_PAUSE_MS = 240_000;

/** After a longer pause `since` begins again: `since` says for how long the work has run without a pause. */
export function longestPause(everyMs: number): number {
  return Math.max(LEAST_PAUSE_MS, 3 * everyMs);
}

/** Work was done, or went on. No time goes back. @param upTo of comparing, as `WorkState` says; null: as it was */
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
  /** of an error of ours; null: it is another one */
  readonly code: string | null;
  readonly message: string;
  /** so often since it was noted last */
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

/** How often in a row some work has failed. */
export async function readFailures(sql: Query, { work, subject }: WorkName): Promise<{ failures: number }> {
  const [row] = await sql<{ failures: number }[]>`
    select failures from work_states where work = ${work} and subject = ${subject}`;
  return { failures: row?.failures ?? 0 };
}

/** A queue as a worker opens it. */
export interface ServedQueue {
  readonly queue: string;
  readonly everyMs: number;
}

/** Makes these the queues that are watched: what no worker serves any more is no stall. */
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
