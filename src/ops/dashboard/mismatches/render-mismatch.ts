/** One mismatch as a page: differences, timeline, history, and possible actions. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { adviceOf } from "../../../advice.ts";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import type { Instant } from "../../../clock.ts";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import { MISMATCH_STATUSES } from "../../../mismatch.ts";
import type { Similar, SimilarCount } from "../../../mismatches/similar-store.ts";
import type { MismatchEvent } from "../../../mismatches/store.ts";
import { renderCase, renderComments, type TypedCase } from "../comments/render-comments.ts";
import { renderEvidenceLinks } from "../parts/evidence-links.ts";
import { type Problem, renderArea, renderInput } from "../parts/fields.ts";
import { sayAmount, sayWords, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, type Row, renderTable } from "../parts/table.ts";
import { linkToItems } from "../report/render-items.ts";
import { pathOfTransfer } from "../transfers/render-transfers.ts";
import { type ListQuery, pathOfList, pathOfMismatch } from "./mismatch-list-query.ts";
import { actionsFor, renderActionButtons } from "./mismatch-words.ts";
import { renderFetches, renderSideTable } from "./render-sides.ts";
import { tellStory } from "./tell-story.ts";

type TimelineRow = MismatchStory["timeline"][number];

/** Few columns, so that all of them fit: what belongs together stands in one of them. */
const TIMELINE: readonly Column[] = [
  { name: "Happened" },
  { name: "What" },
  { name: "Id", as: "text" },
  { name: "Stake", as: "number" },
  { name: "Payout", as: "number" },
  { name: "Wallet", as: "number" },
  { name: "Stored" },
];

function renderTimeline({ timeline }: MismatchStory, zone: string): SafeHtml {
  const table = renderTable({
    name: "Timeline",
    caption: "Callbacks in the ledger, and versions of the provider's records, in order of time",
    of: "timeline",
    columns: TIMELINE,
    rows: timeline.map((item) => renderItem(item, zone)),
  });
  return html`<section class="sheet" aria-labelledby="timeline-head"><h2 id="timeline-head">Timeline</h2>
${timeline.length === 0 ? html`<p class="faint">No event of either side is stored any more.</p>` : table}
</section>`;
}

function renderItem(item: TimelineRow, zone: string): Row {
  const { at, seenAt, side, what, id, betId, username, requestId, stake, payout, replacedAt } = item;
  const about = [
    betId === null || betId === id ? null : `bet ${betId}`,
    requestId === null ? null : `request ${requestId}`,
    `player ${username}`,
  ];
  const replaced =
    replacedAt === null ? null : html`<br><span class="faint">replaced</span> ${showTime(replacedAt, zone)}`;
  return {
    of: side,
    cells: [
      showTime(at, zone),
      html`<span class="side">${side}</span> ${what}`,
      html`<span>${id}</span><br><span class="faint">${about.filter((part) => part !== null).join(", ")}</span>`,
      showAmount(stake, null),
      showAmount(payout, null),
      renderWallet(item),
      html`${showTime(seenAt, zone)}${replaced}`,
    ],
  };
}

/** The movement, and the balances around it. */
function renderWallet({ side, moved, balanceBefore, balanceAfter }: TimelineRow): SafeHtml {
  const movement =
    side === "ledger" && moved === null ? html`<span class="faint">as asked</span>` : showAmount(moved, null);
  if (balanceBefore === null && balanceAfter === null) return movement;
  const show = (amount: string | null) => (amount === null ? "not known" : sayAmount(amount, null));
  return html`${movement}<br><span class="amount faint">${show(balanceBefore)} → ${show(balanceAfter)}</span>`;
}

const HISTORY: readonly Column[] = [
  { name: "When" },
  { name: "Who", as: "text" },
  { name: "Status" },
  { name: "Why", as: "text" },
  { name: "At risk", as: "number" },
  { name: "Values then", of: "values" },
];

function renderHistory({ history, adjustments, currency }: MismatchStory, zone: string): SafeHtml {
  const corrections = adjustments.map(
    ({ at, by, ref, amount, currency: of, note }) =>
      html`<li class="wrap">${showTime(at, zone)} ${by} gave the player ${showAmount(amount, of)} <span class="faint">(${ref})</span>: ${note}</li>`,
  );
  const table = renderTable({
    name: "Each change of its status, owner, ticket and reminder, with who, why and the values of that moment",
    of: "history",
    columns: HISTORY,
    rows: history.map((event) => renderEvent(event, currency, zone)),
  });
  return html`<section class="sheet" aria-labelledby="history-head"><h2 id="history-head">History</h2>
${table}
${corrections.length === 0 ? null : html`<h3>Corrections made by hand</h3><ul>${corrections}</ul>`}
</section>`;
}

