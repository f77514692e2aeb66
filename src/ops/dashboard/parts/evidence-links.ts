/** Links to the evidence files. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { MOST_IN_FILE } from "../../../flows/read/read-evidence.ts";
import { EVIDENCE_FORMATS } from "../../input/evidence-query.ts";
import { showCount } from "./show.ts";

interface EvidencePart {
  readonly incident: string;
  /** from 1 */
  readonly part: string;
}

/** @param of "id" and the id of a mismatch, or "incident" and its id */
export function renderEvidenceLinks(of: { readonly id: string } | { readonly incident: string }): SafeHtml {
  return html`<p>Evidence for the provider, as a file: ${renderFormats(of)} ${WITHOUT}</p>`;
}

/** A file holds a part of a large incident. @param parts how many there are, at least 2 */
export function renderEvidenceParts(incident: string, parts: number): SafeHtml {
  const items = Array.from({ length: Math.min(parts, MOST_PARTS) }, (_, index) => {
    const part = String(index + 1);
    return html`<li>Part ${part} of ${showCount(parts)}: ${renderFormats({ incident, part })}</li>`;
  });
  const rest =
    parts > MOST_PARTS
      ? html`<p>The others: <code>recon evidence --incident ${incident} --part ${MOST_PARTS + 1} --out FILE</code> and so on.</p>`
      : null;
  return html`<details><summary>Evidence for the provider, as ${showCount(parts)} files of at most ${showCount(MOST_IN_FILE)} mismatches ${WITHOUT}</summary><ul>${items}</ul>${rest}</details>`;
}

const MOST_PARTS = 200;
const WITHOUT = html`<span class="faint">(without your notes and comments)</span>`;

function renderFormats(of: { readonly id: string } | { readonly incident: string } | EvidencePart): SafeHtml {
  const links = EVIDENCE_FORMATS.map((format, index) => {
    const href = `/api/evidence?${new URLSearchParams({ ...of, format })}`;
    return html`${index === 0 ? null : ", "}<a href="${href}" download>${format.toUpperCase()}</a>`;
  });
  return html`${links}`;
}
