/** Hands over transfers for verification: all given ones, or none. */

import { ReconError } from "../../errors.ts";
import type { Transfer } from "../../transfer.ts";
import { addTransfers } from "../../verify/store.ts";
import type { FlowContext } from "../context.ts";

const ROWS_PER_STATEMENT = 1_000;
const MOST_CONFLICTS_NAMED = 10;

/** A transfer with a label for errors: "line 7: ". */
export interface GivenTransfer {
  readonly transfer: Transfer;
  readonly label: string;
}

export interface HandOverResult {
  readonly added: number;
  /** the number handed over before, with the same content */
  readonly known: number;
}

/**
 * Stores the transfers in one transaction.
 * @throws ReconError `conflict` that names each transfer whose transactionRef has other content, with both contents
 */
export async function handOverTransfers(
  { sql, config, clock }: FlowContext,
  given: readonly GivenTransfer[],
): Promise<HandOverResult> {
  // All callers lock refs in the same order.
  const sorted = [...given].sort((a, b) => (a.transfer.transactionRef < b.transfer.transactionRef ? -1 : 1));
  return await sql.begin(async (tx) => {
    const result = { added: 0, known: 0 };
    const conflicts: string[] = [];
    for (let begin = 0; begin < sorted.length; begin += ROWS_PER_STATEMENT) {
      const part = sorted.slice(begin, begin + ROWS_PER_STATEMENT);
      const transfers = part.map(({ transfer }) => transfer);
      const done = await addTransfers(tx, transfers, clock.now(), config.verify);
      result.added += done.added;
      result.known += done.known;
      conflicts.push(...done.conflicts.map(({ index, message }) => `${part[index]?.label ?? ""}${message}`));
    }
    if (conflicts.length > 0) throw conflictOf(conflicts, given.length > 1);
    return result;
  });
}

function conflictOf(conflicts: readonly string[], isOneOfMany: boolean): ReconError {
  const named = conflicts.slice(0, MOST_CONFLICTS_NAMED).join("\n");
  const more = conflicts.length - MOST_CONFLICTS_NAMED;
  const rest = more > 0 ? `\nand ${more} more` : "";
  return new ReconError("conflict", `${named}${rest}${isOneOfMany ? "\nNothing was handed over." : ""}`);
}
