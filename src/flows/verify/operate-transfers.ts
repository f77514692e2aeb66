/** What operators do with transfers: hand them over for verification, all given ones or none, and close an inconclusive one. */

import { formatInstant, type Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";
import { chooseByIds, writeAction } from "../../mismatches/action-store.ts";
import { readKnown } from "../../mismatches/store.ts";
import type { Transfer } from "../../transfer.ts";
import { subjectOf } from "../../verify/finding.ts";
import type { Verification } from "../../verify/row-store.ts";
import { addTransfers, closeInconclusive } from "../../verify/store.ts";
import type { FlowContext } from "../context.ts";
import { recordChanges } from "../mismatches/record-transitions.ts";
import { findTransfer, showRef, type TransferChoice } from "../read/read-transfer.ts";

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

/**
 * Stops verifying an inconclusive transfer or top-up. Its status stays; its mismatch is resolved in the person's
 * name.
 * @throws ReconError `not-found`, or `conflict` if it is not inconclusive, or was closed before
 */
export async function closeTransfer(
  context: FlowContext,
  choice: TransferChoice,
  { by, note }: { readonly by: string; readonly note: string },
): Promise<Verification> {
  const { sql, clock } = context;
  const { kind, id, sent } = await findTransfer(context, choice);
  const close = { by, note, at: clock.now() };
  const isClosed = await sql.begin(async (tx) => {
    if (!(await closeInconclusive(tx, kind, id, close))) return false;
    const known = await readKnown(tx, sent.productId, sent.username, [subjectOf(sent)]);
    await resolveFor(context, tx, known, close);
    return true;
  });
  const now = await findTransfer(context, choice);
  if (!isClosed) throw refusalOf(now);
  return now;
}

async function resolveFor(
  { config }: FlowContext,
  tx: Query,
  known: Awaited<ReturnType<typeof readKnown>>,
  { by, note, at }: { readonly by: string; readonly note: string; readonly at: Instant },
): Promise<void> {
  const open = known.filter(({ status }) => status === "open" || status === "acknowledged");
  const chosen = await chooseByIds(
    tx,
    open.map(({ id }) => id),
    true,
  );
  await recordChanges(tx, await writeAction(tx, chosen, { action: "resolve", note, by, at }), config, at);
}

function refusalOf({ kind, sent, state, closedBy }: Verification): ReconError {
  const reason =
    closedBy === null
      ? `it is ${state.status}, and only an inconclusive ${kind} can be closed`
      : `${closedBy} closed it at ${formatInstant(state.decidedAt ?? 0)}`;
  return new ReconError("conflict", `${kind} "${showRef(sent.transactionRef)}" cannot be closed: ${reason}`);
}
