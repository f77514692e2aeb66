/** One mismatch as a page: differences, timeline, history, and possible actions. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import { type Problem, renderArea, renderInput } from "../parts/fields.ts";
import { sayWords, showAmount, showState, showTime } from "../parts/show.ts";
import { pathOfTransfer } from "../transfers/render-transfers.ts";
import { actionsFor, renderActionButtons } from "./mismatch-words.ts";
import { renderSideTable } from "./render-sides.ts";
import { renderFetches, renderHistory, renderTimeline } from "./render-story.ts";
import { WHAT_TO_DO } from "./what-to-do.ts";

/** The typed values of a failed action, which the page shows again. */
export interface TypedDecision {
  readonly note: string;
  readonly adjustment: string;
  readonly ref: string;
}

export interface MismatchPage {
  readonly story: MismatchStory;
  /** whether the visitor may change anything */
  readonly mayAct: boolean;
  /** null: no action failed */
  readonly typed: TypedDecision | null;
  /** what was wrong with it */
  readonly problem: Problem | null;
  /** of its times */
  readonly zone: string;
}

export function renderMismatch({ story, mayAct, typed, problem, zone }: MismatchPage): SafeHtml {
  const { kind, reason, productId } = story;
  const more = `/mismatches?${new URLSearchParams({ product: productId, kind })}`;
  return html`<p class="trail wrap"><a href="/mismatches">Mismatches</a> <span aria-hidden="true">›</span> <a href="${more}">${kind} in ${productId}</a></p>
<h1>${kind} <span class="faint">#${story.id}</span></h1>
${renderFacts(story, zone)}
<section class="sheet" aria-label="What it is"><p class="reason">${sentence(sayWords(reason, zone))}</p>
<p class="faint"><code>${kind}</code> means: ${MEANING_OF_KIND[kind]}. ${WHAT_TO_DO[kind]}</p></section>
<div${mayAct ? html` class="beside"` : null}>
<section class="sheet sides" aria-labelledby="sides-head"><h2 id="sides-head">Both sides</h2>
${renderSideTable(story, zone)}</section>
${mayAct ? renderActions(story, typed, problem) : null}
</div>
${story.transactionRef === null ? renderTimeline(story, zone) : null}
${story.transactionRef === null ? renderFetches(story, zone) : null}
${renderHistory(story, zone)}`;
}

function renderFacts(story: MismatchStory, zone: string): SafeHtml {
  const {
    status,
    amountAtRisk,
    currency,
    productId,
    username,
    betId,
    roundId,
    transactionId,
    transactionRef,
  } = story;
  const facts: [string, SafeHtml | string | null][] = [
    ["Status", showState(status)],
    ["At risk", showAmount(amountAtRisk, currency)],
    ["Product", productId],
    ["Player", html`<a href="${`/mismatches?${new URLSearchParams({ username })}`}">${username}</a>`],
    ["Bet", betId ?? transactionId],
    ["Round", roundId],
    [
      "Transfer",
      transactionRef === null ? null : html`<a href="${pathToTransfer(story)}">${transactionRef}</a>`,
    ],
    ["Happened", showTime(story.occurredAt, zone)],
    ["First seen", showTime(story.firstSeenAt, zone)],
    ["Last seen", showTime(story.lastSeenAt, zone)],
    [
      "Ended",
      story.resolvedAt === null ? null : html`${showTime(story.resolvedAt, zone)} by ${story.resolvedBy}`,
    ],
  ];
  const reported = facts.filter(([, value]) => value !== null);
  return html`<dl class="about" id="about">${reported.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A ref may name several top-ups, so the link has more fields. The kinds of top-ups begin with "top-up". */
function pathToTransfer({ kind, transactionRef, productId, username }: MismatchStory): string {
  const isTopUp = kind.startsWith("top-up-");
  return pathOfTransfer(
    transactionRef ?? "",
    isTopUp ? { kind: "top-up", product: productId, username } : {},
  );
}

/** Reasons begin with a small letter and have no full stop, for use in lists. */
function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}

function renderActions(
  { id, status, currency }: MismatchStory,
  typed: TypedDecision | null,
  problem: Problem | null,
): SafeHtml {
  const actions = actionsFor([status]);
  const correction = typed !== null && (typed.adjustment !== "" || typed.ref !== "");
  const adjust = actions.includes("resolve")
    ? html`<details${correction ? html` open` : null}><summary>Record a correction made by hand</summary>
<p class="faint">A correction belongs to a resolution, counts in the day's report, and cannot be undone here. A positive amount was given to the player.</p>
<div class="row">${renderInput({ label: currency === null ? "Amount" : `Amount in ${currency}`, name: "adjustment", value: typed?.adjustment, problem }, html`inputmode="decimal" size="12" autocomplete="off"`)}
${renderInput({ label: "Your reference", name: "ref", value: typed?.ref, problem }, html`maxlength="200" size="18" autocomplete="off"`)}</div></details>`
    : null;
  return html`<section class="sheet" aria-labelledby="act-head"><h2 id="act-head">Decide</h2>
<form method="post" action="/mismatches/${id}" id="act">
<input type="hidden" name="from" value="${status}" id="act-from">
${renderArea({ label: "Note", name: "note", value: typed?.note, problem }, html`rows="3" maxlength="2000" required`)}
${adjust}
<p class="row" id="act-buttons">${renderActionButtons(actions)}</p>
</form></section>`;
}
