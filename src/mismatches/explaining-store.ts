/** Mismatches and decisions that explain a difference in the day's statement. */

import type { Query } from "../db/client.ts";
import { effectOf, type Judged } from "../effect.ts";
import { mapInTurns } from "../in-turns.ts";
import type { Decision, MismatchKind } from "../mismatch.ts";
import { type Amount, parseAmount } from "../money.ts";
import { RESOLVED_BY_RECON } from "./transitions.ts";

export interface ExplainingRow {
  readonly id: string;
  readonly kind: MismatchKind;
  readonly username: string;
  readonly subject: string;
  /** the player and the bet on the provider's side; null: that side is empty */
  readonly providerUsername: string | null;
  readonly betId: string | null;
  readonly amountAtRisk: Amount;
  /** without its adjustments; null: it cannot be known */
  readonly effect: Amount | null;
  /** the mismatch still holds, even if a reviewer decided it */
  readonly stands: boolean;
  /** a reviewer resolved the mismatch */
  readonly resolved: boolean;
  /** null: there is no adjustment */
  readonly adjustments: Amount | null;
}

/** All mismatches of these players, as either side names them, that still hold or have an adjustment. */
export async function readExplaining(
  tx: Query,
  productId: string,
  usernames: readonly string[],
): Promise<ExplainingRow[]> {
  const rows = await tx<
    (Omit<ExplainingRow, "amountAtRisk" | "effect" | "adjustments"> &
      Pick<Judged, "provider" | "ledger" | "foundEffect"> & {
        amountAtRisk: string;
        adjustments: string | null;
      })[]
  >`
    select id::text as id, kind, username, subject, provider->>'username' as "providerUsername", bet_id as "betId",
      amount_at_risk as "amountAtRisk", effect as "foundEffect", provider, ledger, status = 'resolved' as resolved,
      not (status = 'resolved' and resolved_by = ${RESOLVED_BY_RECON}) and ceased_at is null as stands,
      (select sum(a.amount) from adjustments a where a.mismatch_id = m.id) as adjustments
    from mismatches m
    where product_id = ${productId}
      and (username = any(${usernames as string[]})
        or kind = 'username-differs' and provider->>'username' = any(${usernames as string[]}))
      and (not (status = 'resolved' and resolved_by = ${RESOLVED_BY_RECON})
        or exists (select from adjustments a where a.mismatch_id = m.id))
    order by id`;
  return await mapInTurns(rows, ({ provider, ledger, foundEffect = null, ...row }) => ({
    ...row,
    effect: effectOf({ ...row, provider, ledger, foundEffect }),
    amountAtRisk: parseAmount(row.amountAtRisk, "amount_at_risk"),
    adjustments: row.adjustments === null ? null : parseAmount(row.adjustments, "adjustments"),
  }));
}

/** The rows by player: a row of two players under both. */
export function explainingByPlayer(
  rows: readonly ExplainingRow[],
): ReadonlyMap<string, readonly ExplainingRow[]> {
  const byPlayer = new Map<string, ExplainingRow[]>();
  for (const row of rows) {
    for (const username of new Set([row.username, row.providerUsername ?? row.username])) {
      const own = byPlayer.get(username) ?? [];
      own.push(row);
      byPlayer.set(username, own);
    }
  }
  return byPlayer;
}

/** A bet of a closed day. */
export interface DecidedBet {
  readonly day: string;
  readonly username: string;
  /** "round:…", "bet:…" or "sessions", as in `closed_bets` */
  readonly subject: string;
  /** empty: the rest of a wide round */
  readonly betRef: string;
  readonly betId: string | null;
  readonly transactionId: string | null;
}

/** The latest decision about each mismatch of each bet since its day was closed, by the number of the mismatch. */
export async function readDecisionsSinceClosing(
  tx: Query,
  productId: string,
  bets: readonly DecidedBet[],
): Promise<Decision[][]> {
  if (bets.length === 0) return [];
  const column = (of: (bet: DecidedBet) => string | null) => bets.map(of);
  const rows = await tx<(Decision & { place: number })[]>`
    select k.place::int as place, m.id as "mismatchId", e.to_status as status, e.by, e.note,
      (select coalesce(json_agg(json_build_object('ref', a.ref, 'amount', a.amount::text, 'currency', a.currency)
        order by a.id), '[]') from adjustments a where a.mismatch_id = m.id and a.at >= d.closed_at) as adjustments
    from unnest(${column(({ day }) => day)}::text[]::date[], ${column(({ username }) => username)}::text[],
      ${column(({ subject }) => subject)}::text[], ${column(({ betRef }) => betRef)}::text[],
      ${column(({ betId }) => betId)}::text[], ${column(({ transactionId }) => transactionId)}::text[])
      with ordinality as k (day, username, subject, ref, bet_id, transaction_id, place)
    join closed_days d on d.day = k.day
    join mismatches m on m.product_id = ${productId} and m.username = k.username and (
      m.subject in (k.subject, 'bet:' || k.ref) or starts_with(m.subject, 'session:' || k.ref || ' ')
      or m.transaction_id in (k.ref, k.bet_id, k.transaction_id) or m.bet_id in (k.ref, k.bet_id, k.transaction_id)
      or k.ref = '' and 'round:' || m.round_id = k.subject)
    cross join lateral (select * from mismatch_events e
      where e.mismatch_id = m.id and e.at >= d.closed_at and e.from_status is distinct from e.to_status
      order by e.id desc limit 1) e
    where e.by <> ${RESOLVED_BY_RECON} and e.to_status in ('resolved', 'ignored', 'open')
    order by k.place, m.id`;
  const decisions: Decision[][] = bets.map(() => []);
  for (const { place, ...decision } of rows) decisions[place - 1]?.push(decision);
  return decisions;
}
