/**
 * SQL that adds up the rounds of a day that certainly agree, and finds the rows of all others, so a statement loads only what
 * may differ. Such a round is one that the screening would drop (`badRounds` of screen-store.ts), and in addition:
 * - all rows of the round, and of its ids, lie in the day, so all its money does;
 * - no mismatch names it that was decided by a reviewer or has adjustments, because these count in statements.
 * Its entries are plain (agreement-store.ts): none is a reward or a tip, so the sums need no column for them.
 * Decided mismatches, marks and graces explain a difference, and such a round has none.
 * `test/flows/closing/invariant.test.ts` compares the sums with those of closed days, which load everything.
 */

import type { Query } from "../db/client.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { TimeRange } from "../window.ts";
import { differing, entry, NAMED, RECORD, type StatementRules } from "./agreement-store.ts";
import { type DiffMark, fetchPlayers, readBytes } from "./mark-store.ts";

/** What the agreeing rounds of a day add up to in a currency: the same on each side, and what the wallet moved. */
interface AgreedSums {
  readonly currency: string;
  readonly bets: number;
  readonly stake: Amount;
  readonly payout: Amount;
}

/** A part of a day. */
export interface DayPart {
  readonly sums: readonly AgreedSums[];
  /** what must be loaded, of whole players */
  readonly marks: readonly DiffMark[];
}

const within = (column: string) => `${column} >= $2::timestamptz and ${column} < $3::timestamptz`;
const without = (column: string) => `(${column} < $2::timestamptz or ${column} >= $3::timestamptz)`;

/** Searching a bet's ids and round by index costs about as much as reading this many bytes of the tables whole. */
const BYTES_PER_BET = 3_000;

/** The sides, and the parts of the statement whose `id` a row of another day must not have. */
const SIDES: readonly {
  readonly table: string;
  readonly at: string;
  readonly ids: Readonly<Record<string, readonly string[]>>;
}[] = [
  { table: "callback_entries", at: "occurred_at", ids: { txn_id: ["bet_ids", "record_ids"] } },
  { table: "bet_records", at: "accounting_date", ids: { bet_id: ["bet_ids"], id: ["bet_ids"] } },
];

/** Rounds of the day of which another day has a row. */
function elsewhere(readsAll: boolean): string {
  return SIDES.flatMap(({ table, at, ids }) => {
    const others = `${table} f where f.product_id = $1 and ${without(`f.${at}`)}`;
    const search = (part: string, condition: string) =>
      readsAll
        ? `select part.username, part.round_id from ${part} part join (select * from ${others}) f on ${condition}`
        : `select part.username, part.round_id from ${part} part cross join lateral (
            select from ${others} and ${condition} limit 1) f`;
    return [
      ...Object.entries(ids).flatMap(([column, parts]) =>
        parts.map((part) => search(part, `f.${column} = part.id`)),
      ),
      search(
        readsAll
          ? "records"
          : "(select distinct username, round_id from records order by username, round_id)",
        "f.username = part.username and f.round_id = part.round_id",
      ),
    ];
  }).join(" union all ");
}

