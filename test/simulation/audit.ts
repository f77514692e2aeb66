/** The independent auditor: compares the list of mismatches with the planted faults of the world. */

import { formatAmount, parseAmount } from "../../src/money.ts";
import type { PlantedFault } from "../../src/sandbox/world/world.ts";

/** A mismatch as the audit needs it, in any status. */
export interface AuditedMismatch {
  readonly kind: string;
  readonly productId: string;
  readonly username: string;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly roundId: string | null;
  readonly amountAtRisk: string;
  readonly status: string;
  readonly reason: string;
}

export interface Audit {
  readonly planted: number;
  /** planted faults that are open, each once, with the exact amount at risk */
  readonly found: number;
  /** of all mismatches that were ever opened, the share that was planted */
  readonly precision: number;
  /** of all planted faults, the share that is open */
  readonly recall: number;
  readonly missed: readonly PlantedFault[];
  readonly wrong: readonly AuditedMismatch[];
}

/** @param everOpened every mismatch that ever opened: a resolved one is a false alarm too */
export function auditMismatches(
  planted: readonly PlantedFault[],
  everOpened: readonly AuditedMismatch[],
): Audit {
  const open = new Map<string, number>();
  for (const one of everOpened) {
    if (one.status === "open") open.set(identify(one), (open.get(identify(one)) ?? 0) + 1);
  }
  const expected = new Set(planted.map(identify));
  const missed = planted.filter((fault) => open.get(identify(fault)) !== 1);
  const wrong = everOpened.filter((one) => one.status !== "open" || !expected.has(identify(one)));
  return {
    planted: planted.length,
    found: planted.length - missed.length,
    precision: everOpened.length === 0 ? 1 : (everOpened.length - wrong.length) / everOpened.length,
    recall: planted.length === 0 ? 1 : (planted.length - missed.length) / planted.length,
    missed,
    wrong,
  };
}

function identify(one: PlantedFault | AuditedMismatch): string {
  const atRisk = formatAmount(parseAmount(one.amountAtRisk, "amountAtRisk"));
  const { kind, productId, username, betId, transactionId, roundId } = one;
  return JSON.stringify([kind, productId, username, betId, transactionId, roundId, atRisk]);
}
