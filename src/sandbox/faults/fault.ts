/** Faults of the bet query as data: the requests that a fault strikes, and its effect. README.md lists all faults. */

import { Duration } from "luxon";
import { z } from "zod";
import { type Instant, parseInstant } from "../../clock.ts";
import { ReconError } from "../../errors.ts";
import { lengthOf, type TimeRange } from "../../window.ts";
import { hashText } from "../world/random.ts";

/** The values of a request that faults can depend on. */
export interface FaultRequest {
  readonly productId: string;
  readonly range: TimeRange;
  /** the number of the page in its query, from 1 */
  readonly page: number;
  readonly now: Instant;
}

const HOUR_MS = 3_600_000;

interface FaultRules {
  /** @returns the effect on the request; null: no fault strikes. Every call counts as one request. */
  strike(request: FaultRequest): FaultAction | null;
}

/**
 * Each fault counts the requests that it could strike, without those that an earlier fault of the list struck.
 * @param seed decides the shares, with the fault's place in the list and this count
 */
export function createFaultRules(faults: readonly CheckedFault[], seed: number): FaultRules {
  const rules = faults.map((fault, index) => ({ fault, luck: `${seed}|fault|${index}`, seen: 0, struck: 0 }));
  return {
    strike(request) {
      for (const rule of rules) {
        const { when } = rule.fault;
        if (!couldStrike(rule.fault, request)) continue;
        rule.seen++;
        if (when.times !== undefined && rule.struck >= when.times) continue;
        if (!strikesNumber(when, rule.seen, rule.luck)) continue;
        rule.struck++;
        return rule.fault.do;
      }
      return null;
    },
  };
}

/** Whether the conditions hold that depend only on the request. */
export function couldStrike({ when, do: { kind } }: CheckedFault, request: FaultRequest): boolean {
  const { productId, range, page, now } = request;
  if (needsPageBefore(kind) && page === 1) return false;
  if (when.product !== undefined && when.product !== productId) return false;
  if (when.page !== undefined && when.page !== page) return false;
  if (when.longerThan !== undefined && lengthOf(range) <= when.longerThan) return false;
  if (when.between !== undefined && (now < when.between[0] || now >= when.between[1])) return false;
  if (when.touches !== undefined && (range.to <= when.touches[0] || range.from >= when.touches[1]))
    return false;
  return when.hoursUtc === undefined || touchesHour(range, when.hoursUtc);
}

/**
 * Whether the fault strikes the n-th request that it could strike.
 * @param luck the same text, number and share always give the same result
 */
export function strikesNumber({ requests, share }: FaultCondition, number: number, luck: string): boolean {
  if (Array.isArray(requests) && !requests.includes(number)) return false;
  if (requests !== undefined && !Array.isArray(requests)) {
    const { every, offset } = requests;
    if (number <= offset || (number - offset) % every !== 0) return false;
  }
  return share === undefined || hashText(`${luck}|${number}`) < share * 2 ** 32;
}

function touchesHour(range: TimeRange, hoursUtc: readonly number[]): boolean {
  const [first, last] = [Math.floor(range.from / HOUR_MS), Math.ceil(range.to / HOUR_MS) - 1];
  return hoursUtc.some((hour) => first + ((((hour - first) % 24) + 24) % 24) <= last);
}

/** Turns ISO 8601 text into milliseconds. */
export const duration = z.string().transform((text, context) => {
  const lengthMs = Duration.fromISO(text).toMillis();
  if (lengthMs > 0) return lengthMs;
  context.addIssue('must be an ISO 8601 duration such as "PT20M"');
  return z.NEVER;
});

const instant = z.string().transform((text, context) => {
  try {
    return parseInstant(text, "it");
  } catch {
    context.addIssue("must be a date-time with an offset such as 2026-11-20T10:00:00Z");
    return z.NEVER;
  }
});

export const atLeastOne = z.int().min(1);

const period = z
  .tuple([instant, instant])
  .refine(([from, to]) => from < to, "must be two times, the earlier one first");

/** The conditions that any fault may have. */
export const timesAndCounts = {
  /** a half-open range of the sandbox's clock */
  between: period.optional(),
  /** the numbers of the requests, from 1, among those that meet the conditions above */
  requests: z
    .union(
      [z.array(atLeastOne).min(1), z.strictObject({ every: atLeastOne, offset: z.int().min(0).default(0) })],
      { error: 'must be a list of numbers, or { "every": 5, "offset": 2 }' },
    )
    .optional(),
  /** the share of the same requests; 1: all of them. Only the world's seed decides which ones. */
  share: z.number().min(0).max(1).optional(),
  /** the most requests that the fault strikes */
  times: atLeastOne.optional(),
};

export const productOf = (productIds: readonly string[]) =>
  z
    .string()
    .refine((productId) => productIds.includes(productId), `must be one of ${productIds.join(", ")}`)
    .optional();

