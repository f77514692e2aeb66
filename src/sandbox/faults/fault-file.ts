/** Reads the list of faults for `recon sandbox --faults FILE`. */

import { readFileSync } from "node:fs";
import { describeError, ReconError } from "../../errors.ts";
import { type AnyFault, sortFaults } from "./fault-list.ts";

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
