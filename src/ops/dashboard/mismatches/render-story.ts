/** The events around a mismatch in order of time: both sides, the fetches, and the history. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import type { MismatchEvent } from "../../../mismatches/store.ts";
import { groupDigits, showAmount, showCount, showState, showTime, withCents } from "../parts/show.ts";

export function renderTimeline({ timeline }: MismatchStory): SafeHtml {
  const rows = timeline.map(renderItem);
  return html`<section class="sheet" aria-labelledby="timeline-head"><h2 id="timeline-head">Timeline</h2>
${rows.length === 0 ? html`<p class="faint">No event of either side is stored any more.</p>` : renderTable(rows)}
</section>`;
}

function renderTable(rows: readonly SafeHtml[]): SafeHtml {
  return html`<div class="scroll"><table class="timeline">
<caption>Callbacks in the ledger, and versions of the provider's records, in order of time</caption>
<thead><tr><th scope="col">Happened</th><th scope="col">Side</th><th scope="col">What</th><th scope="col">Id</th><th scope="col" class="number">Stake</th><th scope="col" class="number">Payout</th><th scope="col" class="number">Moved</th><th scope="col" class="number">Balance</th><th scope="col">Stored</th></tr></thead>
<tbody>${[...rows]}</tbody></table></div>`;
}

type TimelineRow = MismatchStory["timeline"][number];

function renderItem(item: TimelineRow): SafeHtml {
  const { at, seenAt, side, what, id, betId, username, requestId, stake, payout, moved, replacedAt } = item;
  const about = [
    betId === null || betId === id ? null : `bet ${betId}`,
    requestId === null ? null : `request ${requestId}`,
    `player ${username}`,
  ];
  const replaced =
    replacedAt === null ? null : html`<br><span class="faint">replaced</span> ${showTime(replacedAt)}`;
  return html`<tr data-side="${side}"><td>${showTime(at)}</td><td><span class="side">${side}</span></td><td>${what}</td><td class="wrap">${id}<br><span class="faint">${about.filter((part) => part !== null).join(", ")}</span></td><td class="number">${showAmount(stake, null)}</td><td class="number">${showAmount(payout, null)}</td><td class="number">${renderMoved(side, moved)}</td><td class="number">${renderBalance(item)}</td><td>${showTime(seenAt)}${replaced}</td></tr>
`;
}

function renderMoved(side: TimelineRow["side"], moved: string | null): SafeHtml {
  if (side === "ledger" && moved === null) return html`<span class="faint">as asked</span>`;
  return showAmount(moved, null);
}

function renderBalance({ balanceBefore, balanceAfter }: TimelineRow): SafeHtml {
  if (balanceBefore === null && balanceAfter === null) return html`<span class="none">–</span>`;
  const show = (amount: string | null) => (amount === null ? "?" : groupDigits(withCents(amount)));
  return html`<span class="amount">${show(balanceBefore)} → ${show(balanceAfter)}</span>`;
}

export function renderFetches({ fetches }: MismatchStory): SafeHtml {
  const rows = fetches.map(
    ({ kind, from, to, startedAt, records, isLateEnough }) =>
      html`<tr><td>${kind}</td><td>${showTime(from)} – ${showTime(to)}</td><td>${showTime(startedAt)}</td><td class="number">${showCount(records)}</td><td>${isLateEnough ? "yes" : html`<span class="faint">no, too early</span>`}</td></tr>
`,
  );
  const table = html`<div class="scroll"><table>
<caption>Fetches of this time, the latest first. A fetch confirms that a record is missing if the fetch began later than the provider's grace after the last callback.</caption>
<thead><tr><th scope="col">Fetch</th><th scope="col">Window</th><th scope="col">Asked</th><th scope="col" class="number">Records</th><th scope="col">Confirms</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
  return html`<section class="sheet" aria-labelledby="fetches-head"><h2 id="fetches-head">Fetches of this time</h2>
${rows.length === 0 ? html`<p class="faint">No window has fetched this time.</p>` : table}
</section>`;
}

export function renderHistory({ history, adjustments, currency }: MismatchStory): SafeHtml {
  const rows = history.map((event) => renderEvent(event, currency));
  const corrections = adjustments.map(
    ({ at, by, ref, amount, currency: of, note }) =>
      html`<li>${showTime(at)} ${by} gave the player ${showAmount(amount, of)} <span class="faint">(${ref})</span>: ${note}</li>`,
  );
  return html`<section class="sheet" aria-labelledby="history-head"><h2 id="history-head">History</h2>
<div class="scroll"><table class="history">
<caption class="hidden">Each change of its status, with who, why and the values of that moment</caption>
<thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">Status</th><th scope="col">Why</th><th scope="col" class="number">At risk</th><th scope="col">Values then</th></tr></thead>
<tbody>${rows}</tbody></table></div>
${corrections.length === 0 ? null : html`<h3>Corrections made by hand</h3><ul>${corrections}</ul>`}
</section>`;
}

function renderEvent(event: MismatchEvent, currency: string | null): SafeHtml {
  const { at, by, fromStatus, toStatus, note, reason, amountAtRisk, provider, ledger } = event;
  const from = fromStatus === null ? null : html`<span class="faint">${fromStatus} →</span> `;
  return html`<tr><td>${showTime(at)}</td><td>${by}</td><td>${from}${showState(toStatus)}</td><td class="wrap">${note ?? html`<span class="faint">${reason}</span>`}</td><td class="number">${showAmount(amountAtRisk, currency)}</td><td><details><summary>Values</summary>${saySide("Provider", provider)}${saySide("Ledger", ledger)}</details></td></tr>
`;
}

function saySide(name: string, side: object | null): SafeHtml {
  if (side === null) return html`<p>${name}: no values</p>`;
  const values = Object.entries(side).filter(([, value]) => value !== null);
  return html`<p>${name}: ${values.map(([field, value], index) => html`${index === 0 ? null : ", "}<span class="faint">${field}</span> ${String(value)}`)}</p>`;
}