/** The conditions of a fault. Every given field must hold. */
const when = (productIds: readonly string[]) =>
  z.strictObject({
    product: productOf(productIds),
    /** hours of the day in UTC; the range of the request must touch one */
    hoursUtc: z.array(z.int().min(0).max(23)).min(1).optional(),
    /** a half-open range of time, which the range of the request must touch */
    touches: period.optional(),
    /** the range of the request must be longer */
    longerThan: duration.optional(),
    /** the number of the page in its query, from 1 */
    page: atLeastOne.optional(),
    ...timesAndCounts,
  });

export const plain = <const Kind extends string>(kind: Kind) => z.strictObject({ kind: z.literal(kind) });

/** Effects that any answer can have. */
export const PLAIN_ACTIONS = [
  plain("hang"),
  plain("drop"),
  plain("cut-short"),
  plain("drip"),
  z.strictObject({ kind: z.literal("slow"), delay: duration }),
  z.strictObject({ kind: z.literal("huge"), megabytes: z.int().min(1).max(4096) }),
  z.strictObject({
    kind: z.literal("status"),
    status: z.int().min(200).max(599),
    /** seconds */
    retryAfter: z.int().min(0).optional(),
    retryAfterAs: z.enum(["seconds", "http-date"]).default("seconds"),
  }),
  z.strictObject({
    kind: z.literal("code"),
    code: z.int().refine((code) => code !== 0, "must not be 0, which is success"),
    message: z.string().default("the provider failed"),
  }),
  plain("html"),
  plain("half-json"),
] as const;

const ACTIONS = [
  ...PLAIN_ACTIONS,
  z.strictObject({
    kind: z.literal("wrong-envelope"),
    variant: z.enum(["no-code", "txns-not-array", "next-id-object"]),
  }),
  z.strictObject({ kind: z.literal("cursor-loop"), variant: z.enum(["asked", "first"]) }),
  z.strictObject({ kind: z.literal("endless-cursor"), variant: z.enum(["empty", "repeated"]) }),
  plain("expired-cursor"),
  plain("repeat-records"),
  z.strictObject({ kind: z.literal("shift"), records: atLeastOne.default(1) }),
  plain("foreign-record"),
  plain("out-of-range"),
  z.strictObject({
    kind: z.literal("malformed-record"),
    variant: z.enum([
      "field-missing",
      "amount-as-text",
      "amount-no-number",
      "date-without-offset",
      "unknown-status",
      "nul-in-name",
    ]),
  }),
] as const;

export const FAULT_KINDS = ACTIONS.map((action) => action.shape.kind.value);
export type FaultKind = (typeof FAULT_KINDS)[number];

const action = z.discriminatedUnion("kind", ACTIONS, {
  error: ({ code }) => (code === "invalid_union" ? `must be one of ${FAULT_KINDS.join(", ")}` : undefined),
});

/** Effects that need an earlier page, so a first page never has them. */
const NEED_A_PAGE_BEFORE: ReadonlySet<unknown> = new Set<FaultKind>([
  "cursor-loop",
  "expired-cursor",
  "repeat-records",
  "shift",
]);

function needsPageBefore(kind: FaultKind): boolean {
  return NEED_A_PAGE_BEFORE.has(kind);
}

const faultList = (productIds: readonly string[]) =>
  z.array(
    z.strictObject({ when: when(productIds).prefault({}), do: action }).refine(
      (fault) => !(fault?.when?.page === 1 && NEED_A_PAGE_BEFORE.has(fault.do?.kind)),
      // Checked in spite of other problems, so that the error lists all problems at once.
      { error: "can never be 1 for this kind", path: ["when", "page"], when: () => true },
    ),
  );

type FaultList = ReturnType<typeof faultList>;

/** A fault as typed in a file or a test: durations and times are ISO 8601 text. */
export type Fault = z.input<FaultList>[number];
/** A checked fault. Durations and times are milliseconds. */
export type CheckedFault = z.output<FaultList>[number];
export type FaultCondition = CheckedFault["when"];
export type FaultAction = CheckedFault["do"];
export type PlainAction = z.output<(typeof PLAIN_ACTIONS)[number]>;

/**
 * Checks a list of faults.
 * @param productIds all products
 * @param name the name of the list in the error
 * @throws ReconError `settings-invalid` that lists every problem with its path and value
 */
export function checkFaults(
  value: unknown,
  productIds: readonly string[],
  name = "the list of faults",
): CheckedFault[] {
  return checkList(faultList(productIds), value, name);
}

/** @throws ReconError `settings-invalid` that lists every problem with its path and value */
export function checkList<Output>(schema: z.ZodType<Output>, value: unknown, name: string): Output {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const problems = checked.error.issues.map((issue) => describeProblem(issue.path, issue.message, value));
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  throw new ReconError(
    "settings-invalid",
    `${name} has ${count}:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
  );
}

function describeProblem(path: readonly PropertyKey[], message: string, value: unknown): string {
  const at = path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | null)?.[key],
    value,
  );
  const place = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  const shown = at === undefined ? "" : ` (it is ${JSON.stringify(at).slice(0, 80)})`;
  return `${place || "the whole"}: ${message}${shown}`;
}
