/**
 * The progress of each kind of work in PostgreSQL: workers write it, all processes read it. The queues cannot be asked while
 * they are down, and forget what ran. `readWorkFacts` reads it
 * together with the waiting work, from a few index rows for each product.
 */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { Measured, MoneySeen } from "../money-outside.ts";

export async function writeMoneyState<Name extends keyof MoneySeen>(
  sql: Query,
  name: Name,
  settings: string,
  { measuredAt, tookMs, content }: NonNullable<MoneySeen[Name]>,
): Promise<void> {
  await sql`
    insert into money_states (name, measured_at, took_ms, settings, content)
    values (${name}, ${measuredAt}, ${Math.round(tookMs)}, ${settings}, ${JSON.stringify(content)}::text::jsonb)
    on conflict (name) do update set measured_at = excluded.measured_at, took_ms = excluded.took_ms,
      settings = excluded.settings, content = excluded.content`;
}

/**
 * The measurements that were made with these settings. A measurement with other settings says nothing about these, but books
 * that are wrong stay wrong.
 */
export async function readMoneyStates(sql: Query, settings: string): Promise<MoneySeen> {
  const rows = await sql<(Measured<never> & { readonly name: keyof MoneySeen })[]>`
    select name, measured_at as "measuredAt", took_ms as "tookMs", content from money_states
    where settings = ${settings} or name = 'books'`;
  const stateOf = (wanted: keyof MoneySeen) => {
    const found = rows.find(({ name }) => name === wanted);
    return found === undefined
      ? null
      : { measuredAt: found.measuredAt as Instant, tookMs: found.tookMs, content: found.content };
  };
  return { outside: stateOf("outside"), sums: stateOf("sums"), books: stateOf("books") };
}

/**
 * Work that must continue (docs/alerts.md#work-that-has-stopped), the queues whose jobs do it, and the heartbeat and retention, which only a
 * page shows.
 */
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
  /** when the work last made progress; null: never */
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
  /** the interval of a queue's jobs, in milliseconds */
  readonly everyMs: number | null;
}

const LEAST_PAUSE_MS = 240_000;

/** The longest pause that does not interrupt a run of work. After a longer one, `since` begins again. */
export function longestPause(everyMs: number): number {
  return Math.max(LEAST_PAUSE_MS, 3 * everyMs);
}

/** Stores that work made progress. No stored time moves back. @param upTo as in `WorkState`; null: unchanged */
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

