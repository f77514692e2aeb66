/** Draws one import: what became of its lines, and which were rejected and why. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { showBytes } from "../../../bytes.ts";
import type { ImportCounts } from "../../../ledger/import-lines.ts";
import type { PastImport } from "../../../ledger/past-import-store.ts";
import { showCount, showTime } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { renderState, SAYS_VIA } from "./render-imports.ts";

export function renderImport(story: PastImport & Pick<ImportCounts, "rejected">, zone: string): SafeHtml {
  const { id, at, endedAt, who, via, format, name, bytes } = story;
  const size = bytes === null ? "of unknown size" : showBytes(bytes);
  const ended = endedAt === null ? null : html`, ended ${showTime(endedAt, zone)}`;
  return html`<p class="trail"><a href="/imports">Imports</a> <span aria-hidden="true">›</span> ${id}</p>
<h1>Import ${id} ${renderState(story)}</h1>
<p>${name === null ? html`${format}` : html`<strong class="wrap">${name}</strong>, ${format}`}, ${size}; imported by <strong>${who}</strong> ${SAYS_VIA[via]}, begun ${showTime(at, zone)}${ended}.</p>
${renderTotals(story)}
${renderRejected(story)}`;
}

function renderTotals({ totals, error, endedAt }: PastImport): SafeHtml {
  if (totals === null || endedAt === null) {
    return html`<p class="sheet">Still running, or its process was killed. Lines imported so far are kept. If it does not end, import the same file again: what is there counts as known.</p>`;
  }
  const figure = (label: string, meaning: string, count: number) =>
    html`<div><dt>${label}<small>${meaning}</small></dt><dd>${showCount(count)}</dd></div>`;
  const early =
    error === null
      ? null
      : html`<p class="problem" role="alert">It ended early: ${error}. Import the same file again: what was taken counts as known.</p>`;
  const changed =
    totals.changed === 0
      ? null
      : html`<p>What becomes of changed entries, <code>ledger.rowsChange</code> says: with "never" the first content stays, and <a href="/rejected?side=entry&amp;kind=changed">the change is kept</a>.</p>`;
  return html`${early}<dl class="figures" aria-label="Result by line">
${figure("added", "new entries", totals.added)}
${figure("known", "entries that were there", totals.known)}
${figure("changed", "entries with other content", totals.changed)}
${figure("skipped", "callbacks that are no entries", totals.skipped)}
${figure("rejected", "lines that cannot be used", totals.rejectedLines)}
</dl>${changed}`;
}

const COLUMNS: readonly Column[] = [
  { name: "line", as: "number" },
  { name: "why it was rejected", as: "text", of: "long" },
];

function renderRejected({ rejected, totals }: PastImport & Pick<ImportCounts, "rejected">): SafeHtml | null {
  if (rejected.length === 0) return null;
  const rows = rejected.map(({ line, reason }) => ({ cells: [showCount(line), reason] }));
  const more = (totals?.rejectedLines ?? rejected.length) - rejected.length;
  return html`<section class="sheet" aria-labelledby="rejected"><h2 id="rejected">Rejected lines</h2>
<p>Correct these lines, and import them again. Each is kept with its text <a href="/rejected?side=entry">among the rejected entries</a>, and leaves that list once its entry is written.</p>
${renderTable({ name: "Rejected lines", columns: COLUMNS, rows })}
${more > 0 ? html`<p>and ${showCount(more)} more.</p>` : null}</section>`;
}
