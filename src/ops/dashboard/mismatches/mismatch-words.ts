/** Texts for actions on mismatches, and for their numbers and amounts. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { MismatchStatus } from "../../../mismatch.ts";
import { ACTS, MISMATCH_ACTIONS, type MismatchAction } from "../../../mismatches/act.ts";
import { groupDigits, showCount, withCents } from "../parts/show.ts";

export const ACTION_NAMES: Readonly<Record<MismatchAction, string>> = {
  ack: "Acknowledge",
  resolve: "Resolve",
  ignore: "Ignore",
  reopen: "Reopen",
};

/** Money of one currency; null: of mismatches without a currency. */
interface Sum {
  readonly currency: string | null;
  /** decimal text */
  readonly amount: string;
  readonly count: number;
}

/** "1 mismatch", "1 234 mismatches". */
export function sayCount(count: number): string {
  return `${showCount(count)} ${count === 1 ? "mismatch" : "mismatches"}`;
}

/** "12.50 THB and 3.00 USD", or a text for no money at risk. */
export function saySums(sums: readonly Sum[]): string {
  const money = sums.filter(({ amount }) => !/^[0.]+$/.test(amount));
  if (money.length === 0) return "no money";
  const said = money.map(
    ({ amount, currency }) => `${groupDigits(withCents(amount))} ${currency ?? "without a currency"}`,
  );
  return [said.slice(0, -1).join(", "), said.at(-1)].filter((part) => part !== "").join(" and ");
}

/** The actions that at least one of these statuses allows. */
export function actionsFor(statuses: readonly MismatchStatus[]): MismatchAction[] {
  return MISMATCH_ACTIONS.filter((action) => ACTS[action].from.some((status) => statuses.includes(status)));
}

/** The buttons of one form, one for each action. */
export function renderActionButtons(actions: readonly MismatchAction[]): SafeHtml {
  const buttons = actions.map((action, index) => {
    const style = index === 0 ? null : html` class="quiet"`;
    return html`<button name="action" value="${action}"${style}>${ACTION_NAMES[action]}</button>`;
  });
  return html`${buttons}`;
}
