/** Has open mismatches looked at once more when a worker starts: its settings may say by now that they are none. */

import { markUnsettled } from "../diff/store.ts";
import type { FlowContext } from "./context.ts";

/** Bets and rounds; sessions are looked at when something touches them. */
export async function compareUnsettledAgain({ sql, config, clock, log }: FlowContext): Promise<void> {
  const compared = config.products.filter(
    (one) => one.walletMode === "seamless" && one.settlement === "bets",
  );
  const productIds = compared.map(({ productId }) => productId);
  const marked = await markUnsettled(sql, productIds, clock.now());
  if (marked > 0)
    log.info({ mismatches: marked }, "open mismatches are compared again by the present settings");
}
