/** The share of the money that both sides confirmed in time, by product and month. */

import type { Instant } from "../../clock.ts";
import { sharesOf } from "../../closing/confirmed-days.ts";
import { type ConfirmedMonth, readConfirmedMonths } from "../../closing/confirmed-store.ts";
import type { ConfirmedShares } from "../../confirmed.ts";
import type { Query } from "../../db/client.ts";
import { formatAmount } from "../../money.ts";

/** The shares of one month. */
export interface MonthlyShares extends ConfirmedShares {
  /** YYYY-MM */
  readonly month: string;
  /** the end of the last closed day of the month */
  readonly to: Instant;
  /** false: an older version, which measured nothing, closed some of its days */
  readonly isWhole: boolean;
}

/** The newest months with a closed day, the newest first. @param productId null: all products */
export async function readMonthlyShares(
  sql: Query,
  now: Instant,
  most: number,
  productId: string | null = null,
): Promise<MonthlyShares[]> {
  const months = await readConfirmedMonths(sql, most, productId);
  return months.map((one: ConfirmedMonth) => {
    const { month, currency, to, isWhole } = one;
    const names = { month, productId: one.productId, currency, to, isWhole };
    return { ...names, stake: formatAmount(one.stake), ...sharesOf(one, now) };
  });
}
