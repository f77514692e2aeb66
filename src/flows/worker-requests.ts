/** How a worker's flows reach the provider: bet pages and verify requests share one request budget. */

import { openBudget, withinBudget } from "../provider/budget.ts";
import type { ProviderClient } from "../provider/client.ts";
import type { FlowContext, PullContext } from "./context.ts";
import { openAskOutcome, type VerifyContext } from "./verify/ask-outcome.ts";

/** Sends nothing and opens no connection yet. `fetchPage` serves pulling, `ask` serves verifying. */
export function openWorkerRequests(
  context: FlowContext,
  provider: ProviderClient,
): Pick<PullContext, "fetchPage"> & Pick<VerifyContext, "ask"> {
  const { sql, config, clock } = context;
  const { concurrency, minInterval, requestTimeout } = config.pull;
  const budget = openBudget(sql, { concurrency, minIntervalMs: minInterval }, requestTimeout, clock);
  return {
    fetchPage: withinBudget(provider.fetchBetPage, budget),
    ask: openAskOutcome(provider, budget, context),
  };
}
