/** Marks open mismatches for a comparison when a worker starts, because settings may have changed (decision 101). */

import { markOpenMismatches } from "../../diff/store.ts";
import type { FlowContext } from "../context.ts";

/** Marks only bets and rounds: a session is compared when something touches it. */
export async function compareOpenAgain({ sql, config, clock, log }: FlowContext): Promise<void> {
  const compared = config.products.filter(
    (one) => one.walletMode === "seamless" && one.settlement !== "session",
  );
  const productIds = compared.map(({ productId }) => productId);
  const marked = await markOpenMismatches(sql, productIds, clock.now());
  if (marked > 0)
    log.info({ mismatches: marked }, "open mismatches are compared again with the present settings");
}
