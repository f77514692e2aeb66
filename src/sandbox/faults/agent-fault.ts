/** A fault of any endpoint but the bet query, as data: which requests it strikes, and what happens to them (README.md). */

import { z } from "zod";
import { atLeastOne, checkList, duration, PLAIN_ACTIONS, plain, productOf, timesAndCounts } from "./fault.ts";

/** The endpoints of §4.B and §4.C beside betTransactionsV2, by their paths. */
export const AGENT_ENDPOINTS = [
  "seamless/logIn",
  "seamless/games",
  "seamless/freeGameList",
  "verify-topup",
  "logIn",
  "deposit",
  "withdraw",
  "verifyDepositWithdraw",
  "games",
  "betLimitsV2",
  "free-game",
] as const;
export type AgentEndpoint = (typeof AGENT_ENDPOINTS)[number];

const endpoint = z.enum(AGENT_ENDPOINTS, `must be one of ${AGENT_ENDPOINTS.join(", ")}`);

const pattern = z.string().transform((text, context) => {
  try {
    return new RegExp(text);
  } catch {
    context.addIssue('must be a regular expression such as "^slow-"');
    return z.NEVER;
  }
});

/** All fields that are given must hold. */
const when = (productIds: readonly string[]) =>
  z.strictObject({
    endpoint: z.union([endpoint, z.array(endpoint).min(1)], {
      error: `must be one of ${AGENT_ENDPOINTS.join(", ")}, or a list of them`,
    }),
    product: productOf(productIds),
    username: z.string().optional(),
    /** found in the transactionRef, or the transactionId */
    ref: pattern.optional(),
    /** about so many of all references: the same ones always, as the world's seed decides */
    shareOfRefs: z.number().min(0).max(1).optional(),
    /** of the requests of this endpoint with the same reference: these, counted from 1 */
    calls: z.array(atLeastOne).min(1).optional(),
    /** less time than this has passed since the reference was booked */
    youngerThan: duration.optional(),
    ...timesAndCounts,
  });

/** Whether what was asked for is done all the same. */
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

/** Some things happen at some endpoints only. */
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

/** As it stands in a file or a test: durations and times are ISO 8601 text, a pattern is its text. */
export type AgentFault = z.input<FaultList>[number];
/** A checked fault: durations and times are milliseconds. */
export type CheckedAgentFault = z.output<FaultList>[number];
export type AgentAction = CheckedAgentFault["do"];

/**
 * Checks a list of such faults.
 * @param productIds the products there are
 * @param name what the list is called in the error
 * @throws ReconError `settings-invalid` that tells every problem, each with its path and value
 */
export function checkAgentFaults(
  value: unknown,
  productIds: readonly string[],
  name = "the list of faults",
): CheckedAgentFault[] {
  return checkList(faultList(productIds), value, name);
}

/** Whether a fault of a list that mixes both is of this kind, rather than about the bet query. */
export function isAgentFault(fault: unknown): boolean {
  return (fault as { when?: { endpoint?: unknown } } | null)?.when?.endpoint !== undefined;
}
