/** Ops' decision on an inconclusive transfer or top-up. */

import { formatInstant, type Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { ReconError } from "../../errors.ts";
import { chooseByIds, writeAction } from "../../mismatches/action-store.ts";
import { readKnown } from "../../mismatches/store.ts";
import { subjectOf } from "../../verify/finding.ts";
import type { Verification } from "../../verify/row-store.ts";
import { closeInconclusive } from "../../verify/store.ts";
import type { FlowContext } from "../context.ts";
import { recordChanges } from "../mismatches/record-transitions.ts";
import { findTransfer, showRef, type TransferChoice } from "../read/read-transfer.ts";

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
