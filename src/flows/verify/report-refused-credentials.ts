/** Reports refused credentials for questions about transfers: a product without pulling shows no other sign. */

import { type Condition, type ConditionName, isSame } from "../../alerts/condition.ts";
import { beginCondition, endCondition, readConditions } from "../../alerts/condition-store.ts";
import type { FlowContext } from "../context.ts";
import type { AskOutcome } from "./ask-outcome.ts";

const SUBJECT = "transfers of ";

/** The condition of one product: the provider may refuse a single product. */
function refusalOf(productId: string): Condition {
  return {
    kind: "credentials-refused",
    subject: `${SUBJECT}${productId}`,
    productId,
    what: `the provider refuses the credentials: no transfer and no top-up of ${productId} can be verified`,
    toDo: "Check PROVIDER_USERNAME and PROVIDER_PASSWORD, then restart the worker. Nothing is decided meanwhile, and other products continue.",
    whatWhenOver: `the provider accepts the credentials again: transfers of ${productId} are verified`,
  };
}

/** Whether a condition is about questions on transfers: the next answer to such a question ends it. */
export function isAboutTransfers({ kind, subject }: ConditionName): boolean {
  return kind === "credentials-refused" && subject.startsWith(SUBJECT);
}

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
      await beginCondition(sql, refusalOf(productId), clock.now());
      reported.set(productId, "refused");
    } else if (answer.refused === null && answer.answer.says !== "nothing" && last !== "accepted") {
      const refusal = refusalOf(productId);
      const standing = (await readConditions(sql)).find((one) => isSame(one, refusal));
      if (standing !== undefined) await endCondition(sql, standing, clock.now());
      reported.set(productId, "accepted");
    }
    return answer;
  };
}
