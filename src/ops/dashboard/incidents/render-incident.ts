/** One incident as a page: the cause, its trend, who was notified of what, and one decision for all of it. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { adviceOfSome } from "../../../advice.ts";
import type { Growth } from "../../../alerts/incident-list-store.ts";
import { MEANING_OF_KIND } from "../../../alerts/kind-meanings.ts";
import { type Instant, showDuration } from "../../../clock.ts";
import { describeIncident } from "../../../flows/read/incident-document.ts";
import { countParts } from "../../../flows/read/read-evidence.ts";
import { type IncidentStory, LATELY_MS } from "../../../flows/read/read-incident.ts";
import { MISMATCH_STATUSES } from "../../../mismatch.ts";
import { renderCase, renderComments, type TypedCase } from "../comments/render-comments.ts";
import { actionsFor, renderActionButtons, sayCount } from "../mismatches/mismatch-words.ts";
import { renderEvidenceLinks, renderEvidenceParts } from "../parts/evidence-links.ts";
import type { Problem } from "../parts/fields.ts";
import {
  sayAmounts,
  sayTime,
  sayWords,
  showAgo,
  showAmount,
  showCount,
  showState,
  showSum,
  showTime,
} from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

const HEIGHT = 60;
const STEP_WIDTH = 4;

/** The growth of an open incident. The mismatches with which it began do not count. */
function sayGrowth({ count, lately, firstAt, lastAt }: Growth, zone: string): string {
  if (firstAt === null || lastAt === null) return "It has not grown since it began.";
  if (lately > 0) {
    const span = showDuration(LATELY_MS);
    return `It is growing: ${showCount(lately)} came in the last ${span}, the newest at ${sayTime(lastAt, zone)}.`;
  }
  const [first, last] = [sayTime(firstAt, zone), sayTime(lastAt, zone)];
  const when = first === last ? `at ${first}` : `between ${first} and ${last}`;
  return `It is not growing: ${showCount(count)} came ${when}; none since.`;
}

