/**
 * The progress of all work and the work that waits, read with one statement from a few index rows for each product.
 */

import { formatInstant, type Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import type { WorkState } from "./work-store.ts";

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

/** What is planned of a product's resweeps, and what of it is not done. */
export interface ResweepFacts {
  readonly productId: string;
  /** where live pulling began */
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
}

/** As `GoneDay` of the ledger. */
export interface GoneEntries {
  readonly day: string;
  readonly goneAt: Instant;
  readonly accepted: number;
  readonly found: number;
  readonly unwatchedAt: Instant | null;
}

export interface WorkQuestion {
  readonly now: Instant;
  /** the products that are compared */
  readonly compared: readonly string[];
  readonly relation: string | null;
  /** the most waiting rows to count for each product; null: no limit */
  readonly most: number | null;
}

/** One statement for everything, because every view of the overview reads it. */
export async function readWorkFacts(
  sql: Query,
  { now, compared, relation, most }: WorkQuestion,
): Promise<WorkFacts> {
  const [row] = await sql.unsafe<WorkFacts[]>(
    ALL_FACTS,
    [formatInstant(now), JSON.stringify(compared), most, relation],
    { prepare: true },
  );
  return row ?? { states: [], marks: [], due: [], resweeps: [], readAt: null, gone: [] };
}

/** A time as JSON has it: whole milliseconds. */
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
    (select read_at from ledger_follows where relation = $4::text) as "readAt", ${GONE} as gone`;
