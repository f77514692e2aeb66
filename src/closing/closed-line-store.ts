/** What the bets of a closed day counted for when it was closed, in PostgreSQL. */

import type { Query } from "../db/client.ts";
import type { ClosedBet } from "./changed-bets.ts";
import { type ClosedBetRow, COLUMNS, toClosedBet } from "./closed-bet-store.ts";

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
