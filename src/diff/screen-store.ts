/** The screening: drops the marks of rounds that certainly agree, so the exact comparison takes only the others. */

import type { Instant } from "../clock.ts";
import type { Query } from "../db/client.ts";
import { requestIdSql } from "../db/statement.ts";
import {
  aroundIds,
  differing,
  entry,
  HAS_BALANCES,
  MISMATCHES_TO_CHECK,
  NAMED,
  RECORD,
  type ScreenRules,
  type StatementRules,
  uncertain,
} from "./agreement-store.ts";
import { readBytes } from "./mark-store.ts";

/** A reading by index needs no bounds, and adds the times of flagged settlements up for few rows. */
const AROUND_MARKS: WholeReading = { bounds: [], areFlagged: true, isInOrder: false };

const EXACT: ScreenRules = { dropsOmittedLosses: false, tolerance: new Map() };

/** The due marks of a product when its screening begins. */
export interface DueMarks {
  readonly marks: number;
  /** the highest row id: rows that a screening writes back have higher ids, and are not screened again */
  readonly upTo: number;
  /** the size of the tables of both sides */
  readonly bytes: number;
  /** there are enough marks to make reading both tables whole cheaper than searching for each round */
  readonly readsAll: boolean;
}

export interface Screened {
  readonly marks: number;
  /** still there, for the exact comparison */
  readonly left: number;
}

/** Finding a round by its indexes costs about as much as reading this many bytes of the tables. */
const BYTES_PER_MARK = 1_000;
/** The length of a row of marks that the screening writes back: one comparison takes as many. */
const MARKS_PER_ROW = 500;

/** Counts the due marks once, before the screening begins. */
export async function countDueMarks(tx: Query, productId: string, now: Instant): Promise<DueMarks> {
  const bytes = await readBytes(tx);
  const [due] = await tx<{ marks: number; upTo: number }[]>`
    select coalesce(sum(cardinality(usernames)), 0)::bigint as marks, coalesce(max(id), 0) as "upTo"
    from diff_marks where product_id = ${productId} and due_at <= ${now}`;
  const { marks = 0, upTo = 0 } = due ?? {};
  return { marks, upTo, bytes, readsAll: marks * BYTES_PER_MARK >= bytes };
}

/**
 * Takes due marks. Writes back those whose round does not certainly agree, and those of bets without a round. A
 * round is dropped only if the exact comparison could find no difference in the round or because of the round: each
 * bet has ended with the same values on both sides, and no other row shares an id with the round (`badRounds`,
 * decision 46). Needs a transaction with one snapshot, and the product's lock.
 * Measured alternatives: sums per bet are twice as slow as joining each entry to its record, index lookups for
 * everything six times. Columns that the writers keep up to date would slow down pulling.
 * @param most the most marks to take if the tables are not read whole; the last row taken may exceed it
 * @param workers parallel workers of PostgreSQL if the tables are read whole; null: as the server is set
 */
export async function screenMarks(
  tx: Query,
  productId: string,
  now: Instant,
  due: DueMarks,
  most: number,
  workers: number | null = null,
  rules: ScreenRules = EXACT,
): Promise<Screened> {
  const taken = due.readsAll ? DUE : FIRST_DUE;
  const parameters = due.readsAll ? [productId, now, due.upTo] : [productId, now, due.upTo, most];
  // Sorting both tables takes longer than hashing them in parts. The planner does not know that.
  await tx`select set_config('work_mem', '128MB', true), set_config('jit', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('enable_sort', 'off', true),
    set_config('max_parallel_workers_per_gather', coalesce(${due.readsAll ? workers : 0}::text,
      current_setting('max_parallel_workers_per_gather')), true)`;
  const { bounds, areFlagged, isInOrder } = due.readsAll
    ? await planReading(tx, productId, due.bytes)
    : AROUND_MARKS;
  // The operating system reads consecutive pages ahead by itself. Asking for them too took a fifth of the statement's
  // time.
  if (isInOrder) await tx`select set_config('effective_io_concurrency', '0', true)`;
  const all: StatementRules = { ...rules, areFlagged, namedBy: ["betId"] };
  // A statement of its own, because PostgreSQL uses several processes only for a statement that writes nothing.
  await tx.unsafe(
    `create temporary table bad_rounds on commit drop as with ${due.readsAll ? everything(all, bounds.length) : aroundMarks(all)},
    ${due.readsAll ? badRounds(all, DIFFERING_IN_PARTS) : badRounds(all)}
    select distinct username, round_id from bad`,
    due.readsAll ? [productId, ...bounds] : parameters,
  );
  const [screened] = await tx.unsafe<Screened[]>(
    `with taken as (
      delete from diff_marks where id in (${taken}) returning usernames, round_ids, bet_refs
    ),
    marks as (
      select unnest(usernames) as username, unnest(round_ids) as round_id, unnest(bet_refs) as bet_ref from taken
    ),
    remaining as (
      select distinct marks.username, marks.round_id, marks.bet_ref from marks
      left join (select username, round_id, true as is_bad from bad_rounds) bad
        on bad.username = marks.username and bad.round_id = marks.round_id
      where marks.round_id is null or is_bad
    ),
    put as (
      insert into diff_marks (product_id, usernames, round_ids, bet_refs, due_at)
      select $1, array_agg(username), array_agg(round_id), array_agg(bet_ref), $2::timestamptz
      from (select *, (row_number() over () - 1) / ${MARKS_PER_ROW} as row from remaining) numbered
      group by row
    )
    select (select coalesce(sum(cardinality(usernames)), 0)::bigint from taken) as marks, (select count(*) from remaining) as left`,
    parameters,
  );
  return screened ?? { marks: 0, left: 0 };
}

