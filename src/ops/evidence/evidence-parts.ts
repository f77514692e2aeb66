/** The parts of the evidence of one mismatch: callbacks, records, fetches, request bodies, and the answers about a transfer. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { MismatchEvidence } from "../../flows/read/mismatch-evidence.ts";
import { sayAmount } from "../../money.ts";
import { renderPlainTable, sayUtc } from "./plain-table.ts";

const say = (amount: string | null) => (amount === null ? null : sayAmount(amount, null));

export function renderEntries({ entries, bodies }: MismatchEvidence): SafeHtml {
  if (entries.length === 0) {
    return html`<h3>Callbacks</h3><p>The operator has answered no callback about it with success.</p>`;
  }
  const shown = new Set(bodies.map(({ id }) => id));
  const rows = entries.map((one) => ({
    cells: [
      html`${sayUtc(one.receivedAt)}<br><span class="faint">sent ${sayUtc(one.occurredAt)}</span>`,
      html`${one.callback} ${one.status}${one.transactionType === "BY_ROUND" ? " BY_ROUND" : ""}`,
      html`${one.requestId}${one.bodyId !== null && shown.has(one.bodyId) ? html`<br><span class="faint">body ${one.bodyId} below</span>` : null}`,
      html`${one.txnId}${one.roundId === null ? null : html`<br><span class="faint">round ${one.roundId}</span>`}<br><span class="faint">player ${one.username}</span>`,
      say(one.betAmount),
      say(one.payoutAmount),
      one.moved === null ? "as asked" : say(one.moved),
      sayBalances(one),
    ],
  }));
  const columns = ["Received", "Callback", "Request", "Transaction", "Bet", "Payout", "Moved", "Balance"];
  const caption = "Every callback that the operator answered with success, in the order of time";
  return html`<h3>Callbacks</h3>${renderPlainTable({ caption, columns, numbers: ["Bet", "Payout", "Moved", "Balance"], rows })}`;
}

function sayBalances({ balanceBefore, balanceAfter }: MismatchEvidence["entries"][number]): string {
  if (balanceBefore === null && balanceAfter === null) return "not known";
  return `${say(balanceBefore) ?? "not known"} → ${say(balanceAfter) ?? "not known"}`;
}

export function renderRecords({ records, transactionRef }: MismatchEvidence): SafeHtml | null {
  if (transactionRef !== null) return null;
  if (records.length === 0) {
    return html`<h3>The provider's record</h3><p>No fetch of betTransactionsV2 has returned a record of it that is still stored.</p>`;
  }
  const rows = records.map(({ record, extra, isExtraLeftOut, firstSeenAt, requestedAt, replacedAt }) => ({
    cells: [
      html`${sayUtc(firstSeenAt)}<br><span class="faint">asked at ${sayUtc(requestedAt)}</span>${replacedAt === null ? null : html`<br>replaced at ${sayUtc(replacedAt)}`}`,
      html`${record["id"]}<br><span class="faint">betId ${record["betId"]}, roundId ${record["roundId"]}, username ${record["username"]}</span>`,
      html`${record["betStatus"]} ${record["payoutStatus"]}`,
      say(record["stake"] ?? null),
      say(record["payout"] ?? null),
      record["currency"] ?? null,
      html`<span class="faint">accountingDate</span> ${sayUtc(record["accountingDate"] ?? "")}<br><span class="faint">updatedDate</span> ${sayUtc(record["updatedDate"] ?? "")}`,
      html`${record["gameName"]} <span class="faint">${record["gameCode"]}</span>${extra === null ? null : html`<br>${extra}`}${isExtraLeftOut ? html`<br>(its other fields are too long to be shown)` : null}`,
    ],
  }));
  const columns = [
    "First returned",
    "Record",
    "Status",
    "Stake",
    "Payout",
    "Currency",
    "Dates",
    "Game, other fields",
  ];
  const caption = "Every version of the record, as betTransactionsV2 returned it, the oldest first";
  return html`<h3>The provider's record</h3>${renderPlainTable({ caption, columns, numbers: ["Stake", "Payout"], rows })}`;
}

export function renderFetches({ fetches }: MismatchEvidence): SafeHtml | null {
  if (fetches.length === 0) return null;
  const rows = fetches.map(({ from, to, startedAt, fetchedAt, records }) => ({
    cells: [sayUtc(from), sayUtc(to), sayUtc(startedAt), sayUtc(fetchedAt), String(records)],
  }));
  const columns = ["startTime", "endTime", "Asked", "Answered", "Records"];
  const caption =
    "Requests of this time to betTransactionsV2 that were answered to their last page, the latest first";
  return html`<h3>Fetches of this time</h3>${renderPlainTable({ caption, columns, numbers: ["Records"], rows })}`;
}

export function renderBodies({ bodies }: MismatchEvidence): SafeHtml | null {
  if (bodies.length === 0) return null;
  const blocks = bodies.map(({ id, callback, requestId, statusCode, body, receivedAt }) => {
    const answer = statusCode === 0 ? "answered with success" : `refused with statusCode ${statusCode}`;
    return html`<p>Body ${id}: <strong>${callback}</strong>, request ${requestId ?? "without a readable id"}, received at ${sayUtc(receivedAt)}, ${answer}</p>
<pre>${body}</pre>`;
  });
  return html`<h3>Request bodies</h3><p class="faint">As they came. Only session tokens are removed.</p>${blocks}`;
}

export function renderTransfer({ transfer }: MismatchEvidence): SafeHtml | null {
  if (transfer === null) return null;
  const { type, amount, currency, status, sentAt, handedAt, rejectedAt, answers } = transfer;
  const rows = answers.map((one) => ({
    cells: [
      String(one.attempt),
      sayUtc(one.askedAt),
      one.says,
      [one.code, one.message].filter((part) => part !== null).join(" ") || null,
      one.status,
      one.raw === null ? null : html`<pre>${one.raw}</pre>`,
    ],
  }));
  const columns = ["", "Asked", "Says", "Code", "Status after it", "Answer as it came"];
  const rejected = rejectedAt === null ? null : html`, refused at ${sayUtc(rejectedAt)}`;
  return html`<h3>The transfer</h3>
<p>${type} of ${sayAmount(amount, currency)}, sent at ${sayUtc(sentAt)}, handed over at ${sayUtc(handedAt)}${rejected}: ${status}.</p>
${answers.length === 0 ? html`<p>The provider has not been asked yet.</p>` : renderPlainTable({ caption: "Every answer of the provider", columns, rows })}`;
}
