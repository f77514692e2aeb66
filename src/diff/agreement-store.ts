/**
 * When a bet is certain to agree by itself, as SQL: what the screening of whole rounds and the comparison of rounds with
 * very many bets go by.
 */

import { requestIdSql } from "../db/request-id.ts";
import { formatAmount } from "../money.ts";
import type { IdRule } from "./match.ts";
import type { Tolerance } from "./tolerance.ts";

/** What counts as agreement beside equal amounts: nothing of it is dropped that the exact comparison would find. */
export interface ScreenRules {
  /** a bet that is only placed agrees with a record that paid nothing, which names it */
  readonly dropsOmittedLosses: boolean;
  readonly tolerance: Tolerance;
}

/** The rules of one statement. */
export interface StatementRules extends ScreenRules {
  /** some settlements say themselves whether they are single-state */
  readonly areFlagged: boolean;
  /** which ids of a record may name its bet */
  readonly namedBy: readonly IdRule[];
}

/** The id by which a row of the part "records" names its bet, and the one that must name no other. */
export function namesOf({ namedBy: [rule, another] }: StatementRules): { name: string; other: string } {
  if (another !== undefined) return { name: "records.n", other: "records.i" };
  return rule === "id"
    ? { name: "records.i", other: "records.b" }
    : { name: "records.b", other: "records.i" };
}

/** Where either id may name the bet, the betId does, unless the ledger knows the other one alone. */
const NAMED_BY_EITHER = `txns as materialized (select distinct t from entries),
  records as materialized (
    select found.*, case when of_bet.t is null and of_record.t is not null then found.i else found.b end as n
    from found left join txns of_bet on of_bet.t = found.b left join txns of_record on of_record.t = found.i
  ),`;

/** What moved for an entry; where it does not say, what a placement or a settlement asks for. */
const MOVED =
  "coalesce(f.moved, case f.callback when 'placeBets' then -f.bet_amount else f.payout_amount end)";

/** The entry says how the balance changed with its request, and some money moved for it. */
export const ANSWERED = `f.balance_before is not null and f.balance_after is not null and ${MOVED} <> 0`;

/** Whether two amounts of a currency are equal; both are whole expressions. */
function equal({ tolerance }: ScreenRules, currency: string, a: string, b: string): string {
  if (tolerance.size === 0) return `${a} = ${b}`;
  return `abs(${a} - (${b})) <= ${allowed(tolerance, currency)}`;
}

/** The codes and amounts are those of checked settings: capital letters, digits and decimals. */
function allowed(tolerance: Tolerance, currency: string): string {
  const cases = [...tolerance].map(([code, amount]) => `when '${code}' then ${formatAmount(amount)}`);
  return cases.length === 0 ? "0" : `case ${currency} ${cases.join(" ")} else 0 end`;
}

/** An entry is plain where nothing but its amount needs to be known to fold it, and the wallet did what it asks for. */
export function entry(rules: StatementRules): string {
  const isExact = rules.tolerance.size === 0;
  // What moved is held against the record's amount as well where that need not be what is declared.
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

/** Of settlements that are flagged, which takes longer: what they do depends on what came first. */
const FLAGS = `case when f.callback = 'placeBets' then f.occurred_at end as placed_at,
  case when f.callback = 'settleBets' and f.single_state is not null then f.occurred_at end as flagged_at,`;

export const RECORD = `f.username as u, f.bet_id as b, f.id as i, f.round_id as r, f.currency as c, f.stake, f.payout,
  f.bet_status = 'SETTLED' and case f.payout_status
    when 'WIN' then f.payout <> 0 when 'LOSE' then f.payout <= f.stake else true end as plain`;

/**
 * Mismatches that are not over: their rounds have to be looked at, so that they end. Of one that a person has decided
 * it has to be seen that it no longer holds.
 */
export const UNSETTLED = `
  unsettled as (
    select username, subject, bet_id, transaction_id, round_id from mismatches
    where product_id = $1 and (status in ('open', 'acknowledged') or (ceased_at is null and resolved_by <> 'recon'))
  )`;

/** The ids that a mismatch names. */
export const NAMED =
  "values (bet_id), (transaction_id), (case when subject like 'bet:%' then substr(subject, 5) end)";

/** What a plain entry adds up to. Where losses are omitted, the placement of a lost bet is complete by itself. */
function weightOf({ dropsOmittedLosses }: ScreenRules): string {
  if (!dropsOmittedLosses) return "case when entries.places then 1 else 1 << 29 end";
  return `case when entries.places then 1 else 0 end
        + case when entries.places = (records.payout = 0) then 1 << 29 else 0 end`;
}

/** Whether an entry declares and moved what its record says. */
function agreesWithRecord(rules: ScreenRules): string {
  const equals = (amount: string, listed: string) => equal(rules, "entries.c", amount, listed);
  const moved = (amount: string, listed: string) =>
    rules.tolerance.size === 0 ? "" : ` and ${equals(amount, listed)}`;
  return `case when entries.places
          then ${equals("entries.bet_amount", "records.stake")}${moved("-entries.moved", "records.stake")}
          else ${equals("entries.payout_amount", "records.payout")}${moved("entries.moved", "records.payout")} end`;
}

/**
 * Every row, of whatever round or player, that has one of the ids of the part "ids".
 * "offset 0" keeps each search one by index, whatever the planner believes about their number.
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

/** The ids of which it is not certain that their bet agrees (`badRounds` of screen-store.ts says when it is). */
export const uncertain = (rules: StatementRules) => `uncertain as (
    select coalesce(${namesOf(rules).name}, entries.t) as id
    from records full join entries on entries.t = ${namesOf(rules).name}
    group by 1
    -- Nothing but one placement and one settlement, both of which agree, adds up to this: what does not agree is more.
    having sum(case
      when entries.plain and records.plain and entries.u = records.u and entries.r = records.r and entries.c = records.c
        and ${agreesWithRecord(rules)}
      then ${weightOf(rules)} else 1 << 30 end) <> 1 + (1 << 29)
      -- A settlement that says itself whether it is single-state does something else before its placement.
      ${rules.areFlagged ? "or max(entries.placed_at) >= min(entries.flagged_at)" : ""}
    union all
    select id from foreign_ids
    union all
    select id from unsettled_ids
  )`;
