/** What the bets of closed days count for, in PostgreSQL (decision 150). */

import type { Confirmed } from "../confirmed.ts";
import type { Query } from "../db/client.ts";
import { type Amount, formatAmount, parseAmount, ZERO } from "../money.ts";
import type { Shown, ShownSide, SideSums } from "../report.ts";
import type { TimeRange } from "../window.ts";
import type { ClosedBet } from "./changed-bets.ts";

/** The rows of a round, a bet or a session. */
export interface ForgottenBet {
  readonly username: string;
  readonly subject: string;
  /** one bet of the round, or the session; null: all */
  readonly betRef: string | null;
  /** null: all */
  readonly currency: string | null;
}

/** Deletes what some rounds, bets and sessions count for. The statements of the closed days stay (§3.10). */
export async function forgetClosedBets(
  tx: Query,
  productId: string,
  forgotten: readonly ForgottenBet[],
): Promise<void> {
  if (forgotten.length === 0) return;
  const column = (of: (one: ForgottenBet) => string | null) => forgotten.map(of);
  await tx`
    delete from closed_bets b
    using unnest(${column(({ username }) => username)}::text[], ${column(({ subject }) => subject)}::text[],
      ${column(({ betRef }) => betRef)}::text[], ${column(({ currency }) => currency)}::text[])
      as gone (username, subject, bet_ref, currency)
    where b.product_id = ${productId} and b.username = gone.username and b.subject = gone.subject
      and (gone.bet_ref is null or b.bet_ref = gone.bet_ref) and (gone.currency is null or b.currency = gone.currency)`;
}

/**
 * Stores bets that have no row yet.
 * @param isCorrected false: the day is being closed with them
 */
export async function writeClosedBets(
  tx: Query,
  productId: string,
  bets: readonly ClosedBet[],
  isCorrected = false,
): Promise<void> {
  if (bets.length === 0) return;
  const text = (of: (bet: ClosedBet) => string) => bets.map(of);
  const amounts = (of: (bet: ClosedBet) => Amount | null) => bets.map((bet) => toText(of(bet)));
  const ledger = (of: (side: SideSums) => Amount) => amounts((bet) => (isEven(bet) ? null : of(bet.ledger)));
  const name = (of: (bet: ClosedBet) => string | null) =>
    bets.map((bet) => (of(bet) === bet.betRef ? "" : of(bet)));
  const some = (of: (bet: ClosedBet) => Amount | null) =>
    amounts((bet) => (of(bet)?.eq(ZERO) ? null : of(bet)));
  await tx`
    insert into closed_bets (product_id, username, subject, bet_ref, day, currency, provider_bets, provider_stake,
      provider_payout, provider_net, ledger_bets, ledger_stake, ledger_payout, ledger_net, mismatches, adjustments, pending,
      rounding, ledger_moved, ledger_rewards, ledger_tips, outside, bet_id, transaction_id, provider_status, ledger_status, mismatch_id, verdict,
      confirmed, corrected)
    select ${productId}, *, ${isCorrected ? true : null}::boolean from unnest(${text((bet) => bet.username)}::text[], ${text((bet) => bet.subject)}::text[],
      ${text((bet) => bet.betRef)}::text[], ${text((bet) => bet.day)}::text[]::date[], ${text((bet) => bet.currency)}::text[],
      ${bets.map((bet) => bet.provider.bets)}::int[], ${amounts((bet) => bet.provider.stake)}::text[]::numeric[],
      ${amounts((bet) => bet.provider.payout)}::text[]::numeric[], ${amounts((bet) => bet.provider.net)}::text[]::numeric[],
      ${bets.map((bet) => (isEven(bet) ? null : bet.ledger.bets))}::int[], ${ledger((side) => side.stake)}::text[]::numeric[],
      ${ledger((side) => side.payout)}::text[]::numeric[], ${ledger((side) => side.net)}::text[]::numeric[],
      ${some((bet) => bet.mismatches)}::text[]::numeric[], ${some((bet) => bet.adjustments)}::text[]::numeric[],
      ${some((bet) => bet.pending)}::text[]::numeric[], ${some((bet) => bet.rounding)}::text[]::numeric[],
      ${amounts((bet) => (bet.moved.eq(bet.ledger.net) ? null : bet.moved))}::text[]::numeric[],
      ${some((bet) => bet.rewards)}::text[]::numeric[], ${some((bet) => bet.tips)}::text[]::numeric[],
      ${some((bet) => bet.outside)}::text[]::numeric[], ${name((bet) => bet.betId)}::text[],
      ${name((bet) => bet.transactionId)}::text[], ${bets.map((bet) => textOf(bet.shown.provider))}::text[],
      ${bets.map((bet) => textOf(bet.shown.ledger))}::text[], ${bets.map((bet) => bet.shown.mismatchId)}::text[]::bigint[],
      ${bets.map((bet) => bet.shown.verdict)}::text[], ${bets.map(confirmedText)}::text[])`;
}

