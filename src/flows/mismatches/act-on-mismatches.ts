/** Actions of reviewers on mismatches, chosen by id or by filter: all or none change, with the alerts that follow. */

import { createHash } from "node:crypto";
import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, listOf, objectOf, TEXT } from "../../answer.ts";
import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { inReadCommitted } from "../../db/transactions.ts";
import { type DiffMark, writeMarks } from "../../diff/mark-store.ts";
import { readBetIds } from "../../diff/session-store.ts";
import { onOneLine, ReconError } from "../../errors.ts";
import { readTxnIds } from "../../ledger/store.ts";
import type { MismatchStatus } from "../../mismatch.ts";
import { ACTS, type Adjustment, type MismatchAction, refusalOf } from "../../mismatches/act.ts";
import {
  type ChosenMismatch,
  chooseByFilter,
  chooseByIds,
  readStep,
  writeAction,
  writeAdjustment,
  writeUndo,
} from "../../mismatches/action-store.ts";
import { type Comment, type CommentSubject, insertComment } from "../../mismatches/comment-store.ts";
import type { MismatchChoice } from "../../mismatches/store.ts";
import { formatAmount, parseAmount, sumAmounts } from "../../money.ts";
import type { FlowContext } from "../context.ts";
import { recordChanges } from "./record-transitions.ts";

/** The most mismatches that one filter may change. */
export const MOST_AT_ONCE = 100_000;
/** The most ids that a refusal names. */
const MOST_NAMED = 5;
const LONGEST_ID = 60;

export type MismatchTarget =
  /** changes all, or none if one is unknown or its status does not allow the action */
  | {
      readonly ids: readonly string[];
      /** the status that the reviewer has seen of each, if they differ */
      readonly seen?: ReadonlyMap<string, MismatchStatus>;
    }
  /** the matching mismatches whose status allows the action */
  | {
      readonly filter: MismatchChoice;
      /** the ids that the preview counted; null: all that match now */
      readonly shown: readonly string[] | null;
      /** the digest of the preview (`digestOf`): a different choice is a conflict; null or absent: not checked */
      readonly digest?: string | null;
    };

export interface RequestedAction {
  readonly action: MismatchAction;
  readonly target: MismatchTarget;
  /** null: none, which only an acknowledgement may have */
  readonly note: string | null;
  /** the reviewer who acts */
  readonly by: string;
  /** the status that the reviewer has seen; null: any */
  readonly expected: MismatchStatus | null;
  /** only for resolving a single mismatch */
  readonly adjustment: Adjustment | null;
  /** a UUID for undoing the action (`undoStep`); an adjustment is money and cannot be undone */
  readonly step?: string | null;
}

/** The result of an action, or of its preview. */
export const ACTION_RESULT = objectOf({
  ids: listOf(TEXT),
  count: COUNT,
  /** the money at risk, by currency; null: of mismatches without a currency */
  amounts: listOf(objectOf({ currency: z.nullable(TEXT), amount: AMOUNT, count: COUNT })),
});
export type ActionResult = AnswerOf<typeof ACTION_RESULT>;

/**
 * Previews an action. Changes nothing.
 * @throws ReconError as `actOnMismatches`
 */
export async function previewAction(context: FlowContext, requested: RequestedAction): Promise<ActionResult> {
  return describe(await choose(context.sql, requested, false));
}

/**
 * Carries out an action, in one transaction.
 * @throws ReconError `not-found` that names the unknown ids; `conflict` if the status has changed, the action is not
 * possible, or the ref belongs to another adjustment; `usage` if the filter matches too many mismatches
 */
export async function actOnMismatches(
  context: FlowContext,
  requested: RequestedAction,
): Promise<ActionResult> {
  const { action, note, by, adjustment } = requested;
  const step = adjustment === null ? (requested.step ?? null) : null;
  return await inReadCommitted(context.sql, async (tx) => {
    const at = context.clock.now();
    const chosen = await choose(tx, requested, true);
    const [only] = chosen;
    if (requested.adjustment !== null && only !== undefined) {
      const written = { currency: currencyOf(only), note: note ?? "", by, at };
      const isNew = await writeAdjustment(tx, only.id, requested.adjustment, written);
      // The action was done already: this is a repetition after a lost answer.
      if (!isNew && only.status === "resolved") return describe(chosen);
      refuse(requested, chosen);
    }
    const changes = await writeAction(tx, chosen, { action, note, by, at, step });
    await recordChanges(tx, changes, context.config, at);
    if (action === "reopen") await markReopened(tx, chosen, at);
    return describe(chosen);
  });
}