function renderEvent(event: MismatchEvent, currency: string | null, zone: string): Row {
  const { at, by, fromStatus, toStatus, note, reason, amountAtRisk, provider, ledger } = event;
  const from =
    fromStatus === null || fromStatus === toStatus ? null : html`<span class="faint">${fromStatus} →</span> `;
  return {
    cells: [
      showTime(at, zone),
      by,
      html`${from}${showState(toStatus)}`,
      note ?? html`<span class="faint">${sayWords(reason, zone)}</span>`,
      showAmount(amountAtRisk, currency),
      html`<details><summary>Values</summary>${saySide("Provider", provider)}${saySide("Ledger", ledger)}</details>`,
    ],
  };
}

function saySide(name: string, side: object | null): SafeHtml {
  if (side === null) return html`<p>${name}: no values</p>`;
  const values = Object.entries(side).filter(([, value]) => value !== null);
  return html`<p>${name}: ${values.map(([field, value], index) => html`${index === 0 ? null : ", "}<span class="faint">${field}</span> ${String(value)}`)}</p>`;
}

const ANY_STATUS = MISMATCH_STATUSES.join(",");

function renderSimilar(story: MismatchStory, { ofKind, ofPlayer, ofRound }: Similar): SafeHtml {
  const { kind, productId, username, incidentId } = story;
  const { from, to } = ofKind;
  const list = (filters: Record<string, string>) =>
    `/mismatches?${new URLSearchParams({ ...filters, status: ANY_STATUS })}`;
  const incident =
    incidentId === null
      ? null
      : html`<li><a href="/incidents/${incidentId}">Incident #${incidentId}</a>, to which it belongs</li>`;
  return html`<section class="sheet" aria-labelledby="similar-head"><h2 id="similar-head">Similar mismatches</h2>
<ul class="similar">${incident}
${renderCount(ofKind, list({ product: productId, kind, from, to }), `of this kind in ${productId}, first seen within an hour of this one`)}
${renderCount(ofPlayer, list({ username }), `of player ${username}`)}
${ofRound === null ? null : renderRound(ofRound)}</ul></section>`;
}

function renderCount({ count, isMore }: SimilarCount, href: string, what: string): SafeHtml {
  if (count === 0) return html`<li class="faint">No other ${what}</li>`;
  const number = isMore
    ? `More than ${showCount(count)} others`
    : `${showCount(count)} ${count === 1 ? "other" : "others"}`;
  return html`<li><a href="${href}">${number}</a> ${what}</li>`;
}

function renderRound({ found, isMore }: NonNullable<Similar["ofRound"]>): SafeHtml {
  if (found.length === 0) return html`<li class="faint">No other mismatch of this round</li>`;
  const links = found.map(
    ({ id, kind, status }, index) =>
      html`${index === 0 ? null : ", "}<a href="/mismatches/${id}">#${id} ${kind}</a> ${showState(status)}`,
  );
  return html`<li>Of this round: ${links}${isMore ? " and more" : null}</li>`;
}

/** The typed values of a failed action, which the page shows again. */
export interface TypedDecision {
  readonly note: string;
  readonly adjustment: string;
  readonly ref: string;
}

/** The ids of the mismatches before and after it in the list; null: it is the first, or the last. */
export interface Neighbours {
  readonly previous: string | null;
  readonly next: string | null;
}

export interface MismatchPage {
  readonly story: MismatchStory;
  readonly similar: Similar;
  /** the list from which the person came */
  readonly list: ListQuery;
  readonly neighbours: Neighbours;
  /** whether the visitor may change anything */
  readonly mayAct: boolean;
  /** null: no action failed */
  readonly typed: TypedDecision | null;
  /** the typed text of a refused comment; null: none was refused */
  readonly comment: string | null;
  /** of a refused change of owner, ticket or reminder; null: none was refused */
  readonly typedCase: TypedCase | null;
  /** what was wrong with any of them */
  readonly problem: Problem | null;
  /** the name of the visitor */
  readonly me: string;
  /** of its times */
  readonly zone: string;
  readonly now: Instant;
}

export function renderMismatch(page: MismatchPage): SafeHtml {
  const { story, similar, list, mayAct, comment, problem, zone, me, now, typedCase } = page;
  const { id, kind, productId, comments } = story;
  const more = `/mismatches?${new URLSearchParams({ product: productId, kind })}`;
  const pathTo = (part: string) => pathOfMismatch(id, list).replace(/(?=\?|$)/, `/${part}`);
  const action = pathTo("comments");
  return html`<p class="trail wrap"><a href="/mismatches">Mismatches</a> <span aria-hidden="true">›</span> <a href="${more}">${kind} in ${productId}</a></p>
${renderNeighbours(page)}
<h1>${kind} <span class="faint">#${id}</span></h1>
${renderFacts(story, zone)}
${renderTold(story, zone)}
<div${mayAct ? html` class="beside"` : null}>
<section class="sheet sides" aria-labelledby="sides-head"><h2 id="sides-head">Both sides</h2>
${renderSideTable(story, zone)}</section>
${mayAct ? renderActions(page) : null}
</div>
${renderCase({ actionOf: pathTo, of: story, mayAct, me, typed: typedCase, problem, zone, now })}
<div class="sheets halves">${renderComments({ action, comments, mayAct, typed: comment, problem, zone })}
${renderSimilar(story, similar)}</div>
${story.transactionRef === null ? renderTimeline(story, zone) : null}
${story.transactionRef === null ? renderFetches(story, zone) : null}
${renderHistory(story, zone)}`;
}