interface WorkFailure {
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

/** The failures in a row of some work, and the sentence of the last one; null: the last run succeeded. */
export async function readFailures(
  sql: Query,
  { work, subject }: WorkName,
): Promise<{ readonly failures: number; readonly error: string | null }> {
  const [row] = await sql<{ failures: number; error: string | null }[]>`
    select failures, case when failing_since is not null then error end as error
    from work_states where work = ${work} and subject = ${subject}`;
  return row ?? { failures: 0, error: null };
}

/** The time by which everything of a product was compared; null: nothing yet; undefined: no worker compares it. */
export async function readComparedUpTo(sql: Query, productId: string): Promise<Instant | null | undefined> {
  const [row] = await sql<{ upTo: Instant | null }[]>`
    select up_to as "upTo" from work_states where work = 'comparing' and subject = ${productId}`;
  return row?.upTo;
}

/** A queue as a worker opens it. */
interface ServedQueue {
  readonly queue: string;
  readonly everyMs: number;
}

/** Replaces the watched queues. A queue that the workers no longer serve is not a stall. */
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

/** The marks and the set-aside subjects of a product. */
export interface WaitingMarks {
  readonly productId: string;
  /** the oldest due mark; null: there is none */
  readonly oldestDueAt: Instant | null;
  /** the number of due marks */
  readonly waiting: number;
  /** the number of subjects that are set aside */
  readonly setAside: number;
  /** the time and the reason of the oldest one that is set aside; null: none is */
  readonly setAsideSince: Instant | null;
  readonly setAsideReason: string | null;
}

/** The due transfers or top-ups of one product. */
export interface DueOfProduct {
  readonly kind: "transfer" | "top-up";
  readonly productId: string;
  readonly oldestDueAt: Instant;
  readonly due: number;
}

/** How far a product's resweeps are planned, and which of them are not done. */
export interface ResweepFacts {
  readonly productId: string;
  /** the beginning of live pulling */
  readonly begin: Instant;
  readonly head: Instant;
  readonly windowMs: number;
  /** the credentials were refused, or the provider does not answer: nothing is fetched again meanwhile */
  readonly isHeldUp: boolean;
  /** up to which time the resweeps of each age are planned */
  readonly swept: readonly { readonly ageMs: number; readonly sweptUntil: Instant }[];
  /** of each age the planned resweep that has been due the longest */
  readonly waiting: readonly {
    readonly ageMs: number;
    readonly dueAt: Instant;
    readonly error: string | null;
  }[];
}

export interface WorkFacts {
  readonly states: readonly WorkState[];
  readonly marks: readonly WaitingMarks[];
  readonly due: readonly DueOfProduct[];
  /** of the products that are pulled and have begun */
  readonly resweeps: readonly ResweepFacts[];
  /** when the relation was last read to its end; null: never, or no relation is configured */
  readonly readAt: Instant | null;
  /** days by UTC whose accepted entries are not all there, the oldest first */
  readonly gone: readonly GoneEntries[];
  /** the date of the last closed day; null: none is closed */
  readonly closedUpTo: string | null;
}

/** Like `GoneDay` of src/ledger. */
export interface GoneEntries {
  readonly day: string;
  readonly goneAt: Instant;
  readonly accepted: number;
  readonly found: number;
  readonly unwatchedAt: Instant | null;
}

interface WorkQuestion {
  readonly now: Instant;
  /** the products that are compared */
  readonly compared: readonly string[];
  readonly relation: string | null;
  /** the most waiting rows to count for each product; null: no limit */
  readonly most: number | null;
}

/** Reads everything with one statement, because every view of the overview needs it. */
export async function readWorkFacts(
  sql: Query,
  { now, compared, relation, most }: WorkQuestion,
): Promise<WorkFacts> {
  const [row] = await sql.unsafe<WorkFacts[]>(
    ALL_FACTS,
    [formatInstant(now), JSON.stringify(compared), most, relation],
    { prepare: true },
  );
  return row ?? { states: [], marks: [], due: [], resweeps: [], readAt: null, gone: [], closedUpTo: null };
}

/** A time in JSON: whole milliseconds since 1970. */
function ms(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::bigint`;
}

/** The statement jumps from product to product by the index, so its cost does not grow with the due rows. */
function dueOf(table: string, kind: DueOfProduct["kind"]): string {
  return `(
    with recursive product as (
      (select product_id from ${table} where next_verify_at is not null order by product_id limit 1)
      union all
      select (select t.product_id from ${table} t where t.next_verify_at is not null and t.product_id > p.product_id
        order by t.product_id limit 1)
      from product p where p.product_id is not null
    )
    select coalesce(jsonb_agg(jsonb_build_object('kind', '${kind}', 'productId', p.product_id,
      'oldestDueAt', ${ms("oldest")}, 'due', due)), '[]')
    from product p cross join lateral (
      select min(next_verify_at) as oldest, count(*) as due from (
        select next_verify_at from ${table} t
        where t.product_id = p.product_id and t.next_verify_at <= $1::timestamptz order by next_verify_at
        limit $3::bigint
      ) counted
    ) found
    where p.product_id is not null and due > 0)`;
}

const STATES = `(
  select coalesce(jsonb_agg(jsonb_build_object('work', work, 'subject', subject, 'since', ${ms("since")},
    'doneAt', ${ms("done_at")}, 'upTo', ${ms("up_to")}, 'failingSince', ${ms("failing_since")},
    'failures', failures, 'failedAt', ${ms("failed_at")}, 'errorCode', error_code, 'error', error,
    'everyMs', every_ms) order by work, subject), '[]')
  from work_states)`;

const MARKS = `(
  select coalesce(jsonb_agg(jsonb_build_object('productId', p.product_id, 'oldestDueAt', ${ms("oldest")},
    'waiting', waiting, 'setAside', aside.count, 'setAsideSince', ${ms("first.since")},
    'setAsideReason', first.reason)), '[]')
  from jsonb_array_elements_text($2::text::jsonb) as p (product_id)
  cross join lateral (
    select min(due_at) as oldest, coalesce(sum(marks), 0)::bigint as waiting from (
      select due_at, cardinality(usernames) as marks from diff_marks m
      where m.product_id = p.product_id and m.due_at <= $1::timestamptz order by due_at limit $3::bigint
    ) marked
  ) due
  cross join lateral (select count(*) from comparisons_set_aside s where s.product_id = p.product_id) aside
  left join lateral (
    select since, reason from comparisons_set_aside s where s.product_id = p.product_id order by since limit 1
  ) first on true)`;

const RESWEEPS = `(
  select coalesce(jsonb_agg(jsonb_build_object('productId', s.product_id, 'begin', ${ms("s.begin")},
    'head', ${ms("s.head")}, 'windowMs', s.window_ms,
    'isHeldUp', s.probe_at is not null or s.stopped_until is not null,
    'swept', (
      select coalesce(jsonb_agg(jsonb_build_object('ageMs', r.age_ms, 'sweptUntil', ${ms("r.swept_until")})), '[]')
      from resweep_states r where r.product_id = s.product_id),
    'waiting', (
      select coalesce(jsonb_agg(jsonb_build_object('ageMs', ${ms("first.age")}, 'dueAt', ${ms("first.due_at")},
        'error', first.error_message)), '[]')
      from (
        select distinct on (due_at - to_at) due_at - to_at as age, due_at, error_message
        from windows w
        where w.product_id = s.product_id and w.kind = 'resweep' and w.status in ('planned', 'gap')
          and due_at is not null
        order by due_at - to_at, due_at
      ) first)
    ) order by s.product_id), '[]')
  from pull_states s join jsonb_array_elements_text($2::text::jsonb) as p (product_id) using (product_id))`;

const GONE = `(
  select coalesce(jsonb_agg(jsonb_build_object('day', day, 'goneAt', ${ms("gone_at")}, 'accepted', accepted,
    'found', found, 'unwatchedAt', ${ms("unwatched_at")}) order by day), '[]')
  from entry_days where gone_at is not null)`;

const ALL_FACTS = `
  select ${STATES} as states, ${MARKS} as marks, ${RESWEEPS} as resweeps,
    ${dueOf("transfers", "transfer")} || ${dueOf("top_ups", "top-up")} as due,
    (select read_at from ledger_follows where relation = $4::text) as "readAt", ${GONE} as gone,
    (select day::text from closed_days order by number desc limit 1) as "closedUpTo"`;
