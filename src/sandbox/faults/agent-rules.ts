/** Chooses the fault for a request of the agent API: the first in the list whose conditions all hold. */

import type { Instant } from "../../clock.ts";
import { hashText } from "../world/random.ts";
import type { AgentAction, AgentEndpoint, CheckedAgentFault } from "./agent-fault.ts";
import { strikesNumber } from "./fault-rules.ts";

/** The values of a request that faults can depend on; null: the request has no such value. */
interface AgentCall {
  readonly endpoint: AgentEndpoint;
  readonly productId: string | null;
  readonly username: string | null;
  /** the transactionRef or the transactionId */
  readonly ref: string | null;
  /** when the reference was booked; null: it was not */
  readonly bookedAt: Instant | null;
  readonly now: Instant;
}

export interface AgentRules {
  /** @returns the effect on the request; null: no fault strikes. Every call counts as one request. */
  strike(call: AgentCall): AgentAction | null;
}

/**
 * `requests` and `share` count as for the bet query. `calls` counts for each endpoint and reference.
 * @param seed decides the shares, with the fault's place in the list
 */
export function createAgentRules(faults: readonly CheckedAgentFault[], seed: number): AgentRules {
  const rules = faults.map((fault, index) => ({
    fault,
    luck: `${seed}|agent fault|${index}`,
    seen: 0,
    struck: 0,
  }));
  const countsCalls = faults.some(({ when }) => when.calls !== undefined);
  const calls = new Map<string, number>();
  return {
    strike(call) {
      const key = JSON.stringify([call.endpoint, call.ref]);
      const number = (calls.get(key) ?? 0) + 1;
      if (countsCalls) calls.set(key, number);
      for (const rule of rules) {
        const { when } = rule.fault;
        if (!couldStrike(rule.fault, call, number, rule.luck)) continue;
        rule.seen++;
        if (when.times !== undefined && rule.struck >= when.times) continue;
        const { requests, share } = when;
        if (!strikesNumber({ requests, share }, rule.seen, rule.luck)) continue;
        rule.struck++;
        return rule.fault.do;
      }
      return null;
    },
  };
}

function couldStrike({ when }: CheckedAgentFault, call: AgentCall, number: number, luck: string): boolean {
  const { endpoint, productId, username, ref, bookedAt, now } = call;
  if (![when.endpoint].flat().includes(endpoint)) return false;
  if (when.product !== undefined && when.product !== productId) return false;
  if (when.username !== undefined && when.username !== username) return false;
  if (when.ref !== undefined && (ref === null || !when.ref.test(ref))) return false;
  if (when.shareOfRefs !== undefined && !hasLuck(when.shareOfRefs, ref, luck)) return false;
  if (when.calls !== undefined && !when.calls.includes(number)) return false;
  if (when.youngerThan !== undefined && (bookedAt === null || now >= bookedAt + when.youngerThan))
    return false;
  return when.between === undefined || (now >= when.between[0] && now < when.between[1]);
}

function hasLuck(share: number, ref: string | null, luck: string): boolean {
  return ref !== null && hashText(`${luck}|${ref}`) < share * 2 ** 32;
}
