/** Draws one transfer or top-up: the sent values, every answer, and the form for closing it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { adviceOfKind } from "../../../advice.ts";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import type { Instant } from "../../../clock.ts";
import type { MismatchOfBet } from "../../../diff/search-store.ts";
import type { TransferStory } from "../../../flows/read/read-transfer.ts";
import { LONGEST_NOTE } from "../../input/transfer-query.ts";
import { type Problem, renderArea } from "../parts/fields.ts";
import { showAgo, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { renderUnsaved } from "../parts/unsaved.ts";
import { pathOfTransfer } from "./render-transfers.ts";

/** The closing as typed, and what is wrong with it. */
interface TypedClosing {
  /** false: the visitor may not close it, or it cannot be closed any more */
  readonly isOffered: boolean;
  readonly note: string;
  readonly problem: Problem | null;
}

/** With the mismatches about it, the newest first. */
type ShownTransfer = TransferStory & { readonly mismatches: readonly MismatchOfBet[] };

export function renderTransfer(
  story: ShownTransfer,
  closing: TypedClosing,
  { now, zone }: { readonly now: Instant; readonly zone: string },
): SafeHtml {
  const { kind, transactionRef, status, type, amount, currency, username, productId } = story;
  const back = kind === "top-up" ? "/transfers?kind=top-up" : "/transfers";
  return html`<p class="trail wrap"><a href="${back}">${kind === "top-up" ? "Top-ups" : "Transfers"}</a> <span aria-hidden="true">›</span> ${transactionRef}</p>
<h1 class="wrap">${kind === "top-up" ? "Top-up" : "Transfer"} ${transactionRef} ${showState(status)}</h1>
<p>${type} of ${showAmount(amount, currency)} for <strong class="wrap">${username}</strong> at <span class="wrap">${productId}</span>, sent ${showTime(story.sentAt, zone)} ${showAgo(story.sentAt, now, zone)}</p>
${renderStand(story, zone)}
${closing.isOffered ? renderClosing(story, closing) : renderUnsaved("Your finding", closing.note)}
${renderAnswers(story, zone)}`;
}

function renderStand(story: ShownTransfer, zone: string): SafeHtml {
  const { status, mismatches, closedBy, note, decidedAt, nextVerifyAt } = story;
  const wrong = mismatches.map(renderMismatch);
  const closed =
    closedBy === null ? null : html`<p>Closed by ${closedBy} ${showTime(decidedAt, zone)}: ${note}</p>`;
  const decided =
    closedBy === null && decidedAt !== null
      ? html`<p>Decided ${showTime(decidedAt, zone)}: ${status}.</p>`
      : null;
  const again =
    nextVerifyAt === null
      ? null
      : html`<p>The next question to the provider is due ${showTime(nextVerifyAt, zone)}.</p>`;
  return html`${wrong}${decided}${closed}${again}`;
}

/** A decided mismatch needs no action. */
function renderMismatch({ id, kind, status }: MismatchOfBet): SafeHtml {
  const link = html`<a href="/mismatches/${id}">Mismatch #${id}</a> ${showState(status)} ${kind}: ${MEANING_OF_KIND[kind]}.`;
  if (status !== "open" && status !== "acknowledged") return html`<p>${link}</p>`;
  return html`<p class="problem">${link}</p>
<p><strong>What to do now:</strong> ${adviceOfKind(kind)}</p>`;
}

function renderClosing(
  { transactionRef, kind, productId, username }: TransferStory,
  { note, problem }: TypedClosing,
): SafeHtml {
  const choice = kind === "top-up" ? { kind, product: productId, username } : {};
  const action = pathOfTransfer(`${transactionRef}`, choice).replace(/(\?|$)/, "/close$1");
  return html`<form method="post" action="${action}" class="sheet" id="close"><h2>Close</h2>
<p class="faint">First find the transfer in the provider's statement. Closing ends the verification and resolves the mismatch in your name. Closing moves no money.</p>
<div class="row">${renderArea({ label: "Your finding", name: "note", value: note, problem }, html`rows="2" maxlength="${LONGEST_NOTE}" required`)}
<button>Close</button></div></form>`;
}

const SAYS: Readonly<Record<TransferStory["answers"][number]["says"], string>> = {
  booked: "booked",
  failed: "failed",
  nothing: "no answer",
};

const FAILED_TWICE =
  "A first failure leaves the status as it is, because the money may still be on its way: only when the provider repeats it after verify.rejectedFinalAfter is the failure final, and the status rejected. A rejected one is asked about again later, because providers book some after all.";

const COLUMNS: readonly Column[] = [
  { name: "attempt", as: "number" },
  { name: "asked at" },
  { name: "took", as: "number" },
  { name: "answer" },
  { name: "code and message", as: "text" },
  { name: "status afterwards" },
  { name: "text", of: "raw-text" },
];

function renderAnswers({ answers }: TransferStory, zone: string): SafeHtml {
  if (answers.length === 0) return html`<p class="sheet">The provider has not been asked yet.</p>`;
  const rows = answers.map((one) => ({
    id: `answer-${one.attempt}`,
    cells: [
      String(one.attempt),
      showTime(one.askedAt, zone),
      `${showCount(one.tookMs)} ms`,
      html`${SAYS[one.says]}${one.isDecisive ? html` <strong>(decisive)</strong>` : null}`,
      one.code === null && one.message === null
        ? html`<span class="none">–</span>`
        : html`${one.code === null ? null : html`<code>${one.code}</code> `}${one.message}`,
      showState(one.status),
      one.raw === null
        ? html`<span class="none">–</span>`
        : html`<details><summary>show</summary><pre class="raw">${one.raw}</pre></details>`,
    ],
  }));
  return html`<section class="sheet" aria-labelledby="answers"><h2 id="answers">Every answer</h2>
<p class="faint">A decisive answer changed what is known. ${answers.some(({ says }) => says === "failed") ? FAILED_TWICE : null}</p>
${renderTable({ name: "Answers", columns: COLUMNS, rows })}</section>`;
}
