/** One list of faults for all endpoints: what names an `endpoint` is no fault of the bet query. */

import { type AgentFault, checkAgentFaults, isAgentFault } from "./agent-fault.ts";
import { checkFaults, type Fault } from "./fault.ts";

export type AnyFault = Fault | AgentFault;

export interface SortedFaults {
  readonly faults: readonly Fault[];
  readonly agentFaults: readonly AgentFault[];
}

/**
 * Checks a list of faults of both kinds, and takes them apart.
 * @param productIds the products there are
 * @param name what the list is called in the error
 * @throws ReconError `settings-invalid` that tells every problem of the first kind that has one, each with its
 *   path and value
 */
export function sortFaults(value: unknown, productIds: readonly string[], name?: string): SortedFaults {
  if (!Array.isArray(value)) {
    checkFaults(value, productIds, name);
    return { faults: [], agentFaults: [] };
  }
  // The other faults keep their places, so that a problem names the place of its fault in the list.
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
