/** The events around a mismatch in order of time: both sides, the fetches, and the history. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import type { MismatchEvent } from "../../../mismatches/store.ts";
import { sayAmount, sayWords, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, type Row, renderTable } from "../parts/table.ts";

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

export function renderTimeline({ timeline }: MismatchStory, zone: string): SafeHtml {
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

const FETCHES: readonly Column[] = [
  { name: "Fetch" },
  { name: "Window" },
  { name: "Asked" },
  { name: "Records", as: "number" },
  { name: "Confirms" },
];

export function renderFetches({ fetches }: MismatchStory, zone: string): SafeHtml {
  const rows = fetches.map(({ kind, from, to, startedAt, records, isLateEnough }) => ({
    cells: [
      kind,
      html`${showTime(from, zone)} – ${showTime(to, zone)}`,
      showTime(startedAt, zone),
      showCount(records),
      isLateEnough ? "yes" : html`<span class="faint">no, too early</span>`,
    ],
  }));
  const caption =
    "Fetches of this time, the latest first. A fetch confirms that a record is missing if the fetch began later than the provider's grace after the last callback.";
  return html`<section class="sheet" aria-labelledby="fetches-head"><h2 id="fetches-head">Fetches of this time</h2>
${rows.length === 0 ? html`<p class="faint">No window of this time is kept: none has fetched it, or they were deleted (retain.windows).</p>` : renderTable({ name: "Fetches", caption, columns: FETCHES, rows })}
</section>`;
}

const HISTORY: readonly Column[] = [
  { name: "When" },
  { name: "Who", as: "text" },
  { name: "Status" },
  { name: "Why", as: "text" },
  { name: "At risk", as: "number" },
  { name: "Values then", of: "values" },
];

export function renderHistory({ history, adjustments, currency }: MismatchStory, zone: string): SafeHtml {
  const corrections = adjustments.map(
    ({ at, by, ref, amount, currency: of, note }) =>
      html`<li class="wrap">${showTime(at, zone)} ${by} gave the player ${showAmount(amount, of)} <span class="faint">(${ref})</span>: ${note}</li>`,
  );
  const table = renderTable({
    name: "Each change of its status, with who, why and the values of that moment",
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
  const from = fromStatus === null ? null : html`<span class="faint">${fromStatus} →</span> `;
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
