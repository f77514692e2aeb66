/** One list of faults for all endpoints. A fault without an `endpoint` is one of the bet query. */

import { readFileSync } from "node:fs";
import { describeError, ReconError } from "../../errors.ts";
import { type AgentFault, checkAgentFaults, isAgentFault } from "./agent-fault.ts";
import { checkFaults, type Fault } from "./fault.ts";

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
