/** What people decided about mismatches since the days of their bets were closed. */

import type { Query } from "../db/client.ts";
import type { Decision } from "../mismatch.ts";
import { RESOLVED_BY_RECON } from "./transitions.ts";

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

/** Of each bet, the latest decision about each of its mismatches since its day was closed, by the mismatch's number. */
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
      where e.mismatch_id = m.id and e.at >= d.closed_at order by e.id desc limit 1) e
    where e.by <> ${RESOLVED_BY_RECON} and e.to_status in ('resolved', 'ignored', 'open')
    order by k.place, m.id`;
  const decisions: Decision[][] = bets.map(() => []);
  for (const { place, ...decision } of rows) decisions[place - 1]?.push(decision);
  return decisions;
}
