/** Draws one transfer or top-up: the sent values, every answer, and the form for closing it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import type { Instant } from "../../../clock.ts";
import type { TransferStory } from "../../../flows/read/read-transfer.ts";
import { MISMATCH_KINDS } from "../../../mismatch.ts";
import { LONGEST_NOTE } from "../../input/transfer-query.ts";
import { showAge, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { pathOfTransfer } from "./render-transfers.ts";

/** @param note the typed note of the closing; null: the visitor cannot close it */
export function renderTransfer(story: TransferStory, note: string | null, now: Instant): SafeHtml {
  const { kind, transactionRef, status, type, amount, currency, username, productId } = story;
  const back = kind === "top-up" ? "/transfers?kind=top-up" : "/transfers";
  return html`<p><a href="${back}">All ${kind}s</a></p>
<h1 class="wrap">${kind === "top-up" ? "Top-up" : "Transfer"} ${transactionRef} ${showState(status)}</h1>
<p>${type} of ${showAmount(amount, currency)} for <strong class="wrap">${username}</strong> at ${productId}, sent ${showTime(story.sentAt)} (${showAge(story.sentAt, now)})</p>
${renderStand(story)}
${note === null ? null : renderClosing(story, note)}
${renderAnswers(story)}`;
}

function renderStand(story: TransferStory): SafeHtml {
  const { status, mismatchKind, closedBy, note, decidedAt, nextVerifyAt, username, productId } = story;
  const kind = MISMATCH_KINDS.find((one) => one === mismatchKind);
  const query = new URLSearchParams({
    product: productId,
    kind: mismatchKind ?? "",
    username,
    status: "open,acknowledged,resolved,ignored",
  });
  const wrong =
    mismatchKind === null
      ? null
      : html`<p class="problem">${mismatchKind}${kind === undefined ? null : `: ${MEANING_OF_KIND[kind]}`}. <a href="/mismatches?${String(query)}">See the mismatch</a></p>`;
  const closed =
    closedBy === null ? null : html`<p>Closed by ${closedBy} ${showTime(decidedAt)}: ${note}</p>`;
  const decided =
    closedBy === null && decidedAt !== null ? html`<p>Decided ${showTime(decidedAt)}: ${status}.</p>` : null;
  const again =
    nextVerifyAt === null
      ? null
      : html`<p>The next question to the provider is due ${showTime(nextVerifyAt)}.</p>`;
  return html`${wrong}${decided}${closed}${again}`;
}

function renderClosing({ transactionRef, kind, productId, username }: TransferStory, note: string): SafeHtml {
  const choice = kind === "top-up" ? { kind, product: productId, username } : {};
  const action = pathOfTransfer(`${transactionRef}`, choice).replace(/(\?|$)/, "/close$1");
  return html`<form method="post" action="${action}" class="sheet" id="close"><h2>Close</h2>
<p class="faint">First find the transfer in the provider's statement. Closing ends the verification and resolves the mismatch in your name. Closing moves no money.</p>
<div class="row"><label class="note">Your finding <textarea name="note" rows="2" maxlength="${LONGEST_NOTE}" required>${note}</textarea></label>
<button>Close</button></div></form>`;
}

const SAYS: Readonly<Record<TransferStory["answers"][number]["says"], string>> = {
  booked: "booked",
  failed: "failed",
  nothing: "no answer",
};

function renderAnswers({ answers }: TransferStory): SafeHtml {
  if (answers.length === 0) return html`<p class="sheet">The provider has not been asked yet.</p>`;
  const rows = answers.map(
    (one) => html`<tr id="answer-${one.attempt}">
<td class="number">${one.attempt}</td><td>${showTime(one.askedAt)}</td><td class="number">${showCount(one.tookMs)} ms</td>
<td>${SAYS[one.says]}${one.isDecisive ? html` <strong>(decisive)</strong>` : null}</td>
<td class="wrap">${one.code === null ? null : html`<code>${one.code}</code> `}${one.message}</td><td>${showState(one.status)}</td>
<td>${one.raw === null ? html`<span class="none">–</span>` : html`<details><summary>show</summary><pre class="raw">${one.raw}</pre></details>`}</td>
</tr>`,
  );
  return html`<section class="sheet" aria-labelledby="answers"><h2 id="answers">Every answer</h2>
<div class="scroll" tabindex="0" role="group" aria-label="Answers, table"><table>
<thead><tr><th scope="col" class="number">attempt</th><th scope="col">asked at</th><th scope="col" class="number">took</th><th scope="col">answer</th>
<th scope="col">code and message</th><th scope="col">status afterwards</th><th scope="col">text</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}
