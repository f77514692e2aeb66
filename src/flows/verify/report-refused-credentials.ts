/** Reports refused credentials for questions about transfers: a product without pulling shows no other sign. */

import { isSame } from "../../alerts/condition.ts";
import { beginCondition, endCondition, readConditions } from "../../alerts/condition-store.ts";
import { refusedForTransfers } from "../../health/products.ts";
import type { FlowContext } from "../context.ts";
import type { AskOutcome } from "./ask-outcome.ts";

/** Asks as `ask` does, and notices the first refusal and the first real answer after it. */
export function reportingRefusals(context: FlowContext, ask: AskOutcome): AskOutcome {
  const { sql, clock } = context;
  // The last report of this process about each product; another process may have reported a refusal before.
  const reported = new Map<string, "refused" | "accepted">();
  return async (sent, signal, isThrottled) => {
    const answer = await ask(sent, signal, isThrottled);
    const { productId } = sent;
    const last = reported.get(productId);
    if (answer.refused !== null && last !== "refused") {
      await beginCondition(sql, refusedForTransfers(productId), clock.now());
      reported.set(productId, "refused");
    } else if (answer.refused === null && answer.answer.says !== "nothing" && last !== "accepted") {
      const refusal = refusedForTransfers(productId);
      const standing = (await readConditions(sql)).find((one) => isSame(one, refusal));
      if (standing !== undefined) await endCondition(sql, standing, clock.now());
      reported.set(productId, "accepted");
    }
    return answer;
  };
}