/**
 * Deletes the rows of bets.
 * @returns for each bet its row as JSON, if its day was closed with it; null: a correction wrote it
 */
export async function deleteClosedBets(
  tx: Query,
  productId: string,
  bets: readonly ClosedBet[],
): Promise<(string | null)[]> {
  if (bets.length === 0) return [];
  const column = (of: (bet: ClosedBet) => string) => bets.map(of);
  const rows = await tx<{ place: number; row: string | null }[]>`
    delete from closed_bets c
    using unnest(${column((bet) => bet.username)}::text[], ${column((bet) => bet.subject)}::text[],
      ${column((bet) => bet.betRef)}::text[], ${column((bet) => bet.day)}::text[]::date[],
      ${column((bet) => bet.currency)}::text[])
      with ordinality as k (username, subject, bet_ref, day, currency, place)
    where c.product_id = ${productId} and c.username = k.username and c.subject = k.subject
      and c.bet_ref = k.bet_ref and c.day = k.day and c.currency = k.currency
    returning k.place::int as place,
      case when c.corrected is null then jsonb_strip_nulls(to_jsonb(c))::text end as row`;
  const byPlace = new Map(rows.map(({ place, row }) => [place, row]));
  return bets.map((_, index) => byPlace.get(index + 1) ?? null);
}

/** The stored bets with these subjects. @param subjects pairs of username and subject */
export async function readClosedBets(
  tx: Query,
  productId: string,
  subjects: readonly (readonly [string, string])[],
): Promise<ClosedBet[]> {
  const rows = await tx<ClosedBetRow[]>`
    select ${columns(tx)}
    from (select distinct * from unnest(${subjects.map(([username]) => username)}::text[],
      ${subjects.map(([, subject]) => subject)}::text[]) as k (username, subject)) k
    cross join lateral (select * from closed_bets c
      where c.product_id = ${productId} and c.username = k.username and c.subject = k.subject offset 0) c`;
  return rows.map(toClosedBet);
}

/** A player's stored sessions that begin within a span, both ends included. */
export async function readClosedSessions(
  tx: Query,
  productId: string,
  username: string,
  { from, to }: TimeRange,
): Promise<ClosedBet[]> {
  const rows = await tx<ClosedBetRow[]>`
    select ${columns(tx)} from closed_bets c
    where c.product_id = ${productId} and c.username = ${username} and c.subject = 'sessions'
      and c.bet_ref::timestamptz between ${from} and ${to}`;
  return rows.map(toClosedBet);
}

interface ClosedBetRow extends Pick<ClosedBet, "username" | "subject" | "betRef" | "day" | "currency"> {
  readonly providerBets: number;
  readonly providerStake: string;
  readonly providerPayout: string;
  readonly providerNet: string;
  readonly ledgerBets: number | null;
  readonly ledgerStake: string | null;
  readonly ledgerPayout: string | null;
  readonly ledgerNet: string | null;
  readonly mismatches: string | null;
  readonly adjustments: string | null;
  readonly pending: string | null;
  readonly rounding: string | null;
  /** null: the ledger's net */
  readonly ledgerMoved: string | null;
  /** null: 0, or an older version did not store it */
  readonly ledgerRewards: string | null;
  readonly ledgerTips: string | null;
  readonly outside: string | null;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly providerStatus: string | null;
  readonly ledgerStatus: string | null;
  readonly mismatchId: string | null;
  readonly verdict: Shown["verdict"];
  readonly confirmed: Confirmed | null;
}

function columns(tx: Query) {
  return tx.unsafe(COLUMNS);
}

/** Of a row `c` of `closed_bets`. */
const COLUMNS = `c.username, c.subject, c.bet_ref as "betRef", c.day::text as day, c.currency, c.provider_bets as "providerBets",
    c.provider_stake as "providerStake", c.provider_payout as "providerPayout", c.provider_net as "providerNet",
    c.ledger_bets as "ledgerBets", c.ledger_stake as "ledgerStake", c.ledger_payout as "ledgerPayout",
    c.ledger_net as "ledgerNet", c.mismatches, c.adjustments, c.pending, c.rounding,
    c.ledger_moved as "ledgerMoved", c.ledger_rewards as "ledgerRewards", c.ledger_tips as "ledgerTips", c.outside, c.bet_id as "betId", c.transaction_id as "transactionId",
    c.provider_status as "providerStatus", c.ledger_status as "ledgerStatus", c.mismatch_id::text as "mismatchId",
    c.verdict, c.confirmed`;

