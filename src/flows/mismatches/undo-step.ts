/** Undoes a person's step on mismatches, as an action of its own. */

import { inReadCommitted } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import { chooseByIds } from "../../mismatches/action-store.ts";
import { readStep, writeUndo } from "../../mismatches/undo-store.ts";
import type { FlowContext } from "../context.ts";
import { markReopened } from "./mark-reopened.ts";
import { recordChanges } from "./record-transitions.ts";

export interface UndoResult {
  /** the restored mismatches */
  readonly ids: readonly string[];
  /** mismatches of the step that have changed since: they stay */
  readonly changed: readonly string[];
}

/**
 * Restores the mismatches of a step that have not changed since. Open ones are marked for a comparison, because their
 * differences may no longer exist. A repetition changes nothing.
 * @param step the id given to `actOnMismatches`
 * @throws ReconError `not-found` where there is no such step, or it cannot be undone
 */
export async function undoStep(
  context: FlowContext,
  { step, by }: { readonly step: string; readonly by: string },
): Promise<UndoResult> {
  return await inReadCommitted(context.sql, async (tx) => {
    const at = context.clock.now();
    const members = await readStep(tx, step);
    if (members.length === 0) throw new ReconError("not-found", "there is no such step to undo");
    const chosen = await chooseByIds(tx, members, true);
    const undone = await writeUndo(tx, step, { by, at });
    const changes = undone.flatMap(({ change, ...one }) => (change === null ? [] : [{ ...one, change }]));
    await recordChanges(tx, changes, context.config, at);
    const reopened = new Set(changes.filter(({ change }) => change === "restore").map(({ id }) => id));
    await markReopened(
      tx,
      chosen.filter(({ id }) => reopened.has(id)),
      at,
    );
    const restored = new Set(undone.map(({ id }) => id));
    return {
      ids: undone.map(({ id }) => String(id)),
      changed: members.filter((id) => !restored.has(id)).map(String),
    };
  });
}
