/** Lists of faults for all endpoints, from a file or "hostile". A fault without an `endpoint` is one of the bet query. */

import { readFileSync } from "node:fs";
import { describeError, ReconError } from "../../errors.ts";
import { createRandom, hashText } from "../world/random.ts";
import { type AgentFault, checkAgentFaults, isAgentFault } from "./agent-fault.ts";
import { checkFaults, type Fault } from "./fault.ts";

type HostileAction = Fault["do"];

/** Each of these costs the client a time-out, or the largest answer that it accepts. */
const RARE: readonly HostileAction[] = [{ kind: "hang" }, { kind: "drip" }, { kind: "huge", megabytes: 70 }];

const COMMON: readonly HostileAction[] = [
  { kind: "drop" },
  { kind: "cut-short" },
  { kind: "slow", delay: "PT0.3S" },
  { kind: "status", status: 408 },
  { kind: "status", status: 429, retryAfter: 1 },
  { kind: "status", status: 429, retryAfter: 1, retryAfterAs: "http-date" },
  { kind: "status", status: 429 },
  { kind: "status", status: 500 },
  { kind: "status", status: 502 },
  { kind: "status", status: 503, retryAfter: 1 },
  { kind: "status", status: 504 },
  { kind: "code", code: 1 },
  { kind: "code", code: 99, message: "please try again later" },
  { kind: "html" },
  { kind: "half-json" },
  { kind: "wrong-envelope", variant: "no-code" },
  { kind: "wrong-envelope", variant: "txns-not-array" },
  { kind: "wrong-envelope", variant: "next-id-object" },
  { kind: "cursor-loop", variant: "asked" },
  { kind: "cursor-loop", variant: "first" },
  { kind: "endless-cursor", variant: "empty" },
  { kind: "endless-cursor", variant: "repeated" },
  { kind: "expired-cursor" },
  { kind: "repeat-records" },
  { kind: "shift", records: 3 },
  { kind: "foreign-record" },
  { kind: "out-of-range" },
  { kind: "malformed-record", variant: "field-missing" },
  { kind: "malformed-record", variant: "amount-as-text" },
  { kind: "malformed-record", variant: "amount-no-number" },
  { kind: "malformed-record", variant: "date-without-offset" },
  { kind: "malformed-record", variant: "unknown-status" },
  { kind: "malformed-record", variant: "nul-in-name" },
];

/**
 * A list of every kind of fault. About one request in ten gets a fault. No fault lasts: a repeated request, or a new
 * start of the range, always succeeds in the end. Refused credentials (401, 403) are not in the list, because only ops
 * can end them.
 * @param seed decides the share of each fault and their order
 */
export function hostileFaults(seed: number): Fault[] {
  const random = createRandom(hashText(`${seed}|hostile`));
  const share = (perMille: number) => (perMille * random.between(50, 150)) / 100_000;
  const faults = [
    ...RARE.map((action) => ({ when: { share: share(1) }, do: action })),
    ...COMMON.map((action) => ({ when: { share: share(3) }, do: action })),
  ];
  return faults
    .map((fault) => ({ fault, place: random.below(2 ** 32) }))
    .sort((a, b) => a.place - b.place)
    .map(({ fault }) => fault);
}

/**
 * @param productIds all products
 * @throws ReconError `settings-invalid` that names the file and lists every problem
 */
export function readFaultFile(path: string, productIds: readonly string[]): AnyFault[] {
  let faults: unknown;
  try {
    faults = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    const problem = cause instanceof SyntaxError ? "is not JSON" : "cannot be read";
    throw new ReconError("settings-invalid", `${path} ${problem}: ${describeError(cause)}`, { cause });
  }
  sortFaults(faults, productIds, path);
  return faults as AnyFault[];
}

export type AnyFault = Fault | AgentFault;

export interface SortedFaults {
  readonly faults: readonly Fault[];
  readonly agentFaults: readonly AgentFault[];
}

/**
 * Checks a list with faults of both kinds, and separates the kinds.
 * @param productIds all products
 * @param name the name of the list in the error
 * @throws ReconError `settings-invalid` that lists every problem, with path and value, of the first kind that has any
 */
export function sortFaults(value: unknown, productIds: readonly string[], name?: string): SortedFaults {
  if (!Array.isArray(value)) {
    checkFaults(value, productIds, name);
    return { faults: [], agentFaults: [] };
  }
  // A placeholder stands for each fault of the other kind, so that an error names the place in the whole list.
  const faults = value.map((fault) => (isAgentFault(fault) ? SOME_FAULT : fault));
  const agentFaults = value.map((fault) => (isAgentFault(fault) ? fault : SOME_AGENT_FAULT));
  checkFaults(faults, productIds, name);
  checkAgentFaults(agentFaults, productIds, name);
  return {
    faults: faults.filter((fault) => fault !== SOME_FAULT),
    agentFaults: agentFaults.filter((fault) => fault !== SOME_AGENT_FAULT),
  };
}

const SOME_FAULT: Fault = { do: { kind: "drop" } };
const SOME_AGENT_FAULT: AgentFault = { when: { endpoint: "deposit" }, do: { kind: "drop" } };
