/** Links to the evidence files. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { EVIDENCE_FORMATS } from "../../input/evidence-query.ts";

/** @param of "id" and the id of a mismatch, or "incident" and its id */
export function renderEvidenceLinks(of: { readonly id: string } | { readonly incident: string }): SafeHtml {
  const links = EVIDENCE_FORMATS.map((format, index) => {
    const href = `/api/evidence?${new URLSearchParams({ ...of, format })}`;
    return html`${index === 0 ? null : ", "}<a href="${href}" download>${format.toUpperCase()}</a>`;
  });
  return html`<p>Evidence for the provider, as a file: ${links} <span class="faint">(without your notes and comments)</span></p>`;
}
