/** Draws when the mismatches of an incident were first seen, and says whether it grows. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Growth } from "../../../alerts/incident-list-store.ts";
import { showDuration } from "../../../clock.ts";
import { type IncidentStory, LATELY_MS } from "../../../flows/read/read-incident.ts";
import { sayTime, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";

const HEIGHT = 60;
const STEP_WIDTH = 4;

/** The growth of an open incident. The mismatches with which it began do not count. */
export function sayGrowth({ count, lately, firstAt, lastAt }: Growth, zone: string): string {
  if (firstAt === null || lastAt === null) return "It has not grown since it began.";
  if (lately > 0) {
    const span = showDuration(LATELY_MS);
    return `It grows: ${showCount(lately)} came in the last ${span}, the newest at ${sayTime(lastAt, zone)}.`;
  }
  const [first, last] = [sayTime(firstAt, zone), sayTime(lastAt, zone)];
  const when = first === last ? `at ${first}` : `between ${first} and ${last}`;
  return `It does not grow: ${showCount(count)} came ${when}; none since.`;
}

export function renderTrend({ from, to, counts }: IncidentStory["trend"], zone: string): SafeHtml {
  const top = Math.max(...counts, 1);
  const stepMs = (to - from) / counts.length;
  const begins = (step: number) => from + step * stepMs;
  const bars = counts.map((count, step) => {
    if (count === 0) return null;
    const height = Math.round((count / top) * (HEIGHT - 2) * 10) / 10;
    const words = `${sayTime(begins(step), zone)}: ${showCount(count)} new`;
    return html`<rect class="bars" x="${step * STEP_WIDTH}" y="${HEIGHT - height}" width="${STEP_WIDTH - 0.6}" height="${height}"><title>${words}</title></rect>`;
  });
  const words = `New mismatches from ${sayTime(from, zone)} to ${sayTime(to, zone)}: at most ${showCount(top)} in ${showDuration(stepMs)}`;
  const rows = counts.flatMap((count, step) =>
    count === 0 ? [] : [{ cells: [sayTime(begins(step), zone), showCount(count)] }],
  );
  const table = renderTable({
    name: "New mismatches",
    columns: [{ name: `From, for ${showDuration(stepMs)}` }, { name: "New", as: "number" }],
    rows,
  });
  return html`<section class="sheet" aria-labelledby="trend"><h2 id="trend">When they were first seen</h2>
<figure class="chart trend"><svg role="img" aria-label="${words}" viewBox="0 0 ${counts.length * STEP_WIDTH} ${HEIGHT}" preserveAspectRatio="none" width="100%" height="${HEIGHT}">${bars}</svg>
<div class="axis" aria-hidden="true"><span>${sayTime(from, zone)}</span><span>top ${showCount(top)} in ${showDuration(stepMs)}</span><span>${sayTime(to, zone)}</span></div></figure>
<details><summary>As a table</summary>${table}</details></section>`;
}
