/** A list of faults from a file, as `recon sandbox --faults FILE` takes it. */

import { readFileSync } from "node:fs";
import { describeError, ReconError } from "../../errors.ts";
import { type AnyFault, sortFaults } from "./fault-list.ts";

/**
 * @param productIds the products there are
 * @throws ReconError `settings-invalid` that names the file and tells every problem of it
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
