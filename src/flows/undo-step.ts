/** Takes back what a person has done with mismatches, as an action of its own. */

import { inTurn } from "../db/client.ts";
import { ReconError } from "../errors.ts";
import { chooseByIds } from "../mismatches/action-store.ts";
import { readStep, writeUndo } from "../mismatches/undo-store.ts";
import type { FlowContext } from "./context.ts";
import { markReopened } from "./mark-reopened.ts";
import { recordChanges } from "./record-transitions.ts";

export interface UndoResult {
  /** as they were before the step */
  readonly ids: readonly string[];
  /** of the step, but changed by somebody else, or by recon, since: they stay as they are */
  readonly changed: readonly string[];
}

/**
 * Puts the mismatches of a step back to what they were before it: those that are still what it made of them, the others
 * stay. What is open again is looked at again, because it may hold no longer. A second time changes nothing.
 * @param step as it was given to `actOnMismatches`
 * @throws ReconError `not-found` where there is no such step, or none that can be taken back
 */
export async function undoStep(
  context: FlowContext,
  { step, by }: { readonly step: string; readonly by: string },
): Promise<UndoResult> {
  return await inTurn(context.sql, async (tx) => {
    const at = context.clock.now();
    const members = await readStep(tx, step);
    if (members.length === 0) throw new ReconError("not-found", "there is no such step to take back");
    const chosen = await chooseByIds(tx, members, true);
    const undone = await writeUndo(tx, step, { by, at });
    const changes = undone.flatMap(({ change, ...one }) => (change === null ? [] : [{ ...one, change }]));
    await recordChanges(tx, changes, context.config, at);
    const reopened = new Set(changes.filter(({ change }) => change === "reopen").map(({ id }) => id));
    await markReopened(
      tx,
      chosen.filter(({ id }) => reopened.has(id)),
      at,
    );
    const back = new Set(undone.map(({ id }) => id));
    return {
      ids: undone.map(({ id }) => String(id)),
      changed: members.filter((id) => !back.has(id)).map(String),
    };
  });
}
