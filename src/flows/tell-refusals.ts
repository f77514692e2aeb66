/** Tells when the provider refuses the credentials for questions about transfers: a product without pulling has no other sign of it. */

import { type Condition, type ConditionName, isSame } from "../alerts/condition.ts";
import { beginCondition, endCondition, readConditions } from "../alerts/condition-store.ts";
import type { AskOutcome } from "./ask-outcome.ts";
import type { FlowContext } from "./context.ts";

export const TRANSFERS_REFUSED: ConditionName = { kind: "credentials-refused", subject: "transfers" };

const CONDITION: Condition = {
  ...TRANSFERS_REFUSED,
  productId: null,
  what: "the provider refuses the credentials: no transfer and no top-up can be verified",
  toDo: "Check PROVIDER_USERNAME and PROVIDER_PASSWORD, then restart the worker. Nothing is decided meanwhile.",
  whatWhenOver: "the provider accepts the credentials again: transfers are verified",
};

/** Asks as `ask` does, and notices the first refusal and the first real answer after it. */
export function tellingRefusals(context: FlowContext, ask: AskOutcome): AskOutcome {
  const { sql, clock } = context;
  // What this process told last; another one may have told of a refusal before this one began.
  let told: "refused" | "accepted" | null = null;
  return async (sent, signal) => {
    const heard = await ask(sent, signal);
    if (heard.refused !== null && told !== "refused") {
      await beginCondition(sql, CONDITION, clock.now());
      told = "refused";
    } else if (heard.refused === null && heard.answer.says !== "nothing" && told !== "accepted") {
      const standing = (await readConditions(sql)).find((one) => isSame(one, TRANSFERS_REFUSED));
      if (standing !== undefined) await endCondition(sql, standing, clock.now());
      told = "accepted";
    }
    return heard;
  };
}
