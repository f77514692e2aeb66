/** Texts for actions on mismatches, for their numbers and amounts, and the question before an action on all. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { ActionResult } from "../../../flows/mismatches/act-on-mismatches.ts";
import type { MismatchStatus } from "../../../mismatch.ts";
import { ACTS, MISMATCH_ACTIONS, type MismatchAction } from "../../../mismatches/act.ts";
import { readOwnPath } from "../../http/same-origin.ts";
import { renderUnsaved } from "../parts/notice.ts";
import { showAmount, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";
import type { Decision } from "./mismatch-form.ts";
import { type ListQuery, pathOfList } from "./mismatch-list-query.ts";

const ACTION_NAMES: Readonly<Record<MismatchAction, string>> = {
  ack: "Acknowledge",
  resolve: "Resolve",
  ignore: "Ignore",
  reopen: "Reopen",
};

/** "1 mismatch", "1 234 mismatches". */
export function sayCount(count: number): string {
  return `${showCount(count)} ${count === 1 ? "mismatch" : "mismatches"}`;
}

/** The actions that at least one of these statuses allows. */
export function actionsFor(statuses: readonly MismatchStatus[]): MismatchAction[] {
  return MISMATCH_ACTIONS.filter((action) => ACTS[action].from.some((status) => statuses.includes(status)));
}

/** The buttons of one form, one for each action. */
export function renderActionButtons(actions: readonly MismatchAction[]): SafeHtml {
  const buttons = actions.map((action, index) => {
    const style = index === 0 ? null : html` class="quiet"`;
    // The note is required for all others.
    const free = action === "ack" ? html` formnovalidate` : null;
    return html`<button name="action" value="${action}"${style}${free}>${ACTION_NAMES[action]}</button>`;
  });
  return html`${buttons}`;
}

/** The buttons for owner, ticket and reminder: one click, and a page with the forms. */
export function renderCaseButtons(): SafeHtml {
  return html`<button name="action" value="assign-me" class="quiet" formnovalidate>Assign to me</button>
<button name="action" value="case" class="quiet" formnovalidate>Owner, ticket, reminder …</button>`;
}

/** The effect of an action on all chosen mismatches. */
export interface PreviewOfAll extends ActionResult {
  /** a mark of the shown mismatches, which the confirmation must repeat */
  readonly shown: string;
}

/** Asks before an action on all that match. */
export function renderConfirm(
  query: ListQuery,
  { action, note, back }: Decision,
  preview: PreviewOfAll,
): SafeHtml {
  const { count, amounts, shown } = preview;
  const list = pathOfList(query);
  const cancel =
    back === ""
      ? html`<a href="${list}">Back to the list</a>`
      : html`<a href="${readOwnPath(back)}">Back</a>`;
  if (count === 0) {
    return html`<h1>${ACTION_NAMES[action]} all matching</h1>
<p class="sheet">No matching mismatch can be ${ACTS[action].done} now. ${cancel}</p>
${renderUnsaved("Your note", note)}`;
  }
  const table = renderTable({
    name: "Money",
    caption: "Money at risk in these mismatches",
    of: "confirmed",
    columns: [
      { name: "Currency", as: "head" },
      { name: "Mismatches", as: "number" },
      { name: "At risk", as: "number" },
    ],
    rows: amounts.map((sum) => ({
      cells: [sum.currency ?? "without a currency", showCount(sum.count), showAmount(sum.amount, null)],
    })),
  });
  return html`<h1>${ACTION_NAMES[action]} ${sayCount(count)}?</h1>
<div class="sheet">
<p class="wrap">${renderFilter(query)} ${showCount(count)} of them can be ${ACTS[action].done}.</p>
${table}
<form method="post" action="${list}">
<input type="hidden" name="scope" value="all"><input type="hidden" name="back" value="${back}"><input type="hidden" name="shown" value="${shown}">
<p><label class="note">Note <textarea name="note" rows="2" maxlength="2000" required>${note}</textarea></label></p>
<p class="row"><button name="action" value="${action}"${action === "ack" ? html` formnovalidate` : null}>${ACTION_NAMES[action]} ${sayCount(count)}</button> ${cancel}</p>
</form>
</div>`;
}

const NAMES: Readonly<Record<string, string>> = {
  product: "product",
  kind: "kind",
  status: "status",
  username: "player",
  minAmount: "at risk at least",
  from: "first seen from",
  to: "first seen before",
  happenedFrom: "happened from",
  happenedTo: "happened before",
  incident: "incident",
  owner: "owner",
  due: "reminder due",
  withProvider: "with the provider",
};

/** Which mismatches an action is about. */
export function renderFilter({ filters }: ListQuery): SafeHtml {
  const named = Object.entries(filters).filter(([, text]) => text !== undefined);
  if (named.length === 0) return html`This is about <strong>all</strong> open and acknowledged mismatches.`;
  const parts = named.map(
    ([name, text], index) => html`${index === 0 ? "" : ", "}${NAMES[name] ?? name} <strong>${text}</strong>`,
  );
  return html`This is about all mismatches with ${parts}.`;
}