/** In the list from which the person came: the one before, the one after, and the list. */
function renderNeighbours({ list, neighbours: { previous, next } }: MismatchPage): SafeHtml {
  const link = (id: string | null, rel: "prev" | "next", key: string, name: string) =>
    id === null
      ? html`<span class="faint">${name}: none</span>`
      : html`<a class="button quiet" rel="${rel}" data-key="${key}" aria-keyshortcuts="${key}" href="${pathOfMismatch(id, list)}">${name} <kbd>${key.toUpperCase()}</kbd></a>`;
  return html`<nav class="row neighbours" aria-label="Neighbours in the list">${link(previous, "prev", "p", "Previous")}
${link(next, "next", "n", "Next")} <a href="${pathOfList({ ...list, from: null })}">Back to the list</a></nav>`;
}

function renderTold(story: MismatchStory, zone: string): SafeHtml {
  const { id, kind, reason, status } = story;
  const toDo = isDecided(story) ? `Nothing: this mismatch is ${status}.` : adviceOf(story);
  const { says, likely } = tellStory(story);
  return html`<div class="sheets halves"><section class="sheet" aria-labelledby="told-head"><h2 id="told-head">What happened</h2>
<p class="reason">${sentence(sayWords(reason, zone))}</p>
<p id="story">${sayWords(says, zone)} ${sayWords(likely, zone)}</p>
<p class="faint"><code>${kind}</code> means: ${MEANING_OF_KIND[kind]}.</p></section>
<section class="sheet" aria-labelledby="to-do-head"><h2 id="to-do-head">What to do now</h2>
<p>${toDo}</p>
${renderEvidenceLinks({ id })}</section></div>`;
}

function isDecided({ status }: MismatchStory): boolean {
  return status === "resolved" || status === "ignored";
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
    [isDecided(story) ? "Was at risk" : "At risk", showAmount(amountAtRisk, currency)],
    ["Effect", story.effect === null ? null : showAmount(story.effect, currency)],
    [
      "Counts in the statement of",
      story.countsOn === null ? null : renderStatementLinks(story.countsOn, productId, currency),
    ],
    ["Product", productId],
    ["Player", html`<a href="${`/mismatches?${new URLSearchParams({ username })}`}">${username}</a>`],
    ["Bet", betId ?? transactionId],
    ["Round", roundId],
    [
      "Transfer",
      transactionRef === null ? null : html`<a href="${pathToTransfer(story)}">${transactionRef}</a>`,
    ],
    [
      "Incident",
      story.incidentId === null
        ? null
        : html`<a href="/incidents/${story.incidentId}">#${story.incidentId}</a>`,
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

function renderActions({ story, list, typed, problem }: MismatchPage): SafeHtml {
  const { id, status, currency } = story;
  const actions = actionsFor([status]);
  const correction = typed !== null && (typed.adjustment !== "" || typed.ref !== "");
  const adjust = actions.includes("resolve")
    ? html`<details${correction ? html` open` : null}><summary>Record a correction made by hand</summary>
<p class="faint">A correction belongs to a resolution, counts in the day's report, and cannot be undone here. A positive amount was given to the player.</p>
<div class="row">${renderInput({ label: currency === null ? "Amount" : `Amount in ${currency}`, name: "adjustment", value: typed?.adjustment, problem }, html`inputmode="decimal" size="12" autocomplete="off"`)}
${renderInput({ label: "Your reference", name: "ref", value: typed?.ref, problem }, html`maxlength="200" size="18" autocomplete="off"`)}</div></details>`
    : null;
  return html`<section class="sheet" aria-labelledby="act-head"><h2 id="act-head">Decide</h2>
<form method="post" action="${pathOfMismatch(id, list)}" id="act">
<input type="hidden" name="from" value="${status}" id="act-from">
${renderArea({ label: "Note", name: "note", value: typed?.note, problem }, html`rows="3" maxlength="2000" required`)}
${adjust}
<p class="row" id="act-buttons">${renderActionButtons(actions)}</p>
</form></section>`;
}

function renderStatementLinks(day: string, productId: string, currency: string | null): SafeHtml {
  const fields = { day, productId, currency: currency ?? "", explainedBy: "mismatch" };
  return html`<a href="/report?day=${day}">${day}</a>, among ${linkToItems(html`these lines`, fields)}`;
}
