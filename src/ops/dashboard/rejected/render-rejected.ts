/** Draws one rejected record or entry: its text, the reason, and the form that reads it again. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Instant } from "../../../clock.ts";
import type { RejectedStory } from "../../../flows/rejected/read-rejected.ts";
import { showAgo, showCount, showState, showTime } from "../parts/show.ts";

/** A page shows no more of a text; the API has all of it. */
const MOST_CHARACTERS = 200_000;

export function renderRejected(
  story: RejectedStory,
  mayRetry: boolean,
  { now, zone }: { readonly now: Instant; readonly zone: string },
): SafeHtml {
  const { id, side, kind, productId, entryId, reason, firstSeenAt, toDo } = story;
  const of = side === "record" ? "of the provider" : "of the ledger";
  return html`<p class="trail"><a href="/rejected">Rejected</a> <span aria-hidden="true">›</span> ${id}</p>
<h1 class="wrap">Rejected ${id} ${showState(kind)}</h1>
<p>${side === "record" ? "A record" : "An entry"} ${of}${productId === null ? null : html`, at <strong class="wrap">${productId}</strong>`}${entryId === null ? null : html`, entry_id <strong class="wrap">${entryId}</strong>`}, first seen ${showTime(firstSeenAt, zone)} ${showAgo(firstSeenAt, now, zone)}</p>
<p class="problem wrap">${reason}</p>
<p>${toDo}</p>
${mayRetry ? renderForm(id) : null}
${renderText(story)}`;
}

function renderForm(id: string): SafeHtml {
  return html`<form method="post" action="/rejected/${id}/retry" class="sheet" id="retry"><h2>Read it again</h2>
<p class="faint">After an upgrade or a changed setting. If it can be used now, it is written, compared, and leaves this list; a newer state is never replaced. Else it stays, with the reason of now.</p>
<p class="row"><button>Retry</button></p></form>`;
}

function renderText({ id, raw }: RejectedStory): SafeHtml {
  const rest = raw.length - MOST_CHARACTERS;
  return html`<section class="sheet" aria-labelledby="text"><h2 id="text">Text as it came</h2>
<pre class="raw whole" tabindex="0" role="group" aria-label="Text of ${id}">${showControls(raw.slice(0, MOST_CHARACTERS))}</pre>
${rest > 0 ? html`<p>and ${showCount(rest)} more characters: <a href="/api/rejected/${id}">the API has all of it</a></p>` : null}</section>`;
}

/** What a browser would not show, or would use to change the direction of reading, is shown as "\u001b". */
const UNSEEN = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu;

function showControls(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