const statementOf = (dropsOmittedLosses: boolean, readsAll: boolean) => {
  const rules: StatementRules = {
    dropsOmittedLosses,
    // A difference within a tolerance is rounding, so it is no agreement here.
    tolerance: new Map(),
    areFlagged: true,
    namedBy: ["betId"],
  };
  return `with counting as materialized (
    select username, subject, bet_id, transaction_id, round_id from mismatches m
    where product_id = $1 and (not (status = 'resolved' and resolved_by = 'recon')
      or exists (select from adjustments a where a.mismatch_id = m.id))
  ),
  records as materialized (
    select ${RECORD} from bet_records f where f.product_id = $1 and ${within("f.accounting_date")}
  ),
  entries as materialized (
    select ${entry(rules)} from callback_entries f where f.product_id = $1 and ${within("f.occurred_at")}
  ),
  bet_ids as not materialized (select username, round_id, bet_id as id from records),
  record_ids as not materialized (
    select username, round_id, record_id as id from records where record_id <> bet_id
  ),
  uncertain as (
    ${differing(rules)}
    union all
    select id from record_ids join entries on entries.txn_id = id
    union all
    select id from counting cross join lateral (${NAMED}) as named (id)
  ),
  bad as materialized (
    select distinct username, round_id, true as is_bad from (
      select bet_ids.username, bet_ids.round_id from bet_ids join uncertain using (id)
      union all
      select record_ids.username, record_ids.round_id from record_ids join uncertain using (id)
      union all
      select entries.username, entries.round_id from entries join uncertain on uncertain.id = entries.txn_id
      union all
      ${elsewhere(readsAll)}
      union all
      select entries.username, entries.round_id from entries
      join (
        select entries.username, entries.request_id from entries
        join (select occurred_at from entries group by occurred_at having count(*) > 1) busy using (occurred_at)
        where has_balances group by entries.username, entries.request_id having count(*) > 1
      ) shared using (username, request_id)
      union all
      select records.username, records.round_id from records
      join record_absences gone on gone.product_id = $1 and gone.username = records.username
        and gone.bet_id = records.bet_id and gone.id = records.record_id
      union all
      select username, coalesce(round_id, substr(subject, 7)) from counting
      where round_id is not null or subject like 'round:%'
      union all
      select username, substr(subject, 7) from comparisons_set_aside where product_id = $1 and subject like 'round:%'
      union all
      select entries.username, entries.round_id from entries
      join (select substr(subject, 9)::jsonb ->> 1 as request_id from counting where subject like 'request:%') named
        using (request_id)
      union all
      -- A bet without a round is compared alone.
      select username, round_id from records where round_id in ('', 'UNKNOWN')
    ) found
  )
  select null as username, null as "roundId", null as "betRef", currency, count(*) as bets, sum(stake) as stake,
    sum(payout) as payout
  from records left join bad using (username, round_id) where is_bad is null group by currency
  union all (
    -- An entry without a record in the day is uncertain, so its round is here.
    select username, case when round_id not in ('', 'UNKNOWN') then round_id end, bet_id, null, null::bigint, null::numeric, null::numeric
    from records join bad using (username, round_id)
    union
    select username, case when round_id not in ('', 'UNKNOWN') then round_id end, txn_id, null, null::bigint, null::numeric, null::numeric
    from entries join bad using (username, round_id)
  )
  order by 1 nulls first`;
};

interface Row {
  /** null: a row of sums */
  readonly username: string | null;
  readonly roundId: string | null;
  readonly betRef: string | null;
  readonly currency: string | null;
  readonly bets: number | null;
  readonly stake: string | null;
  readonly payout: string | null;
}

/**
 * Everything of a product with a record or an entry in a day. Agreeing rounds are added up, all others are named. Nothing
 * is written, so it also runs on a standby.
 */
export async function* readDayParts(
  tx: Query,
  productId: string,
  { from, to }: TimeRange,
  dropsOmittedLosses: boolean,
): AsyncGenerator<DayPart> {
  const [day] = await tx<{ bets: number }[]>`
    select count(*) as bets from bet_records
    where product_id = ${productId} and accounting_date >= ${from} and accounting_date < ${to}`;
  const readsAll = (day?.bets ?? 0) * BYTES_PER_BET >= (await readBytes(tx));
  // Sorting the rows of a day takes longer than hashing them. The planner does not know that.
  await tx`select set_config('work_mem', '128MB', true), set_config('jit', 'off', true),
    set_config('cursor_tuple_fraction', '1', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_sort', 'off', true)`;
  await tx.unsafe(`declare day_parts no scroll cursor for ${statementOf(dropsOmittedLosses, readsAll)}`, [
    productId,
    from,
    to,
  ]);
  await tx`select set_config('enable_mergejoin', 'on', true), set_config('enable_sort', 'on', true)`;
  for await (const rows of fetchPlayers<Row>(tx, "day_parts")) {
    yield {
      sums: rows.flatMap(({ currency, bets, stake, payout }) =>
        currency === null || bets === null || stake === null || payout === null
          ? []
          : [{ currency, bets, stake: parseAmount(stake, "stake"), payout: parseAmount(payout, "payout") }],
      ),
      marks: rows.flatMap(({ username, roundId, betRef }) =>
        username === null ? [] : [{ username, roundId, betRef }],
      ),
    };
  }
}
