/** Draws the overview: the verdict in one line, waiting work, and a row for each product. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { showBytes } from "../../../bytes.ts";
import type { Instant } from "../../../clock.ts";
import type { IncidentWithMoney } from "../../../flows/read/read-incident.ts";
import type { Overview } from "../../../flows/read/read-overview.ts";
import { isFullSoon, largeTables, sayAllDue, sayDisk, sayDue, sayGrowth } from "../../../storage.ts";
import { renderLegend, renderPatterns } from "../coverage/render-coverage-strip.ts";
import { renderIncidentTable } from "../incidents/render-incidents.ts";
import { sayWords, showAge, showCount, showSum } from "../parts/show.ts";
import { type HealthVerdict, judgeHealth, TONE_OF_STATE, TONES, type Tone } from "./health-verdict.ts";
import { renderProduct } from "./render-product.ts";
import { addUpRisk } from "./risk.ts";

const SIGN_OF_TONE: Readonly<Record<Tone, string>> = { bad: "✕", warn: "!", unknown: "…", good: "✓" };

/** The largest open incidents, and the number of all open ones. */
interface OpenIncidents {
  readonly incidents: readonly IncidentWithMoney[];
  readonly count: number;
}

/** @param guide null: there is none */
export function renderOverview(
  overview: Overview,
  open: OpenIncidents,
  guide: SafeHtml | null,
  zone: string,
): SafeHtml {
  return html`<h1>Overview</h1>
${renderVerdict(judgeHealth(overview), zone)}
${guide}
${renderIncidents(open, { now: overview.now, zone })}
${renderPatterns()}
${renderWaiting(overview, zone)}
<section aria-labelledby="products">
<div class="row between"><h2 id="products">Products</h2>${renderLegend()}</div>
<ul class="products">${renderProducts(overview, zone)}</ul>
<p class="faint">Windows: the longest fetched window of each quarter of an hour. The dashed line is the longest window now, which is shorter where the provider was too slow. Records: the number of records per minute.</p>
</section>
${renderTables(overview)}`;
}

function renderVerdict({ tone, findings }: HealthVerdict, zone: string): SafeHtml {
  const clauses = findings.map(({ text, href, tone: own }, index) => {
    const words = sayWords(text, zone);
    const said = index === 0 ? words.charAt(0).toUpperCase() + words.slice(1) : words;
    const clause = href === null ? html`${said}` : html`<a href="${href}">${said}</a>`;
    const isLast = index === findings.length - 1;
    return html`<span data-tone="${own}">${clause}</span>${isLast ? "." : "; "}`;
  });
  return html`<div class="verdict" data-state="${tone}"><span aria-hidden="true">${SIGN_OF_TONE[tone]}</span><p>${clauses}</p></div>`;
}

function renderIncidents(
  { incidents, count }: OpenIncidents,
  when: { readonly now: Instant; readonly zone: string },
): SafeHtml | null {
  if (count === 0) return null;
  const more = count - incidents.length;
  const name = count === 1 ? "1 open incident" : `${showCount(count)} open incidents`;
  return html`<section class="sheet" aria-labelledby="incidents"><h2 id="incidents">${name}</h2>
${renderIncidentTable(incidents, "Those with the most open mismatches first", when)}
${more > 0 ? html`<p><a href="/incidents">${showCount(more)} more</a></p>` : null}</section>`;
}

/** Worst first: with fifty products nobody reads them all. */
function renderProducts({ products, now }: Overview, zone: string): SafeHtml[] {
  return products
    .map((product, index) => ({ product, index, rank: TONES.indexOf(TONE_OF_STATE[product.state]) }))
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .map(({ product, index }) => renderProduct(product, index, { now, zone }));
}

function renderWaiting(overview: Overview, zone: string): SafeHtml {
  const { now, lastReceivedAt, undelivered, failingChannels } = overview;
  return html`<dl class="tiles">
<div class="sheet money"><dt>Money at risk</dt>${renderMoney(overview)}</div>
<div class="sheet"><dt>Transfers waiting</dt>${renderTransfers(overview)}</div>
<div class="sheet"><dt>Alerts undelivered</dt>
<dd class="much">${showCount(undelivered)}</dd>${failingChannels.length === 0 ? null : html`<dd class="bad">${failingChannels.join(", ")} does not accept alerts</dd>`}</div>
<div class="sheet"><dt>Newest ledger entry</dt>
<dd class="much">${lastReceivedAt === null ? "none yet" : showAge(lastReceivedAt, now, zone)}</dd></div>
<div class="sheet"><dt>Rejected</dt>${renderRejectedCounts(overview)}</div>
<div class="sheet"><dt>Backfills</dt>${renderBackfills(overview)}</div>
<div class="sheet"><dt>Last done</dt>${renderAges(overview, zone)}</div>
<div class="sheet"><dt>Database</dt>${renderStorage(overview)}</div>
</dl>`;
}

