/** Draws one backfill: progress, gaps, the actions that are allowed, and what it found. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant, showDuration } from "../../../clock.ts";
import type { WatchedBackfill } from "../../../flows/read/watch-backfill.ts";
import { type Backfill, type BackfillChange, statusAfter } from "../../../sync/backfill.ts";
import { explainGap } from "../coverage/gap-reasons.ts";
import { showCount, showState, showTime } from "../parts/show.ts";

/** @param reader whether the page offers pausing, resuming and cancelling, and the zone of its times */
export function renderBackfill(
  watched: WatchedBackfill,
  { mayWrite, zone }: { readonly mayWrite: boolean; readonly zone: string },
): SafeHtml {
  const { backfill } = watched;
  const { id, productId, from, to, status } = backfill;
  return html`<p><a href="/backfills">All backfills</a></p>
<h1 class="wrap">Backfill ${id} of ${productId} ${showState(status)}</h1>
<p>From ${showTime(from, zone)} to ${showTime(to, zone)}</p>
${renderProgress(watched, zone)}
${renderGaps(backfill)}
${mayWrite ? renderChanges(backfill) : null}
${renderEffect(watched)}`;
}

function renderProgress({ backfill, pace }: WatchedBackfill, zone: string): SafeHtml {
  const { status, windowsDone, windowsTotal, startedAt, endedAt } = backfill;
  const percent = windowsTotal === 0 ? 100 : Math.floor((100 * windowsDone) / windowsTotal);
  const moving =
    pace === null
      ? null
      : html` <span id="pace">${showCount(pace.recordsPerSecond)} records a second${
          pace.remainingMs === null ? null : `, about ${showDuration(pace.remainingMs)} left`
        }.</span>`;
  const took =
    startedAt === null || endedAt === null ? null : ` It took ${showDuration(endedAt - startedAt)}.`;
  return html`<section class="sheet" aria-label="Progress">
<label class="whole" for="progress">${showCount(windowsDone)} of ${showCount(windowsTotal)} windows are done (${percent} %)</label>
<progress id="progress" max="${windowsTotal}" value="${windowsDone}">${percent} %</progress>
<p>${startedAt === null ? explainNoStart(status) : html`Begun ${showTime(startedAt, zone)}${endedAt === null ? null : html`, ended ${showTime(endedAt, zone)}`}.`}${took}${moving}</p>
</section>`;
}

function explainNoStart(status: Backfill["status"]): string {
  if (status === "cancelled") return "The backfill was cancelled before it began.";
  if (status === "paused") return "The backfill has not begun yet. Resume it, and a worker will begin it.";
  return "The backfill has not begun yet. A worker will begin it.";
}

function renderGaps({ gaps, gapCode, status, productId, from, to }: Backfill): SafeHtml | null {
  if (gaps === 0) return null;
  const query = new URLSearchParams({
    product: productId,
    from: formatInstant(from),
    to: formatInstant(to),
  });
  return html`<p class="problem">${showCount(gaps)} ${gaps === 1 ? "window" : "windows"} could not be fetched: <code>${gapCode ?? "unknown"}</code>, ${explainGap(gapCode ?? "not-fetched")}.
${explainRetry(status)} <a href="/coverage?${String(query)}">See the coverage</a></p>`;
}

function explainRetry(status: Backfill["status"]): string {
  if (status === "failed")
    return "The backfill has given these windows up. Resume the backfill to try again.";
  if (status === "paused") return "Resume the backfill to try these windows again.";
  return "The worker tries these windows again.";
}

const BUTTONS = [
  ["pause", "Pause", "quiet"],
  ["resume", "Resume", ""],
  ["cancel", "Cancel", "danger"],
] as const satisfies readonly (readonly [BackfillChange, string, string])[];

function renderChanges(backfill: Backfill): SafeHtml | null {
  const possible = BUTTONS.filter(([change]) => statusAfter(change, backfill) !== null);
  if (possible.length === 0) return null;
  const buttons = possible.map(
    ([change, name, style]) =>
      html`<form method="post" action="/backfills/${backfill.id}/${change}"><button class="${style}">${name}</button></form>`,
  );
  return html`<div class="row" id="changes">${buttons}<span class="faint">A cancelled backfill keeps the records that it fetched.</span></div>`;
}

function renderEffect({ backfill, mismatches }: WatchedBackfill): SafeHtml {
  const { records, created, changed, unchanged, productId, startedAt, endedAt } = backfill;
  const figures = [
    ["records fetched", records],
    ["new", created],
    ["changed since the last fetch", changed],
    ["unchanged", unchanged],
  ] as const;
  const seen = new URLSearchParams({ product: productId, status: "open,acknowledged,resolved,ignored" });
  if (startedAt !== null) seen.set("from", formatInstant(startedAt));
  if (endedAt !== null) seen.set("to", formatInstant(endedAt));
  const rows = mismatches.map(({ kind, total, open }) => {
    const query = new URLSearchParams(seen);
    query.set("kind", kind);
    return html`<li><a href="/mismatches?${String(query)}">${showCount(total)} ${kind}</a>, ${showCount(open)} of them open or acknowledged</li>`;
  });
  return html`<section class="sheet" aria-labelledby="effect"><h2 id="effect">What the backfill changed</h2>
<dl class="figures">${figures.map(([name, count]) => html`<div><dt>${name}</dt><dd>${showCount(count)}</dd></div>`)}</dl>
${mismatches.length === 0 ? html`<p>No mismatch was found${endedAt === null ? " so far" : ""}.</p>` : html`<h3>Mismatches that the backfill found</h3><ul>${rows}</ul>`}</section>`;
}