function toClosedBet(row: ClosedBetRow): ClosedBet {
  const { username, subject, betRef, day, currency } = row;
  const amount = (text: string | null) => (text === null ? ZERO : parseAmount(text, "closed_bets"));
  const provider = {
    bets: row.providerBets,
    stake: amount(row.providerStake),
    payout: amount(row.providerPayout),
    net: amount(row.providerNet),
  };
  const ledger =
    row.ledgerBets === null
      ? provider
      : {
          bets: row.ledgerBets,
          stake: amount(row.ledgerStake),
          payout: amount(row.ledgerPayout),
          net: amount(row.ledgerNet),
        };
  const [moved, outside] = [
    row.ledgerMoved === null ? ledger.net : amount(row.ledgerMoved),
    amount(row.outside),
  ];
  // Every row of this version has at least one of its sides.
  const isOlder = row.providerStatus === null && row.ledgerStatus === null;
  return {
    username,
    subject,
    betRef,
    day,
    currency,
    ...namesOf(row, provider.bets > 0, ledger.bets > 0 || !moved.eq(ZERO) || !outside.eq(ZERO)),
    shown: {
      provider: toSide(row.providerStatus),
      ledger: toSide(row.ledgerStatus),
      mismatchId: row.mismatchId,
      verdict: row.verdict,
    },
    provider,
    ledger,
    mismatches: amount(row.mismatches),
    adjustments: amount(row.adjustments),
    pending: amount(row.pending),
    rounding: amount(row.rounding),
    moved,
    outside,
    rewards: isOlder ? null : amount(row.ledgerRewards),
    tips: isOlder ? null : amount(row.ledgerTips),
    confirmed: row.confirmed ?? "hour",
  };
}

/** Of a row that an older version stored, the sides that count say which have the bet. */
function namesOf(
  { subject, betRef, betId, transactionId }: ClosedBetRow,
  isListed: boolean,
  isHeld: boolean,
): Pick<ClosedBet, "betId" | "transactionId"> {
  if (subject === "sessions" || betRef === "") return { betId: null, transactionId: null };
  if (betId === null && transactionId === null)
    return { betId: isListed ? betRef : null, transactionId: isHeld ? betRef : null };
  return {
    betId: betId === "" ? betRef : betId,
    transactionId: transactionId === "" ? betRef : transactionId,
  };
}

function toSide(status: string | null): ShownSide | null {
  return status === null ? null : { status: status === "" ? null : status };
}

/** Most bets are confirmed within an hour, and of no stake there is no share: both take no space. */
function confirmedText({ provider, confirmed = "never" }: ClosedBet): string | null {
  return confirmed === "hour" || provider.stake.eq(ZERO) ? null : confirmed;
}

function textOf(side: ShownSide | null): string | null {
  return side === null ? null : (side.status ?? "");
}

function isEven({ provider: a, ledger: b }: ClosedBet): boolean {
  return a.bets === b.bets && a.stake.eq(b.stake) && a.payout.eq(b.payout) && a.net.eq(b.net);
}

function toText(amount: Amount | null): string | null {
  return amount === null ? null : formatAmount(amount);
}

/** SQL: the rows that no correction wrote, and those that one has replaced. $1: the day, $2: the product. */
export const LINES_AS_CLOSED = `
  select b.* from closed_bets b where b.day = $1::text::date and b.product_id = $2 and b.corrected is null
  union all
  select r.* from corrections k cross join lateral jsonb_populate_recordset(null::closed_bets, k.replaced) r
  where k.day = $1::text::date and k.replaced is not null and r.product_id = $2`;

/** The order is that of the primary key, so that a page reads the index from its place on. */
const PAGE = `
  select ${COLUMNS} from (${LINES_AS_CLOSED}) c
  where (c.username, c.subject, c.bet_ref, c.currency) >= ($3, $4, $5, $6)
  order by c.username, c.subject, c.bet_ref, c.currency limit $7`;

/** @param from the first bet; null: the first of all */
export async function readClosedLines(
  tx: Query,
  day: string,
  productId: string,
  from: Pick<ClosedBet, "username" | "subject" | "betRef" | "currency"> | null,
  most: number,
): Promise<ClosedBet[]> {
  const { username, subject, betRef, currency } = from ?? {
    username: "",
    subject: "",
    betRef: "",
    currency: "",
  };
  const rows = await tx.unsafe<ClosedBetRow[]>(PAGE, [
    day,
    productId,
    username,
    subject,
    betRef,
    currency,
    most,
  ]);
  return rows.map(toClosedBet);
}
