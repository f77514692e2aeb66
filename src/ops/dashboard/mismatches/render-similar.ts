/** Mismatches that are like this one, with links to them. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import { MISMATCH_STATUSES } from "../../../mismatch.ts";
import type { Similar, SimilarCount } from "../../../mismatches/similar-store.ts";
import { showCount, showState } from "../parts/show.ts";

const ANY_STATUS = MISMATCH_STATUSES.join(",");

export function renderSimilar(story: MismatchStory, { ofKind, ofPlayer, ofRound }: Similar): SafeHtml {
  const { kind, productId, username, incidentId } = story;
  const { from, to } = ofKind;
  const list = (filters: Record<string, string>) =>
    `/mismatches?${new URLSearchParams({ ...filters, status: ANY_STATUS })}`;
  const incident =
    incidentId === null
      ? null
      : html`<li><a href="/incidents/${incidentId}">Incident #${incidentId}</a>, to which it belongs</li>`;
  return html`<section class="sheet" aria-labelledby="similar-head"><h2 id="similar-head">Similar ones</h2>
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
  if (found.length === 0) return html`<li class="faint">No other of this round</li>`;
  const links = found.map(
    ({ id, kind, status }, index) =>
      html`${index === 0 ? null : ", "}<a href="/mismatches/${id}">#${id} ${kind}</a> ${showState(status)}`,
  );
  return html`<li>Of this round: ${links}${isMore ? " and more" : null}</li>`;
}
