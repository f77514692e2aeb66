/** What can become of a transfer or top-up: what the provider does, what it answers, and what must follow. */

import type { AgentEndpoint } from "../../src/agent-endpoints.ts";
import { formatInstant } from "../../src/clock.ts";
import type { Config } from "../../src/config-file.ts";
import type { MismatchKind } from "../../src/mismatch.ts";
import type { AgentFault } from "../../src/sandbox/faults/agent-fault.ts";
import type { Random } from "../../src/sandbox/world/random.ts";
import type { TimeRange } from "../../src/window.ts";

export const MINUTE_MS = 60_000;

/** How the operator's record differs from what it really sent. */
type Slip = "amount" | "currency" | "player";

export interface Fate {
  /** the prefix of every ref of this fate, by which faults find it */
  readonly name: string;
  readonly of: "transfer" | "top-up";
  /** faults of the provider's answers */
  readonly faults: readonly AgentFault[];
  /** what the answers finally say: the truth, nothing certain, or always another value in one field */
  readonly answers: "truth" | "nothing" | { readonly wrong: string };
  /** opens on the way, and is resolved by itself; `wrong` is the field with another value */
  readonly passing: { readonly kind: MismatchKind; readonly wrong: string | null } | null;
  /** booked only after it was rejected */
  readonly isLateSuccess: boolean;
  /** transfer: recorded, but the process ended before it was sent; top-up: the provider never gets it */
  readonly isUnsent: boolean;
  /** a withdrawal beyond the balance */
  readonly isBeyondBalance: boolean;
  readonly slip: Slip | null;
  /** top-up: how much later the provider books it than the ledger */
  readonly bookedAfterMs: number;
  /** ops close it when it is inconclusive */
  readonly isClosed: boolean;
}

const WELL: Omit<Fate, "name" | "of"> = {
  faults: [],
  answers: "truth",
  passing: null,
  isLateSuccess: false,
  isUnsent: false,
  isBeyondBalance: false,
  slip: null,
  bookedAfterMs: 0,
  isClosed: false,
};

type AgentFaultDo = AgentFault["do"];
type When = Omit<AgentFault["when"], "endpoint" | "ref">;

const SENDING: AgentEndpoint[] = ["deposit", "withdraw"];
const VERIFYING: Readonly<Record<Fate["of"], AgentEndpoint>> = {
  transfer: "verifyDepositWithdraw",
  "top-up": "verify-topup",
};

/** After these faults the outcome at the provider is unknown. */
const LOST: readonly AgentFaultDo[] = [
  { kind: "hang" },
  { kind: "drop" },
  { kind: "cut-short" },
  { kind: "drip" },
  { kind: "huge", megabytes: 2 },
  { kind: "status", status: 500 },
  { kind: "status", status: 400 },
  { kind: "status", status: 429, retryAfter: 0 },
  { kind: "code", code: 5 },
  { kind: "html" },
  { kind: "half-json" },
  { kind: "no-code" },
];
/** Answers that say nothing, and are quick enough to be given very often. */
const NO_ANSWER: readonly AgentFaultDo[] = [
  { kind: "drop" },
  { kind: "cut-short" },
  { kind: "status", status: 503 },
  { kind: "status", status: 404 },
  { kind: "code", code: 7 },
  { kind: "html" },
  { kind: "half-json" },
  { kind: "no-code" },
];
/** The same for questions of one kind, by their fields. */
const NO_ANSWER_OF: Readonly<Record<Fate["of"], readonly AgentFaultDo[]>> = {
  transfer: [
    { kind: "missing", field: "success" },
    { kind: "missing", field: "currency" },
    { kind: "mistyped", field: "amount" },
    { kind: "wrong", field: "transactionRef" },
    { kind: "code", code: 1 },
  ],
  "top-up": [
    { kind: "missing", field: "amount" },
    { kind: "mistyped", field: "type" },
  ],
};
/** Rare answers: they take time, or pause all requests. */
const RARE: readonly AgentFaultDo[] = [
  { kind: "hang" },
  { kind: "drip" },
  { kind: "slow", delay: "PT0.05S" },
  { kind: "huge", megabytes: 2 },
  { kind: "status", status: 429, retryAfter: 0 },
  { kind: "status", status: 401 },
];
/** Another value of the same form in one field; the amount is one more. */
const WRONG: Readonly<Record<Fate["of"], readonly string[]>> = {
  transfer: ["amount", "username", "productId", "currency"],
  "top-up": ["amount", "username", "id", "type"],
};

/** What the faults of a seed depend on. */
export interface FateCircumstances {
  readonly verify: Config["verify"];
  /** all transfers are sent, handed over and asked about for the first time in this range, and no booked one a second time */
  readonly busy: TimeRange;
}

/** The fates of one seed: some of every kind. */
export function drawFates(random: Random, circumstances: FateCircumstances): Fate[] {
  return [...drawTransferFates(random, circumstances), ...drawTopUpFates(random, circumstances)];
}