/** The rows of marks that a screening takes: all that were due when it began, or the first of them. */
const DUE =
  "select id from diff_marks where product_id = $1 and due_at <= $2::timestamptz and id <= $3::bigint";
/** Each row has at least one mark, so no more rows than marks are needed. Rows behind them are not even unpacked. */
const FIRST_DUE = `select id from (
    select id, sum(marks) over (order by due_at, id) - marks as before
    from (
      select id, due_at, cardinality(usernames) as marks from (
        select id, due_at, usernames from diff_marks
        where product_id = $1 and due_at <= $2::timestamptz and id <= $3::bigint order by due_at, id limit $4::bigint
      ) first
    ) sized
  ) counted where before < $4::bigint`;

/**
 * Every row of the marked rounds, and every row of any round or player that has one of their ids. "offset 0" makes
 * PostgreSQL search by index, however many marks the planner assumes.
 */
const aroundMarks = (rules: StatementRules) => `${MISMATCHES_TO_CHECK},
  rounds as materialized (
    select distinct username, round_id
    from (
      select unnest(usernames) as username, unnest(round_ids) as round_id from diff_marks where id in (${FIRST_DUE})
    ) marks
    where round_id is not null order by username, round_id
  ),
  ids as materialized (
    select f.txn_id as id from rounds cross join lateral (
      select txn_id from callback_entries f
      where f.product_id = $1 and f.username = rounds.username and f.round_id = rounds.round_id offset 0) f
    union
    select id.id from rounds cross join lateral (
      select bet_id, id from bet_records f
      where f.product_id = $1 and f.username = rounds.username and f.round_id = rounds.round_id offset 0) f
    cross join lateral (values (f.bet_id), (f.id)) as id (id)
  ),
  ${aroundIds(rules)}`;

/**
 * Rounds that do not certainly agree. In every other round all of this holds:
 * - Each bet has one plain placement and one plain settlement, in any order. A lost bet needs no settlement if losses
 *   are omitted. A flagged settlement comes after its placement.
 * - Each bet has one plain record of the same player, round, currency, stake and payout (within the tolerance of each
 *   amount). Its betId is the txn id.
 * - No id of the round, the record's other id included, is known in another round or to another player.
 * - No request of the round has another item, and no fetch has missed a record of the round.
 * - No mismatch that a comparison must still check names one of its ids.
 */
const badRounds = (rules: StatementRules, differingIds?: string) => `
  ${uncertain(rules, differingIds)},
  bad as (
    select named.username, named.round_id from uncertain cross join lateral (
      select username, round_id from callback_entries f where f.product_id = $1 and f.txn_id = uncertain.id
      union all
      select username, round_id from bet_records f where f.product_id = $1 and f.bet_id = uncertain.id
      union all
      select username, round_id from bet_records f where f.product_id = $1 and f.id = uncertain.id offset 0) named
    union all
    select username, round_id from in_shared_requests
    union all
    select records.username, records.round_id from records
    join record_absences a on a.product_id = $1 and a.username = records.username
      and a.bet_id = records.bet_id and a.id = records.record_id
    union all
    select username, coalesce(round_id, substr(subject, 7)) from mismatches_to_check
    where round_id is not null or subject like 'round:%'
    union all
    -- Only the exact comparison can compare a round that is set aside.
    select username, substr(subject, 7) from comparisons_set_aside
    where product_id = $1 and subject like 'round:%'
    union all
    select entries.username, entries.round_id from entries
    join (
      select substr(subject, 9)::jsonb ->> 1 as request_id from mismatches_to_check where subject like 'request:%'
    ) named using (request_id)
  )`;

/** The sample of the entries that decides how both tables are read. */
const SAMPLE_BYTES = 8_000_000;
/** If the ids are in no order of time, each part reads the tables whole. */
const MOST_PARTS = 4;
/**
 * If the rows lie in the order of their ids, a part of this size is joined and added up in the processor's caches,
 * and PostgreSQL's processes take the parts in turn. Comparing a million bets takes a seventh to a fifth less
 * processor time.
 */
const BYTES_OF_PART = 24_000_000;
const MOST_PARTS_IN_ORDER = 64;
/** From this correlation of ids and places on, a part of the ids lies on few pages of the table. */
const IN_ORDER = 0.99;

