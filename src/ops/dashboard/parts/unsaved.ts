import { html, type SafeHtml } from "@remix-run/html-template";

/** Draws the words of a form that came too late: their writer may still need them. @param name of the field, "Your note" */
export function renderUnsaved(name: string, words: string): SafeHtml | null {
  return words === ""
    ? null
    : html`<section class="sheet" aria-labelledby="unsaved"><h2 id="unsaved">${name}, which is not saved</h2>
<p class="words">${words}</p></section>`;
}