function drawTransferFates(random: Random, circumstances: FateCircumstances): Fate[] {
  const sending = (name: string, action: AgentFaultDo, rest: Partial<Fate> = {}) =>
    fate("transfer", name, [faultOf(SENDING, name, action)], rest);
  const afterRejection = iso(afterRejectionMs(circumstances));
  return [
    ...drawCommonFates("transfer", random, circumstances),
    ...draw(random, LOST, 5).flatMap((action) => [
      sending(`lost-${labelOf(action)}`, action),
      sending(`undone-${labelOf(action)}`, { ...action, done: false } as AgentFaultDo),
    ]),
    sending("bad-answer", { kind: "wrong", field: random.pick(["txId", "amount", "status"]) }),
    sending("late", { kind: "late", delay: "PT5M" }),
    sending("very-late", { kind: "late", delay: afterRejection }, { isLateSuccess: true }),
    answering(
      "transfer",
      "denied-long",
      { kind: "denied" },
      { youngerThan: afterRejection },
      { isLateSuccess: true },
    ),
    fate("transfer", "unsent", [], { isUnsent: true }),
    // A transfer that never arrived is not found; one that arrived may be not found for a while.
    answering("transfer", "unsent-not-found", { kind: "not-found" }, {}, { isUnsent: true }),
    answering(
      "transfer",
      "not-found-long",
      { kind: "not-found" },
      { youngerThan: afterRejection },
      { isLateSuccess: true },
    ),
    fate("transfer", "beyond", [], { isBeyondBalance: true }),
    ...(["amount", "currency", "player"] as const).map((slip) =>
      fate("transfer", `slip-${slip}`, [], { slip }),
    ),
  ];
}

function drawTopUpFates(random: Random, circumstances: FateCircumstances): Fate[] {
  const lateMs = afterRejectionMs(circumstances);
  return [
    ...drawCommonFates("top-up", random, circumstances),
    answering("top-up", "several", { kind: "several", items: random.between(2, 4) }),
    answering("top-up", "negative", { kind: "negative" }),
    fate("top-up", "unknown", [], { isUnsent: true }),
    fate("top-up", "late", [], { bookedAfterMs: 5 * MINUTE_MS }),
    fate("top-up", "very-late", [], {
      bookedAfterMs: lateMs,
      isLateSuccess: true,
      passing: { kind: "top-up-rejected", wrong: null },
    }),
    fate("top-up", "slip-amount", [], { slip: "amount" }),
  ];
}

/** Certainly rejected by then, even if a killed worker left it, or a slow machine lost an answer. A recheck follows. */
function afterRejectionMs({ verify }: FateCircumstances): number {
  return verify.rejectedFinalAfter + 65 * MINUTE_MS;
}

/** Fates of questions of both kinds. */
function drawCommonFates(of: Fate["of"], random: Random, { verify, busy }: FateCircumstances): Fate[] {
  const givenUpAt = busy.to + verify.giveUpAfter + 2 * 60 * MINUTE_MS;
  const untilGivenUp = { between: between(busy.from, givenUpAt) };
  const inconclusive = { kind: `${of}-inconclusive`, wrong: null } as const;
  const silent = [...NO_ANSWER, ...NO_ANSWER_OF[of]];
  const never = (name: string, choices: readonly AgentFaultDo[], when: When, rest: Partial<Fate>) =>
    draw(random, choices, 1).map((action) => answering(of, `${name}-${labelOf(action)}`, action, when, rest));
  const [wrong = "amount", wrongOnce = "amount"] = draw(random, WRONG[of], 2);
  return [
    ...Array.from({ length: 6 }, () => fate(of, "plain", [])),
    ...draw(random, [...silent, ...RARE], 6).map((action) =>
      answering(of, `once-${labelOf(action)}`, action, { calls: random.pick([[1], [1, 2], [2]]) }),
    ),
    ...never("never", silent, {}, { answers: "nothing" }),
    ...never("closed", silent, {}, { answers: "nothing", isClosed: true }),
    ...never("long", silent, untilGivenUp, { passing: inconclusive }),
    // A transfer that never happened has no other fields that could be missing.
    ...never("vain", NO_ANSWER, untilGivenUp, { isUnsent: true, passing: inconclusive }),
    answering(of, "denied-once", { kind: "denied" }, { calls: [1] }),
    answering(of, "not-found-once", { kind: "not-found" }, { calls: [1] }),
    answering(of, `wrong-${wrong}`, { kind: "wrong", field: wrong }, {}, { answers: { wrong } }),
    answering(
      of,
      `wrong-once-${wrongOnce}`,
      { kind: "wrong", field: wrongOnce },
      { between: between(busy.from, busy.to) },
      { passing: { kind: `${of}-differs`, wrong: wrongOnce } },
    ),
  ];
}

function fate(of: Fate["of"], name: string, faults: readonly AgentFault[], rest: Partial<Fate> = {}): Fate {
  return { ...WELL, ...rest, of, name: prefixOf(of, name), faults };
}

function answering(
  of: Fate["of"],
  name: string,
  action: AgentFaultDo,
  when: When = {},
  rest: Partial<Fate> = {},
): Fate {
  return fate(of, name, [faultOf(VERIFYING[of], prefixOf(of, name), action, when)], rest);
}

function faultOf(
  endpoint: AgentFault["when"]["endpoint"],
  name: string,
  action: AgentFaultDo,
  when: When = {},
): AgentFault {
  return { when: { ...when, endpoint, ref: `^${name}:` }, do: action };
}

function prefixOf(of: Fate["of"], name: string): string {
  return of === "transfer" ? name : `top-up-${name}`;
}

function labelOf(action: AgentFaultDo): string {
  const { kind, ...rest } = action as { kind: string } & Readonly<Record<string, unknown>>;
  return [kind, ...Object.values(rest)].join("-");
}

function between(from: number, to: number): [string, string] {
  return [formatInstant(from), formatInstant(to)];
}

function iso(lengthMs: number): string {
  return `PT${lengthMs / 1000}S`;
}

/** Draws that many different ones. */
function draw<One>(random: Random, choices: readonly One[], count: number): One[] {
  const left = [...choices];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(random.below(left.length), 1),
  ).flat();
}