async function choose(sql: Query, requested: RequestedAction, locks: boolean): Promise<ChosenMismatch[]> {
  const { action, target, expected } = requested;
  if ("ids" in target) {
    const chosen = await chooseIds(sql, target.ids, locks);
    // With an adjustment the result depends on whether the adjustment is known.
    if (requested.adjustment === null || !locks) refuse(requested, chosen);
    return chosen;
  }
  const possible = ACTS[action].from.filter((status) => expected === null || status === expected);
  const { statuses } = target.filter;
  const wanted = statuses.length === 0 ? possible : possible.filter((status) => statuses.includes(status));
  return await chooseFiltered(sql, target, wanted, { byReviewer: action === "reopen", locks });
}

/** @throws ReconError `not-found` that names the unknown ids */
export async function chooseIds(
  sql: Query,
  ids: readonly string[],
  locks: boolean,
): Promise<ChosenMismatch[]> {
  const chosen = await chooseByIds(sql, knownIds(ids), locks);
  const found = new Set(chosen.map(({ id }) => String(id)));
  const unknown = ids.filter((id) => !found.has(id));
  if (unknown.length > 0) throw new ReconError("not-found", `there is no mismatch ${nameSome(unknown)}`);
  return chosen;
}

/**
 * @param statuses of the chosen ones; none: nothing is chosen
 * @throws ReconError `usage` if the filter matches too many; `conflict` if it matches others than the preview showed
 */
export async function chooseFiltered(
  sql: Query,
  target: Extract<MismatchTarget, { filter: MismatchChoice }>,
  statuses: readonly MismatchStatus[],
  { byReviewer, locks }: { readonly byReviewer: boolean; readonly locks: boolean },
): Promise<ChosenMismatch[]> {
  if (statuses.length === 0) return [];
  const options = { byReviewer, locks, most: MOST_AT_ONCE + 1 };
  const chosen = await chooseByFilter(sql, { ...target.filter, statuses }, options);
  if (chosen.length > MOST_AT_ONCE) throw matchesTooMany("mismatches");
  const shown = target.shown === null ? null : new Set(target.shown);
  const kept = chosen.filter(({ id }) => shown?.has(String(id)) ?? true);
  if (target.digest !== undefined && target.digest !== null && target.digest !== digestOf(describe(kept))) {
    throw new ReconError(
      "conflict",
      "the filter now matches other mismatches than those shown: nothing was changed",
    );
  }
  return kept;
}

export function matchesTooMany(of: "mismatches" | "incidents"): ReconError {
  return new ReconError("usage", `the filter matches more than ${MOST_AT_ONCE} ${of}: narrow it`);
}

/** A short text that changes with the mismatches and the money of a result. */
export function digestOf({ ids, amounts }: ActionResult): string {
  return createHash("sha256")
    .update(JSON.stringify([ids, amounts]))
    .digest("base64url");
}

/** @throws ReconError `conflict` that names the first mismatch that does not allow the action */
function refuse({ action, target, expected }: RequestedAction, chosen: readonly ChosenMismatch[]): void {
  const seen = "ids" in target ? target.seen : undefined;
  throwRefusals(
    chosen,
    chosen.map((one) => refusalOf(action, one, seen?.get(String(one.id)) ?? expected)),
  );
}

/** @throws ReconError `conflict` that names the first refusals, if there are any */
export function throwRefusals(chosen: readonly unknown[], found: readonly (string | null)[]): void {
  const refusals = found.filter((refusal) => refusal !== null);
  if (refusals.length === 0) return;
  const others = refusals.length - MOST_NAMED;
  const more = others > 0 ? `; and ${others} more` : "";
  const all = chosen.length > 1 ? "; nothing was changed" : "";
  throw new ReconError("conflict", `${refusals.slice(0, MOST_NAMED).join("; ")}${more}${all}`);
}

function currencyOf({ id, currency }: ChosenMismatch): string {
  if (currency !== null) return currency;
  throw new ReconError("conflict", `mismatch ${id} has no currency, so an adjustment cannot be counted`);
}