function renderMoney({ risk }: Overview): SafeHtml {
  const { count, amounts } = addUpRisk(risk);
  const lines = amounts.map(
    ({ currency, amount }) => html`<dd class="much">${showSum(amount, currency)}</dd>`,
  );
  const of = count === 1 ? "1 mismatch" : `${showCount(count)} mismatches`;
  return html`${lines.length === 0 ? html`<dd class="much">none</dd>` : lines}
<dd>${count === 0 ? html`<span class="faint">no mismatch</span>` : html`<a href="/mismatches">${of}</a>`}</dd>`;
}

function renderTransfers({ waiting }: Overview): SafeHtml {
  if (waiting.length === 0) return html`<dd class="much">0</dd>`;
  const lines = waiting.map(({ kind, status, count }) => {
    const link = `/transfers?${new URLSearchParams({ kind, status })}`;
    return html`<dd><a href="${link}"><b>${showCount(count)}</b> ${kind === "transfer" ? "" : `${kind}s `}${status}</a></dd>`;
  });
  return html`${lines}`;
}

function renderRejectedCounts({ rejected: { records, entries, hasMore } }: Overview): SafeHtml {
  if (records + entries === 0) return html`<dd class="much">none</dd>`;
  const line = (side: string, name: string, count: string) =>
    html`<dd><a href="/rejected?side=${side}"><b>${count}</b> ${name}</a></dd>`;
  return html`${records === 0 ? null : line("record", records === 1 ? "record" : "records", showCount(records))}
${entries === 0 ? null : line("entry", entries === 1 ? "entry" : "entries", `${hasMore ? "over " : ""}${showCount(entries)}`)}`;
}

/** The age of each kind of work. */
function renderAges({ now, work, products }: Overview, zone: string): SafeHtml {
  const { comparing, following, verifying, alerting } = work;
  const isCompared = products.some(({ state }) => state !== "transfers-only");
  const age = (what: string, at: Instant | null) =>
    html`<dd>${what} <b>${at === null ? "never yet" : showAge(at, now, zone)}</b></dd>`;
  return html`${isCompared ? age("compared", comparing.upTo) : null}
${following === null ? null : age("ledger read", following.readAt)}
${age("verified", verifying.behindMs === null ? null : now - verifying.behindMs)}
${age("checked for alerts", alerting.doneAt)}`;
}

function renderStorage({ storage }: Overview): SafeHtml {
  if (storage === null)
    return html`<dd class="much">unknown</dd><dd class="faint">no worker has measured yet</dd>`;
  return html`<dd class="much">${showBytes(storage.bytes)}</dd>
<dd>${sayGrowth(storage)}</dd>
<dd class="${isFullSoon(storage) ? "bad" : "faint"}">${sayDisk(storage)}</dd>
<dd class="faint">${sayAllDue(storage)}</dd>`;
}

function renderTables({ storage }: Overview): SafeHtml | null {
  if (storage === null) return null;
  const { large, otherBytes } = largeTables(storage);
  const rows = [...large, { table: "all others", bytes: otherBytes, due: null }].map(
    ({ table, bytes, due }) =>
      html`<tr><td>${table}</td><td class="number">${showBytes(bytes)}</td><td class="number">${due === null ? "–" : sayDue(due)}</td></tr>`,
  );
  return html`<section aria-labelledby="tables"><h2 id="tables">Tables</h2>
<table><thead><tr><th scope="col">table</th><th scope="col" class="number">size with indexes</th><th scope="col" class="number">due for deletion</th></tr></thead><tbody>${rows}</tbody></table>
</section>`;
}

function renderBackfills({ backfills }: Overview): SafeHtml {
  if (backfills.length === 0) return html`<dd class="much">none</dd>`;
  const counts = [...Map.groupBy(backfills, ({ status }) => status)].map(
    ([status, some]) => html`<dd><a href="/backfills"><b>${showCount(some.length)}</b> ${status}</a></dd>`,
  );
  return html`${counts}`;
}
