/**
 * SQL that finds the bets that certainly agree by themselves. The screening and the comparison of large rounds share
 * it.
 */

import { requestIdSql } from "../db/statement.ts";
import { formatAmount } from "../money.ts";
import type { IdRule } from "./match.ts";
import type { Tolerance } from "./sums.ts";

/**
 * The settings that decide which amounts agree. With them the screening drops nothing that the exact comparison
 * would report, and an operator that omits losses or rounds amounts is not compared bet by bet.
 */
export interface ScreenRules {
  /** a bet with only a placement agrees with the record that names it, if that record paid nothing */
  readonly dropsOmittedLosses: boolean;
  readonly tolerance: Tolerance;
}

/** The rules of one statement. */
export interface StatementRules extends ScreenRules {
  /** the times of settlements with the single-state flag are judged; false: none of these settlements is certain */
  readonly areFlagged: boolean;
  /** the ids of a record that may name its bet, in order */
  readonly namedBy: readonly IdRule[];
}

/** The column of the part "records" that names the row's bet, and the column that must name no other bet. */
export function namesOf({ namedBy: [rule, another] }: StatementRules): { name: string; other: string } {
  if (another !== undefined) return { name: "records.named_txn_id", other: "records.record_id" };
  return rule === "id"
    ? { name: "records.record_id", other: "records.bet_id" }
    : { name: "records.bet_id", other: "records.record_id" };
}

/** If either id may name the bet, the betId does, unless the ledger knows only the other id. */
const NAMED_BY_EITHER = `txns as materialized (select distinct txn_id from entries),
  records as materialized (
    select found.*,
      case when of_bet.txn_id is null and of_record.txn_id is not null then found.record_id else found.bet_id end as named_txn_id
    from found
    left join txns of_bet on of_bet.txn_id = found.bet_id
    left join txns of_record on of_record.txn_id = found.record_id
  ),`;

/**
 * The money that moved for an entry. If the entry does not say, the money that a placement or a settlement asks for.
 */
const MOVED =
  "coalesce(f.moved, case f.callback when 'placeBets' then -f.bet_amount else f.payout_amount end)";

/** The entry has both balances of its request, and some money moved for it. */
export const HAS_BALANCES = `f.balance_before is not null and f.balance_after is not null and ${MOVED} <> 0`;

/** Whether two amounts of a currency are equal. `a` and `b` are complete SQL expressions. */
function equal({ tolerance }: ScreenRules, currency: string, a: string, b: string): string {
  if (tolerance.size === 0) return `${a} = ${b}`;
  return `abs(${a} - (${b})) <= ${allowed(tolerance, currency)}`;
}

/** Safe as SQL text: the settings were checked, so codes are capital letters and digits, and amounts are decimals. */
function allowed(tolerance: Tolerance, currency: string): string {
  const cases = [...tolerance].map(([code, amount]) => `when '${code}' then ${formatAmount(amount)}`);
  return cases.length === 0 ? "0" : `case ${currency} ${cases.join(" ")} else 0 end`;
}

/**
 * Columns of an entry. An entry is plain if the fold needs only its amount, and the wallet moved what it asks for.
 */
export function entry(rules: StatementRules): string {
  const isExact = rules.tolerance.size === 0;
  // With a tolerance the record's amount may differ from the declared one, so `agreesWithRecord` checks what moved.
  const movedAs = (declared: string) => (isExact ? `and coalesce(f.moved, ${declared}) = ${declared}` : "");
  return `f.username, f.txn_id, coalesce(f.round_id, '') as round_id, f.currency,
  ${requestIdSql("f.request_id")} as request_id,
  f.entry_id, f.occurred_at, f.received_at, ${HAS_BALANCES} as has_balances,
  f.callback = 'placeBets' as places, f.bet_amount, f.payout_amount,${isExact ? "" : ` ${MOVED} as moved,`}
  ${rules.areFlagged ? FLAGS : ""}
  coalesce(
    not f.skip_balance_update
    and case f.callback
      when 'placeBets' then f.status = 'OPEN' ${movedAs("-f.bet_amount")}
      when 'settleBets' then coalesce(f.transaction_type, '') <> 'BY_ROUND' and f.end_round is not false ${rules.areFlagged ? "" : "and f.single_state is null"} ${movedAs("f.payout_amount")}
    end
    and coalesce(${equal(rules, "f.currency", "f.balance_after - f.balance_before", MOVED)}, true),
  false) as plain`;
}

/**
 * The times that show whether a flagged settlement came before its placement: such a settlement places the bet
 * itself, or settles nothing. These columns cost time, so a statement that reads everything has them only if flagged
 * settlements are not rare.
 */
const FLAGS = `case when f.callback = 'placeBets' then f.occurred_at end as placed_at,
  case when f.callback = 'settleBets' and f.single_state is not null then f.occurred_at end as flagged_at,`;

export const RECORD = `f.username, f.bet_id, f.id as record_id, f.round_id, f.currency, f.stake, f.payout,
  f.bet_status = 'SETTLED' and case f.payout_status
    when 'WIN' then f.payout <> 0 when 'LOSE' then f.payout <= f.stake else true end as plain`;

