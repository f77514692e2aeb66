/**
 * SQL that says which bets certainly agree by themselves. The screening and the comparison of wide rounds share it.
 */

import { requestIdSql } from "../db/request-id.ts";
import { formatAmount } from "../money.ts";
import type { IdRule } from "./match.ts";
import type { Tolerance } from "./tolerance.ts";

/**
 * The settings that decide which amounts agree. The screening drops nothing that the exact comparison would find
 * (decision 100).
 */
export interface ScreenRules {
  /** a bet with a placement alone agrees with the record that names it, where that record paid nothing */
  readonly dropsOmittedLosses: boolean;
  readonly tolerance: Tolerance;
}

/** The rules of one statement. */
export interface StatementRules extends ScreenRules {
  /** some settlements of the product carry the single-state flag */
  readonly areFlagged: boolean;
  /** the ids of a record that may name its bet, in order */
  readonly namedBy: readonly IdRule[];
}

/** The column of the part "records" that names the row's bet, and the column that must name no other bet. */
export function namesOf({ namedBy: [rule, another] }: StatementRules): { name: string; other: string } {
  if (another !== undefined) return { name: "records.n", other: "records.i" };
  return rule === "id"
    ? { name: "records.i", other: "records.b" }
    : { name: "records.b", other: "records.i" };
}

/** If either id may name the bet, the betId names the bet, unless the ledger knows only the other id (decision 137). */
const NAMED_BY_EITHER = `txns as materialized (select distinct t from entries),
  records as materialized (
    select found.*, case when of_bet.t is null and of_record.t is not null then found.i else found.b end as n
    from found left join txns of_bet on of_bet.t = found.b left join txns of_record on of_record.t = found.i
  ),`;

/**
 * The money that moved for an entry. Where the entry does not say, the money that a placement or a settlement asks
 * for.
 */
const MOVED =
  "coalesce(f.moved, case f.callback when 'placeBets' then -f.bet_amount else f.payout_amount end)";

/** The entry has both balances of its request, and some money moved for it. */
export const ANSWERED = `f.balance_before is not null and f.balance_after is not null and ${MOVED} <> 0`;

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
 * Columns of an entry. An entry is plain where the fold needs only its amount, and the wallet moved what it asks for.
 */
export function entry(rules: StatementRules): string {
  const isExact = rules.tolerance.size === 0;
  // With a tolerance the record's amount may differ from the declared one, so `agreesWithRecord` checks what moved.
  const movedAs = (declared: string) => (isExact ? `and coalesce(f.moved, ${declared}) = ${declared}` : "");
  return `f.username as u, f.txn_id as t, coalesce(f.round_id, '') as r, f.currency as c, ${requestIdSql("f.request_id")} as q,
  f.entry_id, f.occurred_at, f.received_at, ${ANSWERED} as answered,
  f.callback = 'placeBets' as places, f.bet_amount, f.payout_amount,${isExact ? "" : ` ${MOVED} as moved,`}
  ${rules.areFlagged ? FLAGS : ""}
  coalesce(
    not f.skip_balance_update
    and case f.callback
      when 'placeBets' then f.status = 'OPEN' ${movedAs("-f.bet_amount")}
      when 'settleBets' then coalesce(f.transaction_type, '') <> 'BY_ROUND' ${movedAs("f.payout_amount")}
    end
    and coalesce(${equal(rules, "f.currency", "f.balance_after - f.balance_before", MOVED)}, true),
  false) as plain`;
}

/**
 * Times for flagged settlements: before its placement, such a settlement does something else (decision 92). These
 * columns cost time, so a statement has them only where the product has such settlements.
 */
const FLAGS = `case when f.callback = 'placeBets' then f.occurred_at end as placed_at,
  case when f.callback = 'settleBets' and f.single_state is not null then f.occurred_at end as flagged_at,`;

export const RECORD = `f.username as u, f.bet_id as b, f.id as i, f.round_id as r, f.currency as c, f.stake, f.payout,
  f.bet_status = 'SETTLED' and case f.payout_status
    when 'WIN' then f.payout <> 0 when 'LOSE' then f.payout <= f.stake else true end as plain`;

/**
 * Mismatches that a comparison must still check: open ones, so that it can end them, and those that a person decided,
 * so that it notices when they no longer hold (decision 44).
 */
export const UNSETTLED = `
  unsettled as (
    select username, subject, bet_id, transaction_id, round_id from mismatches
    where product_id = $1 and (status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon'))
  )`;

/** The ids that a mismatch names. */
export const NAMED =
  "values (bet_id), (transaction_id), (case when subject like 'bet:%' then substr(subject, 5) end)";

/**
 * The weight of a plain entry in the sum of `uncertain`. Where losses are omitted, the placement of a lost bet weighs
 * as much as both entries.
 */
function weightOf({ dropsOmittedLosses }: ScreenRules): string {
  if (!dropsOmittedLosses) return "case when entries.places then 1 else 1 << 29 end";
  return `case when entries.places then 1 else 0 end
        + case when entries.places = (records.payout = 0) then 1 << 29 else 0 end`;
}

/** Whether the amount that an entry declares, and the amount that moved, equal the amount of its record. */
function agreesWithRecord(rules: ScreenRules): string {
  const equals = (amount: string, listed: string) => equal(rules, "entries.c", amount, listed);
  const moved = (amount: string, listed: string) =>
    rules.tolerance.size === 0 ? "" : ` and ${equals(amount, listed)}`;
  return `case when entries.places
          then ${equals("entries.bet_amount", "records.stake")}${moved("-entries.moved", "records.stake")}
          else ${equals("entries.payout_amount", "records.payout")}${moved("entries.moved", "records.payout")} end`;
}

/**
 * Every row of any round or player that has one of the ids of the part "ids". "offset 0" makes PostgreSQL search each
 * id by index, whatever number of ids the planner assumes.
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
    select ${other} as id from records join entries on entries.t = ${other} where ${other} <> ${name}
  ),
  unsettled_ids as (
    select ids.id from ids join (
      select distinct id from unsettled cross join lateral (${NAMED}) as named (id)) named using (id)
  ),
  shared as (
    select entries.u, entries.r, entries.t from entries cross join lateral (
      select from callback_entries f
      where f.occurred_at = entries.occurred_at and ${requestIdSql("f.request_id")} = entries.q and f.entry_id <> entries.entry_id
        and f.product_id = $1 and f.username = entries.u offset 0) another
    where answered
  )`;
}

/** The ids of bets that do not certainly agree. `badRounds` of screen-store.ts says when agreement is certain. */
export const uncertain = (rules: StatementRules) => `uncertain as (
    select coalesce(${namesOf(rules).name}, entries.t) as id
    from records full join entries on entries.t = ${namesOf(rules).name}
    group by 1
    -- Only one placement and one settlement that both agree add up to this sum. Anything that differs weighs more.
    having sum(case
      when entries.plain and records.plain and entries.u = records.u and entries.r = records.r and entries.c = records.c
        and ${agreesWithRecord(rules)}
      then ${weightOf(rules)} else 1 << 30 end) <> 1 + (1 << 29)
      -- A flagged settlement does something else before its placement (decision 92).
      ${rules.areFlagged ? "or max(entries.placed_at) >= min(entries.flagged_at)" : ""}
    union all
    select id from foreign_ids
    union all
    select id from unsettled_ids
  )`;
