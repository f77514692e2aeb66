/** Draws the question before days are closed, and the check of the closed days. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { OpenDay } from "../../../closed.ts";
import { type BooksCheck, sayRest } from "../../../flows/closing/verify-books.ts";
import { sayWords, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";

/** A day or a month to close. */
export interface Closable {
  /** YYYY-MM-DD, or YYYY-MM */
  readonly name: string;
  readonly isMonth: boolean;
  /** `closing.zone` */
  readonly zone: string;
  /** its open days, each with its reason; none: it is closed */
  readonly open: readonly OpenDay[];
  /** the day, or the first one of the month, has ended, and not all open days lie before the first closed one */
  readonly isClosable: boolean;
  /** whether no day is closed yet */
  readonly isFirst: boolean;
  /** the first whole day since pulling began; null: nothing was pulled, or a day is closed */
  readonly firstPulled: string | null;
}

export function renderConfirmClosing(closable: Closable, mayClose: boolean, reader: string): SafeHtml {
  const { name, isMonth, zone, open, isClosable } = closable;
  const field = isMonth ? "month" : "day";
  const back = html`<a href="/report?${field}=${name}">Back to the statement</a>`;
  if (open.length === 0)
    return html`<h1>Close ${name}</h1><p class="sheet">It is closed already. ${back}</p>`;
  const what = isMonth
    ? "Its days are closed in order, up to the first that must stay open."
    : "It is closed where it is complete; otherwise it stays open.";
  const rows = open.map(({ day, reason }) => ({ cells: [day, sayWords(reason, reader)] }));
  const columns = [
    { name: "open day", as: "head" },
    { name: "state now", as: "text", of: "long" },
  ] as const;
  const form = html`<form method="post" action="/report/close">
<input type="hidden" name="${field}" value="${name}">
<p class="row"><button>Close ${name}</button> ${back}</p>
</form>`;
  return html`<h1>Close ${name}?</h1>
<div class="sheet">
<p>${what} A closed day of ${zone} has a number and a hash. Its statement never changes again, and it cannot be reopened: later changes become corrections.</p>
${isClosable ? renderWarning(closable) : null}
${renderTable({ name: "Open days", columns, rows })}
${mayClose && isClosable ? form : html`<p>${back}</p>`}</div>`;
}

/** The first closed day shuts out all earlier ones. */
function renderWarning({ name, isMonth, isFirst, firstPulled }: Closable): SafeHtml | null {
  if (!isFirst) return null;
  const first = isMonth ? `the first day that is closed in ${name}` : name;
  const earlier =
    firstPulled === null || firstPulled >= name
      ? null
      : html` The first whole day that was pulled is <a href="/report/close?day=${firstPulled}">${firstPulled}</a>: to have statements from then on, close it first.`;
  return html`<p class="problem">No day is closed yet, and days are closed in order: after this, no day before ${first} can ever be closed.${earlier}</p>`;
}

interface Check extends BooksCheck {
  /** the last closed day; null: there is none */
  readonly last: { readonly day: string; readonly number: number; readonly hash: string } | null;
}

export function renderCheck(check: Check): SafeHtml {
  const { last } = check;
  return html`<p class="trail"><a href="/report">Report</a> <span aria-hidden="true">›</span> Check</p>
<h1>Check of the closed days</h1>
${renderVerdict(check)}
${last === null ? null : html`<p class="sheet">The last closed day is <a href="/report?day=${last.day}">${last.day}</a> with number ${showCount(last.number)}.<br><span class="faint wrap">hash ${last.hash}</span><br>Keep a copy of this hash in another place: it shows an altered statement even if somebody altered every later hash too.</p>`}`;
}

function renderVerdict(check: BooksCheck): SafeHtml {
  const { days, flaw, sums } = check;
  if (flaw !== null) {
    const checked =
      sums === null
        ? `${showCount(days)} ${days === 1 ? "day before it is" : "days before it are"} as they were closed; later ones were not checked.`
        : "Every stored statement is as it was closed.";
    return html`<p class="verdict" data-state="bad"><span>The closed day <a href="/report?day=${flaw.day}">${flaw.day}</a> ${flaw.what}.</span></p>
<p class="sheet">${checked} Find out who writes to the database besides wallet-recon, and compare with a backup.</p>`;
  }
  if (days === 0) return html`<p class="verdict" data-state="unknown"><span>No day is closed yet.</span></p>`;
  return html`<p class="verdict" data-state="good"><span>Closed days: ${showCount(days)}. No stored statement was altered.${sayRest(check)}</span></p>`;
}
