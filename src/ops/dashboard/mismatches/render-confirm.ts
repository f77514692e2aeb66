/** The preview of an action on all matching mismatches. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { ACTS } from "../../../mismatches/act.ts";
import { readOwnPath } from "../../http/own-path.ts";
import { showAmount, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";
import { renderUnsaved } from "../parts/unsaved.ts";
import type { PreviewOfAll } from "./act-on-selected.ts";
import type { BulkForm } from "./mismatch-form.ts";
import { type ListQuery, pathOfList } from "./mismatch-list-query.ts";
import { ACTION_NAMES, sayCount } from "./mismatch-words.ts";

export function renderConfirm(
  query: ListQuery,
  { action, note, back }: BulkForm,
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
<p class="row"><button name="action" value="${action}">${ACTION_NAMES[action]} ${sayCount(count)}</button> ${cancel}</p>
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
  incident: "incident",
};

function renderFilter({ filters }: ListQuery): SafeHtml {
  const named = Object.entries(filters).filter(([, text]) => text !== undefined);
  if (named.length === 0) return html`This is about <strong>all</strong> open and acknowledged mismatches.`;
  const parts = named.map(
    ([name, text], index) => html`${index === 0 ? "" : ", "}${NAMES[name] ?? name} <strong>${text}</strong>`,
  );
  return html`This is about all mismatches with ${parts}.`;
}
