/** Draws when the mismatches of an incident were first seen, and says whether it grows. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { type Instant, showDuration } from "../../../clock.ts";
import type { IncidentStory } from "../../../flows/read/read-incident.ts";
import { sayTime, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";

const HEIGHT = 60;
const STEP_WIDTH = 4;
const HOUR_MS = 3_600_000;

/** "It grows: 3 new in the last 20 min." The ones with which it began are no growth. Once it is over, nothing. */
export function sayTrend({ incident, trend }: IncidentStory, now: Instant): string {
  const { beganAt, lastAt } = incident;
  const stepMs = (trend.to - trend.from) / trend.counts.length;
  const lately = Math.max(HOUR_MS, stepMs);
  if (now - lastAt > lately) return `It has not grown for ${showDuration(now - lastAt)}.`;
  const steps = Math.ceil(lately / stepMs);
  const first = Math.min(trend.counts.length - 1, Math.floor((beganAt - trend.from) / stepMs));
  const later = trend.counts.map((count, step) => (step === first ? 0 : count));
  const count = later.slice(-steps).reduce((sum, one) => sum + one, 0);
  if (count === 0) return "It has not grown since it began.";
  const span = Math.max(60_000, Math.min(steps * stepMs, now - beganAt));
  return `It grows: ${showCount(count)} new in the last ${showDuration(span)}.`;
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
