/** Changes who works on mismatches and incidents, the provider's ticket, and reminders, in the name of a person. */

import { z } from "zod";
import { sumByCurrency } from "../../alerts/incident.ts";
import { chooseIncidents, type IncidentChoice, sumIncidents } from "../../alerts/incident-list-store.ts";
import { FLAG, objectOf } from "../../answer.ts";
import { formatInstant, type Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { inReadCommitted } from "../../db/transactions.ts";
import { ReconError } from "../../errors.ts";
import { CASE_CHANGES, type CaseChange, refusalOfReminder } from "../../mismatches/act.ts";
import type { ChosenMismatch } from "../../mismatches/action-store.ts";
import { changeIncidentCases, changeMismatchCases } from "../../mismatches/case-store.ts";
import { statusesOf } from "../../mismatches/store.ts";
import type { FlowContext } from "../context.ts";
import {
  ACTION_RESULT,
  type ActionResult,
  chooseFiltered,
  chooseIds,
  describe,
  knownIds,
  type MismatchTarget,
  MOST_AT_ONCE,
  MOST_COMMENTS,
  matchesTooMany,
  nameSome,
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

/** The result of a change of incidents, or of its preview; `count` of an amount is the number of incidents with money in that currency. */
export const INCIDENT_CHANGE = objectOf({
  action: z.enum(CASE_CHANGES),
  dryRun: FLAG,
  ...ACTION_RESULT.shape,
});

export type IncidentTarget = { readonly ids: readonly string[] } | { readonly filter: IncidentChoice };

/**
 * Previews a change of the chosen incidents. Changes nothing.
 * @throws ReconError as `changeIncidents`
 */
export async function previewIncidents(
  { sql, clock }: FlowContext,
  target: IncidentTarget,
  { change }: RequestedChange,
): Promise<ActionResult> {
  return await describeIncidents(sql, await chooseThem(sql, target, change, clock.now(), false));
}

/**
 * Changes the chosen incidents, all or none; their mismatches keep their own owner, ticket and reminder.
 * @returns the chosen incidents with their money at risk; once an incident is over, that of all its mismatches
 * @throws ReconError `not-found` that names the unknown ids; `usage` as `changeCases`; `conflict` if an incident is over and should get
 * a reminder, or has too many comments
 */
export async function changeIncidents(
  { sql, clock }: FlowContext,
  target: IncidentTarget,
  requested: RequestedChange,
): Promise<ActionResult> {
  return await inReadCommitted(sql, async (tx) => {
    const at = clock.now();
    const chosen = await chooseThem(tx, target, requested.change, at, true);
    const ids = chosen.map(({ id }) => id);
    const full = await changeIncidentCases(tx, ids, { ...requested, at }, MOST_COMMENTS);
    if (full !== null) throw tooManyComments("incident", String(full));
    return await describeIncidents(tx, chosen);
  });
}

type ChosenIncidents = Awaited<ReturnType<typeof chooseIncidents>>;

async function chooseThem(
  sql: Query,
  target: IncidentTarget,
  change: CaseChange,
  now: Instant,
  locks: boolean,
): Promise<ChosenIncidents> {
  checkReminder(change, now);
  const reminds = change.what === "remind" && change.remindAt !== null;
  const most = MOST_AT_ONCE + 1;
  if ("ids" in target) {
    const chosen = await chooseIncidents(sql, { ids: knownIds(target.ids) }, { locks, most });
    const found = new Set(chosen.map(({ id }) => String(id)));
    const unknown = target.ids.filter((id) => !found.has(id));
    if (unknown.length > 0) throw new ReconError("not-found", `there is no incident ${nameSome(unknown)}`);
    const refusalOf = ({ id, isOver }: ChosenIncidents[number]) =>
      reminds && isOver ? `incident ${id} is over: only open ones have reminders` : null;
    throwRefusals(chosen, chosen.map(refusalOf));
    return chosen;
  }
  const { isOpen } = target.filter;
  if (reminds && isOpen === false) return [];
  const choice = { ...target.filter, isOpen: reminds ? true : isOpen };
  const chosen = await chooseIncidents(sql, { choice }, { locks, most });
  if (chosen.length > MOST_AT_ONCE) throw matchesTooMany("incidents");
  return chosen;
}

async function describeIncidents(sql: Query, chosen: ChosenIncidents): Promise<ActionResult> {
  const ids = chosen.map(({ id }) => id);
  const over = new Set(chosen.flatMap(({ id, isOver }) => (isOver ? [id] : [])));
  const sums = (await sumIncidents(sql, ids)).filter(
    ({ incidentId, status }) => over.has(incidentId) || status === "open" || status === "acknowledged",
  );
  const inOrder = sumByCurrency(sums).sort((a, b) => (String(a.currency) < String(b.currency) ? -1 : 1));
  const amounts = inOrder.map((sum) => {
    const own = sums.filter(({ currency }) => currency === sum.currency);
    return { ...sum, count: new Set(own.map(({ incidentId }) => incidentId)).size };
  });
  return { ids: ids.map(String), count: ids.length, amounts };
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