/**
 * Mismatches that a comparison must still check: open ones, to end them, and those that a reviewer decided, to
 * notice when they no longer hold (decision 44).
 */
export const MISMATCHES_TO_CHECK = `
  mismatches_to_check as (
    select username, subject, bet_id, transaction_id, round_id from mismatches
    where product_id = $1 and (status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon'))
  )`;

/** The ids that a mismatch names. */
export const NAMED =
  "values (bet_id), (transaction_id), (case when subject like 'bet:%' then substr(subject, 5) end)";

/**
 * The weights of the entries of a bet in the sum of `uncertain`. They are so far apart that only one placement and
 * one settlement, or their substitutes, add up to the weight of both.
 */
const PLACEMENT_WEIGHT = 1;
const SETTLEMENT_WEIGHT = 2 ** 29;
/** An entry or a record that does not agree. */
const DIFFERENT_WEIGHT = 2 ** 30;

/**
 * The weight of an entry that agrees with its record. If losses are omitted, the placement of a lost bet also has
 * the weight of its settlement, and that settlement has none.
 */
function weightOf({ dropsOmittedLosses }: ScreenRules): string {
  if (!dropsOmittedLosses)
    return `case when entries.places then ${PLACEMENT_WEIGHT} else ${SETTLEMENT_WEIGHT} end`;
  return `case when entries.places then ${PLACEMENT_WEIGHT} else 0 end
        + case when entries.places = (records.payout = 0) then ${SETTLEMENT_WEIGHT} else 0 end`;
}

/** Whether the amount that an entry declares, and the amount that moved, equal the amount of its record. */
function agreesWithRecord(rules: ScreenRules): string {
  const equals = (amount: string, listed: string) => equal(rules, "entries.currency", amount, listed);
  const moved = (amount: string, listed: string) =>
    rules.tolerance.size === 0 ? "" : ` and ${equals(amount, listed)}`;
  return `case when entries.places
          then ${equals("entries.bet_amount", "records.stake")}${moved("-entries.moved", "records.stake")}
          else ${equals("entries.payout_amount", "records.payout")}${moved("entries.moved", "records.payout")} end`;
}

/**
 * Every row of any round or player that has one of the ids of the part "ids". "offset 0" makes PostgreSQL search
 * each id by index, however many ids the planner assumes.
 */
export function aroundIds(rules: StatementRules): string {
  const { name, other } = namesOf(rules);
  const isNamedByEither = rules.namedBy.length > 1;
  return `entries as materialized (
    select ${entry(rules)} from ids cross join lateral (
      select * from callback_entries f where f.product_id = $1 and f.txn_id = ids.id offset 0) f
    where f.callback <> 'adjustBalance'
  ),
  ${isNamedByEither ? "found" : "records"} as materialized (
    select ${RECORD} from ids cross join lateral (
      select * from bet_records f where f.product_id = $1 and f.bet_id = ids.id offset 0) f
    union
    select ${RECORD} from ids cross join lateral (
      select * from bet_records f where f.product_id = $1 and f.id = ids.id offset 0) f
  ),
  ${isNamedByEither ? NAMED_BY_EITHER : ""}
  foreign_ids as (
    select ${other} as id from records join entries on entries.txn_id = ${other} where ${other} <> ${name}
  ),
  mismatch_ids as (
    select ids.id from ids join (
      select distinct id from mismatches_to_check cross join lateral (${NAMED}) as named (id)) named using (id)
  ),
  in_shared_requests as (
    select entries.username, entries.round_id, entries.txn_id from entries cross join lateral (
      select from callback_entries f
      where f.occurred_at = entries.occurred_at and ${requestIdSql("f.request_id")} = entries.request_id
        and f.entry_id <> entries.entry_id and f.product_id = $1 and f.username = entries.username offset 0) another
    where has_balances
  )`;
}

/**
 * Selects the ids of bets whose own rows do not certainly agree.
 * @param records, entries parts of the statement, or subqueries with these names
 */
export const differing = (rules: StatementRules, records = "records", entries = "entries") => `
    select coalesce(${namesOf(rules).name}, entries.txn_id) as id
    from ${records} full join ${entries} on entries.txn_id = ${namesOf(rules).name}
    group by 1
    having sum(case
      when entries.plain and records.plain and entries.username = records.username
        and entries.round_id = records.round_id and entries.currency = records.currency
        and ${agreesWithRecord(rules)}
      then ${weightOf(rules)} else ${DIFFERENT_WEIGHT} end) <> ${PLACEMENT_WEIGHT + SETTLEMENT_WEIGHT}
      -- A flagged settlement that came before its placement places the bet itself, or settles nothing.
      ${rules.areFlagged ? "or max(entries.placed_at) >= min(entries.flagged_at)" : ""}`;

/**
 * The ids of bets that do not certainly agree. `badRounds` of screen-store.ts says when agreement is certain.
 * @param differingIds selects the ids of bets whose own rows do not
 */
export const uncertain = (rules: StatementRules, differingIds = differing(rules)) => `uncertain as (
    ${differingIds}
    union all
    select id from foreign_ids
    union all
    select id from mismatch_ids
  )`;
