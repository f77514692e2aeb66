/** What people decided about mismatches since the days of their bets were closed. */

import type { Query } from "../db/client.ts";
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

/** A person's latest decision about a mismatch. */
export interface DecisionRow {
  readonly mismatchId: number;
  /** open: it was opened again */
  readonly status: "resolved" | "ignored" | "open";
  readonly by: string;
  readonly note: string | null;
  /** those that were made since the day was closed; amounts are decimal text */
  readonly adjustments: readonly {
    readonly ref: string;
    readonly amount: string;
    readonly currency: string;
  }[];
}

/** Of each bet, the decisions since its day was closed, by the mismatch's number. */
export async function readDecisionsSinceClosing(
  tx: Query,
  productId: string,
  bets: readonly DecidedBet[],
): Promise<DecisionRow[][]> {
  if (bets.length === 0) return [];
  const column = (of: (bet: DecidedBet) => string | null) => bets.map(of);
  const rows = await tx<(DecisionRow & { place: number })[]>`
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
  const decisions: DecisionRow[][] = bets.map(() => []);
  for (const { place, ...decision } of rows) decisions[place - 1]?.push(decision);
  return decisions;
}