function renderTrend({ from, to, counts }: IncidentStory["trend"], zone: string): SafeHtml {
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

interface Reader {
  /** whether the visitor may change anything */
  readonly mayAct: boolean;
  /** the name of the visitor */
  readonly me: string;
  /** no channel is set, as far as this server knows */
  readonly hasNoChannel: boolean;
  readonly zone: string;
  readonly now: Instant;
  /** the typed text of a refused comment, and what was wrong; null: none was refused */
  readonly comment: string | null;
  /** of a refused change of owner, ticket or reminder; null: none was refused */
  readonly typedCase: TypedCase | null;
  readonly problem: Problem | null;
}

export function renderIncident(story: IncidentStory, reader: Reader): SafeHtml {
  const { id, kind, productId, backfillId, total, amounts, beganAt, endedAt } = story.incident;
  const { zone, now, mayAct, comment: typed, problem, me, typedCase } = reader;
  const of = describeIncident(story.incident);
  const actionOf = (what: string) => `/incidents/${id}/${what}`;
  const parts = countParts(countHere(story));
  const by =
    backfillId === 0 ? null : html` Found by <a href="/backfills/${backfillId}">backfill ${backfillId}</a>.`;
  const state =
    endedAt === null
      ? html`${sayStand(story.incident)}, ${sayAmounts(amounts)} at risk. ${sayGrowth(story.growth, zone)}`
      : html`Over since ${showTime(endedAt, zone)}: none of ${sayCount(total)} is open any more. ${sayPastRisk(story)}`;
  const since = html`Since ${showTime(beganAt, zone)} ${showAgo(beganAt, now, zone)}, ${MEANING_OF_KIND[kind]}.`;
  const was = html`It began ${showTime(beganAt, zone)} ${showAgo(beganAt, now, zone)}. <code>${kind}</code> means: ${MEANING_OF_KIND[kind]}.`;
  return html`<p class="trail"><a href="/incidents">Incidents</a> <span aria-hidden="true">›</span> ${id}</p>
<h1>${kind} in ${productId} <span class="faint">incident #${id}</span></h1>
<section class="sheet" aria-label="What it is"><p class="reason">${endedAt === null ? since : was}${by}</p>
<p>${state}</p>
${endedAt === null ? html`<p class="faint">${adviceOfSome(kind, story.incident.open, story.largest)}</p>` : null}
${parts > 1 ? renderEvidenceParts(String(id), parts) : renderEvidenceLinks({ incident: String(id) })}</section>
<div${reader.mayAct ? html` class="beside"` : null}>
<section class="sheet" aria-labelledby="sums"><h2 id="sums">Mismatches and money</h2>
${renderSums(story)}
<p><a href="/mismatches?incident=${id}&amp;status=${MISMATCH_STATUSES.join(",")}">See all of them</a></p></section>
${reader.mayAct ? renderDecision(story) : null}
</div>
${renderCase({ actionOf, of, mayAct, me, typed: typedCase, problem, zone, now })}
${renderComments({ action: `/incidents/${id}/comments`, comments: story.comments, mayAct, typed, problem, zone })}
${renderTrend(story.trend, zone)}
${renderLargest(story, zone)}
${renderNotifications(story, reader)}`;
}

/** The number of mismatches that it has now. */
function countHere({ sums }: IncidentStory): number {
  return sums.reduce((sum, { count }) => sum + count, 0);
}

/** Mismatches that came back after the end count in a newer incident, and so does their money. */
function sayPastRisk(story: IncidentStory): string {
  const { total, amounts } = story.incident;
  const here = countHere(story);
  const said = sayAmounts(amounts);
  const risk = said === "no money" ? "No money was at risk" : `The money at risk was ${said}`;
  if (here >= total) return `${risk}.`;
  const gone = `${showCount(total - here)} of its mismatches came back later and count in a newer incident, or were deleted`;
  return here === 0 ? `${gone}.` : `${gone}. ${risk} in the other ${showCount(here)}.`;
}

/** "14 mismatches: 12 open, 1 acknowledged, 1 decided". */
function sayStand({ open, acknowledged, total }: IncidentStory["incident"]): SafeHtml {
  const parts = [
    { count: open - acknowledged, state: "open" },
    { count: acknowledged, state: "acknowledged" },
    { count: total - open, state: "decided" },
  ].filter(({ count }) => count > 0);
  const [first] = parts;
  const said = parts.map(({ count, state }) => `${showCount(count)} ${state}`).join(", ");
  const all = total === 1 ? first?.state : `all ${first?.state}`;
  return html`<strong>${sayCount(total)}</strong>${parts.length === 1 ? ` (${all})` : `: ${said}`}`;
}

const SUM_COLUMNS: readonly Column[] = [
  { name: "Status" },
  { name: "Mismatches", as: "number" },
  { name: "At risk", as: "number" },
];

/** Nothing is at risk any more once an incident is over. */
function inThePast(column: Column): Column {
  return column.name === "At risk" ? { ...column, name: "Was at risk" } : column;
}

function renderSums({ incident, sums }: IncidentStory): SafeHtml {
  const rows = sums.map(({ status, count, amount, currency }) => ({
    cells: [
      html`<a href="/mismatches?incident=${incident.id}&amp;status=${status}">${showState(status)}</a> <span class="faint">${currency ?? "without a currency"}</span>`,
      showCount(count),
      showSum(amount, currency),
    ],
  }));
  const columns = incident.endedAt === null ? SUM_COLUMNS : SUM_COLUMNS.map(inThePast);
  return renderTable({ name: "Mismatches by status and currency", columns, rows });
}

/** The next page shows how many mismatches and how much money it is about, and asks once more. */
function renderDecision({ incident: { id }, sums }: IncidentStory): SafeHtml {
  const statuses = [...new Set(sums.map(({ status }) => status))];
  const actions = actionsFor(statuses);
  const status = statuses.join(",");
  return html`<section class="sheet" aria-labelledby="act-head"><h2 id="act-head">Decide on the whole incident</h2>
<form method="post" action="/mismatches?incident=${id}&amp;status=${status}" id="act">
<input type="hidden" name="scope" value="all"><input type="hidden" name="back" value="/incidents/${id}">
<div class="field note"><label class="note">Note <textarea name="note" rows="3" maxlength="2000" required></textarea></label></div>
<p class="faint">The next page shows the number of mismatches and their money, and asks for confirmation.</p>
<p class="row">${renderActionButtons(actions)}</p>
</form></section>`;
}

const LARGEST_COLUMNS: readonly Column[] = [
  { name: "Mismatch" },
  { name: "Player", as: "text" },
  { name: "At risk", as: "number" },
  { name: "Reason", as: "text", of: "long" },
];

function renderLargest({ incident, largest }: IncidentStory, zone: string): SafeHtml | null {
  if (largest.length === 0) return null;
  // From one of them, keys lead through all of them in this order.
  const statuses = incident.endedAt === null ? {} : { status: MISMATCH_STATUSES.join(",") };
  const walk = String(new URLSearchParams({ incident: String(incident.id), ...statuses, sort: "at-risk" }));
  const rows = largest.map(({ id, username, amountAtRisk, currency, reason }) => ({
    cells: [
      html`<a href="/mismatches/${id}?${walk}">#${id}</a>`,
      username,
      showAmount(amountAtRisk, currency),
      sayWords(reason, zone),
    ],
  }));
  return html`<section class="sheet" aria-labelledby="largest"><h2 id="largest">The largest mismatches</h2>
${renderTable({ name: "The largest mismatches", columns: incident.endedAt === null ? LARGEST_COLUMNS : LARGEST_COLUMNS.map(inThePast), rows })}</section>`;
}

const NEWS: Readonly<Record<string, string>> = {
  "incident-opened": "new",
  "incident-grown": "growing",
  "incident-over": "over",
};

const NOTIFICATION_COLUMNS: readonly Column[] = [
  { name: "Written" },
  { name: "Alert" },
  { name: "What it said", as: "text", of: "long" },
  { name: "Channel" },
  { name: "Delivered", as: "text" },
];

/** Between two alerts an incident may grow almost tenfold. */
function sayUnreported({ incident, notifications }: IncidentStory, zone: string): SafeHtml | null {
  const last = notifications.at(-1);
  if (last === undefined || incident.endedAt !== null || incident.total <= last.count) return null;
  return html`<p>The last alert, written ${showTime(last.at, zone)}, reported ${showCount(last.count)}; now there are ${sayCount(incident.total)}. The next one is sent when the incident has grown tenfold since.</p>`;
}

function renderNotifications(story: IncidentStory, { zone, hasNoChannel }: Reader): SafeHtml {
  const { notifications } = story;
  const rows = notifications.map(({ alertId, kind, what, at, channel, attempts, deliveredAt, lastError }) => {
    const tries = `${showCount(attempts)} ${attempts === 1 ? "attempt" : "attempts"}`;
    const unsent = hasNoChannel ? "not sent: no channel is set" : "not sent yet";
    const waits = lastError === null ? `waits, ${tries}` : `waits, ${tries}: ${lastError}`;
    return {
      cells: [
        showTime(at, zone),
        html`<a href="/alerts/${alertId}">${NEWS[kind] ?? kind}</a>`,
        sayWords(what, zone),
        channel ?? html`<span class="none">–</span>`,
        deliveredAt === null
          ? channel === null
            ? unsent
            : waits
          : html`${showTime(deliveredAt, zone)} <span class="faint">${tries}</span>`,
      ],
    };
  });
  const none = "No alert was sent: its money has not reached alerts.minAmount.";
  return html`<section class="sheet" aria-labelledby="notified"><h2 id="notified">Who was notified</h2>
${rows.length === 0 ? html`<p class="faint">${none}</p>` : renderTable({ name: "Alerts of this incident", columns: NOTIFICATION_COLUMNS, rows })}
${sayUnreported(story, zone)}</section>`;
}
