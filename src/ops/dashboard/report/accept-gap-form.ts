/** The form that closes a day without the time of products that cannot be fetched any more (§3.10). */

import { html, type SafeHtml } from "@remix-run/html-template";
import { z } from "zod";
import type { GapOfProduct } from "../../../flows/closing/accept-gaps.ts";
import { sayLength, sayTimes } from "../../../flows/closing/accept-gaps.ts";
import { read } from "../../input/fields.ts";
import { LONGEST_NOTE, readNote } from "../../input/transfer-query.ts";
import { renderArea } from "../parts/fields.ts";
import { sayWords } from "../parts/show.ts";

/** One checked box comes as text, several as a list. */
const ACCEPTED = z.strictObject({ acceptGap: z.union([z.string(), z.array(z.string())]) });

export interface TypedGaps {
  readonly productIds: readonly string[];
  readonly note: string;
}

/**
 * Takes its fields out of a form. @returns the other fields, and null if no box is checked and no note is there
 * @throws ReconError `usage` that names the field
 */
export function takeTypedGaps(
  body: Readonly<Record<string, unknown>>,
): readonly [Readonly<Record<string, unknown>>, TypedGaps | null] {
  const { acceptGap, note, ...others } = body;
  if (acceptGap === undefined && note === undefined) return [others, null];
  const typed = read(ACCEPTED, { acceptGap }).acceptGap;
  const productIds = typeof typed === "string" ? [typed] : [...new Set(typed)];
  return [others, { productIds, note: readNote({ note }) }];
}

export function renderAcceptGaps(
  day: string,
  gaps: readonly GapOfProduct[],
  reader: string,
): SafeHtml | null {
  if (gaps.length === 0) return null;
  const boxes = gaps.map(
    ({ productId, missing }) =>
      html`<label class="check"><input type="checkbox" name="acceptGap" value="${productId}">${productId}: ${sayLength(missing)} (${sayWords(sayTimes(missing), reader)})</label>`,
  );
  const note = { label: "Why it cannot be fetched", name: "note", value: "", problem: null };
  return html`<form method="post" action="/report/close" class="sheet" id="accept-gap"><h2>Close it without missing time</h2>
<p>Only if this time can never be fetched. The statement names the products, the missing time, you and your reason. What is fetched later becomes corrections.</p>
<input type="hidden" name="day" value="${day}">
<p>${boxes}</p>
<div class="row">${renderArea(note, html`rows="2" maxlength="${LONGEST_NOTE}" required`)}
<button>Close ${day} without it</button></div></form>`;
}
