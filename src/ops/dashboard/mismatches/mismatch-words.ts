/** Texts for actions on mismatches, and for their numbers and amounts. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { MismatchStatus } from "../../../mismatch.ts";
import { ACTS, MISMATCH_ACTIONS, type MismatchAction } from "../../../mismatches/act.ts";
import { showCount } from "../parts/show.ts";

export const ACTION_NAMES: Readonly<Record<MismatchAction, string>> = {
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