export function describe(chosen: readonly ChosenMismatch[]): ActionResult {
  const currencies = [...new Set(chosen.map(({ currency }) => currency))].sort();
  const amounts = currencies.map((currency) => {
    const own = chosen.filter((one) => one.currency === currency);
    const amount = sumAmounts(own.map((one) => parseAmount(one.amount, "amountAtRisk")));
    return { currency, amount: formatAmount(amount), count: own.length };
  });
  return { ids: chosen.map(({ id }) => String(id)), count: chosen.length, amounts };
}

export function knownIds(ids: readonly string[]): number[] {
  return ids.filter((id) => /^[1-9]\d{0,14}$/.test(id)).map(Number);
}

/** '"7", "8" and 2 more'. */
export function nameSome(ids: readonly string[]): string {
  const named = ids.slice(0, MOST_NAMED).map((id) => `"${onOneLine(id.slice(0, LONGEST_ID))}"`);
  return `${named.join(", ")}${ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : ""}`;
}

export interface UndoResult {
  /** the restored mismatches */
  readonly ids: readonly string[];
  /** mismatches of the step that have changed since: they stay */
  readonly changed: readonly string[];
}

/**
 * Restores the mismatches of a step that have not changed since. Open ones are marked for a comparison, because
 * their differences may no longer exist. A repetition changes nothing.
 * @param step the id given to `actOnMismatches`
 * @throws ReconError `not-found` if there is no such step, or it cannot be undone
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
    // An acknowledgement that is undone changes the mismatch, and no number of an incident.
    const changes = undone.map(({ change, status: _, ...one }) => ({ ...one, change: change ?? "refresh" }));
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

/** Marks reopened mismatches for another comparison, because their differences may no longer exist. */
async function markReopened(tx: Query, chosen: readonly ChosenMismatch[], dueAt: Instant): Promise<void> {
  for (const [productId, own] of Map.groupBy(chosen, (one) => one.productId)) {
    const marks: (DiffMark & { readonly dueAt: number })[] = [];
    for (const one of own) {
      const { username, roundId } = one;
      const betRef = roundId === null ? (one.transactionId ?? one.betId ?? (await refWithin(tx, one))) : null;
      if (roundId !== null || betRef !== null) marks.push({ username, roundId, betRef, dueAt });
    }
    await writeMarks(tx, productId, marks);
  }
}

/** The first bet of a session, or of a request with several items, for the mark. */
async function refWithin(tx: Query, one: ChosenMismatch): Promise<string | null> {
  const { kind, productId, username, occurredAt } = one;
  if (kind !== "session-differs" && kind !== "balance-differs") return null;
  const moment = { from: occurredAt, to: occurredAt };
  const [txnId] = await readTxnIds(tx, productId, username, moment, 1);
  return txnId ?? (await readBetIds(tx, productId, username, moment))[0] ?? null;
}

/** All comments are on one page. */
export const MOST_COMMENTS = 500;

export interface NewComment {
  readonly about: CommentSubject;
  /** as typed */
  readonly id: string;
  /** the reviewer who writes */
  readonly by: string;
  readonly note: string;
}

/**
 * Adds a comment about a mismatch or an incident. A comment changes no status and is never changed.
 * @param onAdded runs in the transaction that adds it
 * @throws ReconError `not-found`; `conflict` if the subject has the most comments already
 */
export async function addComment(
  { sql, clock }: FlowContext,
  { about, id, by, note }: NewComment,
  onAdded?: (tx: Query, comment: Comment) => Promise<void>,
): Promise<Comment> {
  const isId = /^[1-9]\d{0,14}$/.test(id);
  const said = { at: clock.now(), by, note };
  const add = async (tx: Query) => {
    const found = await insertComment(tx, about, Number(id), said, MOST_COMMENTS);
    if (typeof found !== "string") await onAdded?.(tx, found);
    return found;
  };
  const added = isId ? await inReadCommitted(sql, add) : "unknown";
  if (added === "unknown") throw new ReconError("not-found", `there is no ${about} "${id.slice(0, 60)}"`);
  if (added === "full") throw tooManyComments(about, id);
  return added;
}

export function tooManyComments(about: CommentSubject, id: string): ReconError {
  return new ReconError("conflict", `${about} ${id} has ${MOST_COMMENTS} comments, which is the most`);
}