/** How both tables are read. Every way gives a result that is certain. */
export interface WholeReading {
  /** ids that divide the bets into parts of about equal size */
  readonly bounds: readonly string[];
  /**
   * settlements of the product with the single-state flag are not rare; if the sample has none, one with the flag
   * counts as uncertain, so its round is compared exactly
   */
  readonly areFlagged: boolean;
  /** a part of the ids lies on consecutive pages of the tables */
  readonly isInOrder: boolean;
}

/**
 * Plans the reading by a sample of the entries: one part for each process that PostgreSQL may use for a statement,
 * and more, smaller ones if the rows lie in the order of their ids. With one join for all processes, each handed its
 * sums for every bet to the first process, which added them up alone. One ordered read of both tables by their index
 * takes a fifth less processor time if rows lie in the order of their ids, but one random read for each row
 * otherwise.
 * @param bytes the size of the tables of both sides
 */
export async function planReading(tx: Query, productId: string, bytes: number): Promise<WholeReading> {
  const percent = Math.min(100, (100 * SAMPLE_BYTES) / Math.max(bytes, 1));
  const partsInOrder = Math.min(Math.floor(bytes / BYTES_OF_PART), MOST_PARTS_IN_ORDER);
  const [row] = await tx<
    { bounds: string[] | null; areFlagged: boolean | null; isInOrder: boolean | null }[]
  >`
    with ids as (
      select count(*) = 2 and min(abs(correlation)) >= ${IN_ORDER} as are_in_order from pg_stats
      where (tablename, attname) in (('callback_entries', 'txn_id'), ('bet_records', 'bet_id')) and not inherited
        and schemaname = any (current_schemas(false))
    ),
    parts as (
      select greatest(
        least(current_setting('max_parallel_workers_per_gather')::int + 1, ${MOST_PARTS}),
        case when are_in_order then ${partsInOrder}::int end
      ) as number from ids
    )
    select percentile_disc(
      (select array_agg(part::double precision / number) from parts, generate_series(1, number - 1) as part)
    ) within group (order by txn_id) as bounds, bool_or(single_state is not null) as "areFlagged",
      (select are_in_order from ids) as "isInOrder"
    from callback_entries tablesample system (${percent}::real) where product_id = ${productId}`;
  return {
    bounds: [...new Set(row?.bounds)],
    areFlagged: row?.areFlagged ?? false,
    isInOrder: row?.isInOrder ?? false,
  };
}

/** The condition that an id lies in a part. The bounds are the parameters after the product's. */
function isInPart(id: string, part: number, bounds: number): string {
  return `${part > 0 ? `and ${id} >= $${part + 1}::text` : ""} ${part < bounds ? `and ${id} < $${part + 2}::text` : ""}`;
}

const entriesOf = (rules: StatementRules, condition = "") => `
    select ${entry(rules)} from callback_entries f
    where f.product_id = $1 and f.callback <> 'adjustBalance' ${condition}`;
const recordsOf = (condition = "") =>
  `select ${RECORD} from bet_records f where f.product_id = $1 ${condition}`;

/** Selects the ids of bets whose own rows do not certainly agree from the parts of `everything`. */
const DIFFERING_IN_PARTS = "select id from candidates where id is not null";

/**
 * Reads both tables whole, in parts of their ids, for each process to join and sum a part by itself. Records and
 * entries of an id lie in the same part, so parts do not change what agrees. It judges rounds without marks too, and
 * nothing uses those results. "offset 0" keeps the parts apart from statements that only one process can run.
 * @param bounds the number of bounds between the parts
 */
const everything = (rules: StatementRules, bounds: number) => `${MISMATCHES_TO_CHECK},
  candidates as materialized (
    select * from (
      ${Array.from({ length: bounds + 1 }, (_, part) => {
        const records = `(${recordsOf(isInPart("f.bet_id", part, bounds))}) records`;
        const entries = `(${entriesOf(rules, isInPart("f.txn_id", part, bounds))}) entries`;
        return `select id, null::timestamptz as busy_at from (${differing(rules, records, entries)}) differing`;
      }).join(" union all ")}
      union all
      select null, occurred_at from callback_entries group by occurred_at having count(*) > 1
      offset 0
    ) parts
  ),
  entries as not materialized (${entriesOf(rules)}),
  records as not materialized (${recordsOf()}),
  foreign_ids as (
    select records.record_id as id from records
    join callback_entries f on f.product_id = $1 and f.txn_id = records.record_id
    where records.record_id <> records.bet_id
      and records.record_id between (select min(txn_id) from callback_entries where product_id = $1)
        and (select max(txn_id) from callback_entries where product_id = $1)
  ),
  mismatch_ids as (select id from mismatches_to_check cross join lateral (${NAMED}) as named (id)),
  in_shared_requests as (
    select username, unnest(array_agg(round_id)) as round_id
    from (select busy_at from candidates where busy_at is not null) busy
    cross join lateral (
      select f.username, coalesce(f.round_id, '') as round_id, ${requestIdSql("f.request_id")} as request_id
      from callback_entries f
      where f.occurred_at = busy.busy_at and f.product_id = $1 and ${HAS_BALANCES} offset 0) f
    group by username, request_id having count(*) > 1
  )`;
