/** Changes who works on mismatches and incidents, the provider's ticket, and reminders, in the name of a person. */

import { formatInstant, type Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { inReadCommitted } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import { type CaseChange, refusalOfReminder } from "../../mismatches/act.ts";
import type { ChosenMismatch } from "../../mismatches/action-store.ts";
import { changeIncidentCase, changeMismatchCases } from "../../mismatches/case-store.ts";
import { statusesOf } from "../../mismatches/store.ts";
import type { FlowContext } from "../context.ts";
import {
  type ActionResult,
  chooseFiltered,
  chooseIds,
  describe,
  type MismatchTarget,
  MOST_COMMENTS,
  throwRefusals,
  tooManyComments,
} from "./act-on-mismatches.ts";
import { recordChanges } from "./record-transitions.ts";

export interface RequestedChange {
  readonly change: CaseChange;
  /** why; null: nothing was said */
  readonly note: string | null;
  /** the person who changes it */
  readonly by: string;
}

/**
 * Previews a change of the chosen mismatches. Changes nothing.
 * @throws ReconError as `changeCases`
 */
export async function previewChange(
  context: FlowContext,
  target: MismatchTarget,
  requested: RequestedChange,
): Promise<ActionResult> {
  return describe(await choose(context.sql, target, requested, context.clock.now(), false));
}

/**
 * Changes the chosen mismatches, in one transaction. Those that have the value already stay as they are, without a line of history.
 * @returns the chosen mismatches
 * @throws ReconError `not-found` that names the unknown ids; `usage` if the reminder has passed or is too far away, or the filter
 * matches too many; `conflict` if a mismatch that is to be remembered is decided, or the filter matches others than those shown
 */
export async function changeCases(
  context: FlowContext,
  target: MismatchTarget,
  requested: RequestedChange,
): Promise<ActionResult> {
  return await inReadCommitted(context.sql, async (tx) => {
    const at = context.clock.now();
    const chosen = await choose(tx, target, requested, at, true);
    const ids = chosen.map(({ id }) => id);
    const changes = await changeMismatchCases(tx, ids, { ...requested, at });
    await recordChanges(tx, changes, context.config, at);
    return describe(chosen);
  });
}

async function choose(
  sql: Query,
  target: MismatchTarget,
  { change }: RequestedChange,
  now: Instant,
  locks: boolean,
): Promise<ChosenMismatch[]> {
  checkReminder(change, now);
  const reminds = change.what === "remind" && change.remindAt !== null;
  if ("ids" in target) {
    const chosen = await chooseIds(sql, target.ids, locks);
    if (reminds) throwRefusals(chosen, chosen.map(refusalOfReminder));
    return chosen;
  }
  const statuses = statusesOf(target.filter).filter(
    (status) => !reminds || status === "open" || status === "acknowledged",
  );
  return await chooseFiltered(sql, target, statuses, { byReviewer: false, locks });
}

/**
 * Changes incidents, all or none; their mismatches keep their own owner, ticket and reminder.
 * @param ids as typed
 * @throws ReconError `not-found` that names an unknown id; `usage` as `changeCases`; `conflict` if an incident is over and should get
 * a reminder, or has too many comments
 */
export async function changeIncidents(
  { sql, clock }: FlowContext,
  ids: readonly string[],
  requested: RequestedChange,
): Promise<void> {
  const unknown = ids.find((id) => !/^[1-9]\d{0,14}$/.test(id));
  if (unknown !== undefined) throw noIncident(unknown);
  // All transactions lock in this order.
  const ordered = [...new Set(ids.map(Number))].sort((a, b) => a - b);
  await inReadCommitted(sql, async (tx) => {
    const at = clock.now();
    checkReminder(requested.change, at);
    for (const id of ordered) {
      const found = await changeIncidentCase(tx, id, { ...requested, at }, MOST_COMMENTS);
      if (found === "unknown") throw noIncident(String(id));
      if (found === "full") throw tooManyComments("incident", String(id));
      if (found === "over")
        throw new ReconError("conflict", `incident ${id} is over: only open ones have reminders`);
    }
  });
}

function noIncident(id: string): ReconError {
  return new ReconError("not-found", `there is no incident "${id.slice(0, 60)}"`);
}

const LONGEST_YEARS = 10;
const LONGEST_MS = LONGEST_YEARS * 366 * 24 * 3_600_000;

/** @throws ReconError `usage` if the time of a reminder has passed, or is too far away */
function checkReminder(change: CaseChange, now: Instant): void {
  if (change.what !== "remind" || change.remindAt === null) return;
  const { remindAt } = change;
  const wrong =
    remindAt <= now
      ? "has passed"
      : remindAt > now + LONGEST_MS
        ? `is more than ${LONGEST_YEARS} years away`
        : null;
  if (wrong === null) return;
  const message = `remindAt "${formatInstant(remindAt)}" ${wrong}`;
  throw new ReconError("usage", message, { fields: [{ name: "remindAt", message }] });
}
