/** Carries out the forms of the mismatch list, or previews them. */

import { randomUUID } from "node:crypto";
import type { FlowContext } from "../../../flows/context.ts";
import {
  type ActionResult,
  actOnMismatches,
  digestOf,
  previewAction,
  type RequestedAction,
} from "../../../flows/mismatches/act-on-mismatches.ts";
import type { MismatchStatus } from "../../../mismatch.ts";
import { ACTS, type MismatchAction } from "../../../mismatches/act.ts";
import type { MismatchChoice } from "../../../mismatches/store.ts";
import { usage } from "../../input/fields.ts";
import { readAction } from "../../input/mismatch-action.ts";
import type { StepNotice } from "../parts/notice.ts";
import { sayAmounts } from "../parts/show.ts";
import type { BulkForm } from "./mismatch-form.ts";
import { sayCount } from "./mismatch-words.ts";

/**
 * Acts on the selected mismatches whose status, as the visitor saw it, allows the action. Skips the others.
 * @throws ReconError `usage`, or `conflict` if one of them has changed since: then nothing changes
 */
export async function actOnSelected(
  context: FlowContext,
  { action, note, selected }: BulkForm,
  by: string,
): Promise<StepNotice> {
  if (selected.size === 0) throw usage("no mismatch is selected");
  const { from } = ACTS[action];
  const [possible, passed] = partition([...selected], ([, status]) => from.includes(status));
  if (possible.length === 0) throw usage(`${sayPassed(action, passed)}: choose another action`);
  const target = { ids: possible.map(([id]) => id), seen: selected };
  const step = randomUUID();
  const asked = { action, target, ...readAction({ note }), by, step };
  return doneNotice(asked, await actOnMismatches(context, asked), passed);
}

/** The effect of an action on all chosen mismatches. */
export interface PreviewOfAll extends ActionResult {
  /** a mark of the shown mismatches, which the confirmation must repeat */
  readonly shown: string;
}

/** @throws ReconError `usage` if there are too many */
export async function previewAll(
  context: FlowContext,
  choice: MismatchChoice,
  action: MismatchAction,
  by: string,
): Promise<PreviewOfAll> {
  const target = { filter: choice, shown: null };
  const result = await previewAction(context, {
    action,
    target,
    note: "-",
    by,
    expected: null,
    adjustment: null,
  });
  return { ...result, shown: digestOf(result) };
}

/**
 * Acts on all chosen mismatches, as the preview showed them.
 * @throws ReconError `usage`, or `conflict` if the chosen mismatches or their money have changed since
 */
export async function actOnAll(
  context: FlowContext,
  choice: MismatchChoice,
  { action, note, shown }: BulkForm,
  by: string,
): Promise<StepNotice> {
  const target = { filter: choice, shown: null, digest: shown };
  const step = randomUUID();
  const asked = { action, target, ...readAction({ note }), by, step };
  return doneNotice(asked, await actOnMismatches(context, asked), []);
}

function doneNotice(
  { action, step }: Pick<RequestedAction, "action"> & { readonly step: string },
  { count, amounts }: ActionResult,
  passed: readonly SeenStatus[],
): StepNotice {
  const others = passed.length === 0 ? "" : ` ${sayPassed(action, passed)}.`;
  return {
    tone: "good",
    text: `${sayCount(count)} ${ACTS[action].done}: ${sayAmounts(amounts)} at risk.${others}`,
    undo: step,
  };
}

type SeenStatus = readonly [string, MismatchStatus];

/** "2 are acknowledged and 1 is resolved: they cannot be acknowledged". */
function sayPassed(action: MismatchAction, passed: readonly SeenStatus[]): string {
  const byStatus = [...Map.groupBy(passed, ([, status]) => status)];
  const parts = byStatus.map(
    ([status, those]) => `${those.length} ${those.length === 1 ? "is" : "are"} ${status}`,
  );
  const it = passed.length === 1 ? "it" : "they";
  return `${parts.join(" and ")}, so ${it} cannot be ${ACTS[action].done}`;
}

function partition<Item>(items: readonly Item[], holds: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(holds), items.filter((item) => !holds(item))];
}
