/**
 * Faults of all endpoints except the bet query, as data: the requests that a fault strikes, and its effect
 * (README.md).
 */

import { z } from "zod";
import { AGENT_ENDPOINTS, type AgentEndpoint } from "../../agent-endpoints.ts";
import type { Instant } from "../../clock.ts";
import { hashText } from "../world/random.ts";
import {
  atLeastOne,
  checkList,
  duration,
  PLAIN_ACTIONS,
  plain,
  productOf,
  strikesNumber,
  timesAndCounts,
} from "./fault.ts";

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

interface AgentRules {
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

const NAMES = Object.keys(AGENT_ENDPOINTS) as AgentEndpoint[];
const endpoint = z.enum(NAMES, `must be one of ${NAMES.join(", ")}`);

const pattern = z.string().transform((text, context) => {
  try {
    return new RegExp(text);
  } catch {
    context.addIssue('must be a regular expression such as "^slow-"');
    return z.NEVER;
  }
});

/** The conditions of a fault. Every given field must hold. */
const when = (productIds: readonly string[]) =>
  z.strictObject({
    endpoint: z.union([endpoint, z.array(endpoint).min(1)], {
      error: `must be one of ${NAMES.join(", ")}, or a list of them`,
    }),
    product: productOf(productIds),
    username: z.string().optional(),
    /** a pattern that the transactionRef or the transactionId must match */
    ref: pattern.optional(),
    /** the share of all references; the world's seed decides which ones, always the same */
    shareOfRefs: z.number().min(0).max(1).optional(),
    /** the numbers of the requests, from 1, among those of this endpoint with the same reference */
    calls: z.array(atLeastOne).min(1).optional(),
    /** the longest time since the booking of the reference, in milliseconds */
    youngerThan: duration.optional(),
    ...timesAndCounts,
  });

/** Whether the provider carries out the request in spite of the fault. */
const done = { done: z.boolean().default(true) };
const [hang, drop, cutShort, drip, slow, huge, status, code, html, halfJson] = PLAIN_ACTIONS;
const field = { field: z.string().min(1) };

const ACTIONS = [
  hang.extend(done),
  drop.extend(done),
  cutShort.extend(done),
  drip.extend(done),
  slow.extend(done),
  huge.extend(done),
  status.extend(done),
  code.extend(done),
  html.extend(done),
  halfJson.extend(done),
  plain("no-code").extend(done),
  z.strictObject({ kind: z.literal("late"), delay: duration }),
  plain("denied"),
  plain("not-found"),
  plain("url-list"),
  z.strictObject({ kind: z.literal("wrong"), ...field }),
  z.strictObject({ kind: z.literal("missing"), ...field }),
  z.strictObject({ kind: z.literal("mistyped"), ...field }),
  z.strictObject({ kind: z.literal("several"), items: z.int().min(2).max(100).default(2) }),
  plain("negative"),
] as const;

export const AGENT_FAULT_KINDS = ACTIONS.map((action) => action.shape.kind.value);
export type AgentFaultKind = (typeof AGENT_FAULT_KINDS)[number];

const action = z.discriminatedUnion("kind", ACTIONS, {
  error: ({ code }) =>
    code === "invalid_union" ? `must be one of ${AGENT_FAULT_KINDS.join(", ")}` : undefined,
});

/** The endpoints of each effect that is possible only at some of them. */
const ENDPOINTS_OF: ReadonlyMap<unknown, readonly AgentEndpoint[]> = new Map<
  AgentFaultKind,
  readonly AgentEndpoint[]
>([
  ["late", ["deposit", "withdraw"]],
  ["denied", ["verifyDepositWithdraw", "verify-topup"]],
  ["not-found", ["verifyDepositWithdraw", "verify-topup"]],
  ["url-list", ["logIn", "seamless/logIn"]],
  ["several", ["verify-topup"]],
  ["negative", ["verify-topup"]],
]);

const faultList = (productIds: readonly string[]) =>
  z.array(
    z.strictObject({ when: when(productIds), do: action }).superRefine((fault, context) => {
      const possible = ENDPOINTS_OF.get(fault.do.kind);
      const named = [fault.when.endpoint].flat();
      if (possible === undefined || named.every((one) => possible.includes(one))) return;
      context.addIssue({
        code: "custom",
        message: `can only be ${possible.join(" or ")} for this kind`,
        path: ["when", "endpoint"],
      });
    }),
  );

type FaultList = ReturnType<typeof faultList>;

/** A fault as typed in a file or a test: durations and times are ISO 8601 text, a pattern is its text. */
export type AgentFault = z.input<FaultList>[number];
/** A checked fault. Durations and times are milliseconds. */
export type CheckedAgentFault = z.output<FaultList>[number];
export type AgentAction = CheckedAgentFault["do"];

/**
 * Checks a list of such faults.
 * @param productIds all products
 * @param name the name of the list in the error
 * @throws ReconError `settings-invalid` that lists every problem with its path and value
 */
export function checkAgentFaults(
  value: unknown,
  productIds: readonly string[],
  name = "the list of faults",
): CheckedAgentFault[] {
  return checkList(faultList(productIds), value, name);
}

/** Whether a fault of a mixed list is of this kind, and not one of the bet query. */
export function isAgentFault(fault: unknown): boolean {
  return (fault as { when?: { endpoint?: unknown } } | null)?.when?.endpoint !== undefined;
}
