/** `GET /`: whether all is well, at a glance, and each product. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance } from "fastify";
import type { Instant } from "../../../clock.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { type OpenIncidents, readOpenIncidents } from "../../../flows/read/read-incident.ts";
import { type Overview, openOverview } from "../../../flows/read/read-overview.ts";
import { openTrends } from "../../../flows/trends/trends.ts";
import { renderLegend, renderPatterns } from "../coverage/render-coverage-strip.ts";
import { renderIncidentTable } from "../incidents/render-incidents.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayAmounts, sayWords, showCount, showSum } from "../parts/show.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderDay } from "../trends/render-trends.ts";
import { addCloseGuide, type GuideStep, renderGuide } from "./guide.ts";
import {
  addUpRisk,
  type HealthVerdict,
  judgeHealth,
  TONE_OF_STATE,
  TONES,
  type Tone,
} from "./health-verdict.ts";
import { renderProduct } from "./render-product.ts";

/** None of them looks like a button that closes the line. */
const SIGN_OF_TONE: Readonly<Record<Tone, string>> = { bad: "!!", warn: "!", unknown: "…", good: "✓" };

/** @param more the guide of a start without settings (null: there is none), and the trends of a day */
function renderOverview(
  overview: Overview,
  open: OpenIncidents,
  more: { readonly guide: SafeHtml | null; readonly day: SafeHtml },
  zone: string,
): SafeHtml {
  return html`<h1>Overview</h1>
${renderVerdict(judgeHealth(overview), zone)}
${more.guide}
${renderIncidents(open, { now: overview.now, zone })}
${renderPatterns()}
${renderMoneyTiles(overview)}
${more.day}
<section aria-labelledby="products">
<div class="row between"><h2 id="products">Products</h2>${renderLegend()}</div>
<ul class="products">${renderProducts(overview, zone)}</ul>
<p class="faint">Windows: the longest fetched window of each quarter of an hour. The dashed line is the longest window now; it shrinks if the provider is too slow. Records: the number of records per minute.</p>
</section>`;
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
  { incidents, count, others }: OpenIncidents,
  when: { readonly now: Instant; readonly zone: string },
): SafeHtml | null {
  if (count === 0) return null;
  const more = count - incidents.length;
  const name = count === 1 ? "1 open incident" : `${showCount(count)} open incidents`;
  return html`<section class="sheet" aria-labelledby="incidents"><h2 id="incidents">${name}</h2>
${renderIncidentTable(incidents, "Those with the most undecided mismatches first, then the most recently grown", when)}
${more > 0 ? html`<p><a href="/incidents">${showCount(more)} more, ${sayAmounts(others)} at risk</a></p>` : null}</section>`;
}

/** Worst first: with fifty products the rest is not read. */
function renderProducts({ products, findings, now }: Overview, zone: string): SafeHtml[] {
  return products
    .map((product, index) => ({ product, index, rank: TONES.indexOf(TONE_OF_STATE[product.state]) }))
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .map(({ product, index }) => {
      const own = findings.filter(({ productId }) => productId === null || productId === product.productId);
      return renderProduct(product, index, own, { now, zone });
    });
}

function renderMoneyTiles(overview: Overview): SafeHtml {
  return html`<dl class="tiles">
<div class="sheet money"><dt>Money at risk</dt>${renderMoney(overview)}</div>
<div class="sheet"><dt>Transfers waiting</dt>${renderTransfers(overview)}</div>
</dl>`;
}

function renderMoney({ risk }: Overview): SafeHtml {
  const { count, amounts } = addUpRisk(risk);
  const lines = amounts.map(
    ({ currency, amount }) => html`<dd class="much">${showSum(amount, currency)}</dd>`,
  );
  const of = count === 1 ? "1 mismatch" : `${showCount(count)} mismatches`;
  return html`${lines.length === 0 ? html`<dd class="much">none</dd>` : lines}
<dd>${count === 0 ? html`<span class="faint">no mismatch</span>` : html`<a href="/mismatches">${of}</a>${sayDecided(risk)}`}</dd>`;
}

/** The same numbers as in the verdict. */
function sayDecided(risk: Overview["risk"]): string | null {
  const countOf = (status: string) => addUpRisk(risk.filter((one) => one.status === status)).count;
  const acknowledged = countOf("acknowledged");
  if (acknowledged === 0) return null;
  return `: ${showCount(countOf("open"))} open, ${showCount(acknowledged)} acknowledged`;
}

function renderTransfers({ waiting }: Overview): SafeHtml {
  if (waiting.length === 0) return html`<dd class="much">0</dd>`;
  const lines = waiting.map(({ kind, status, count }) => {
    const link = `/transfers?${new URLSearchParams({ kind, status })}`;
    return html`<dd><a href="${link}"><b>${showCount(count)}</b> ${kind === "transfer" ? "" : `${kind}s `}${status}</a></dd>`;
  });
  return html`${lines}`;
}

/** The overview shows some; a link says how much the others are about. */
const MOST_INCIDENTS = 5;

/** @param guide of a start without settings; otherwise empty */
export function addOverviewPage(
  pages: FastifyInstance,
  context: FlowContext,
  guide: readonly GuideStep[],
): void {
  addCloseGuide(pages);
  const readOverview = openOverview(context);
  const readTrends = openTrends(context);
  pages.get("/", async (request, reply) => {
    const zone = zoneOf(request);
    const [overview, incidents, trends] = await Promise.all([
      readOverview(),
      readOpenIncidents(context, MOST_INCIDENTS),
      readTrends(null, "day"),
    ]);
    return await sendPage(request, reply, {
      title: "Overview",
      path: "/",
      main: renderOverview(
        overview,
        incidents,
        { guide: renderGuide(request, guide), day: renderDay(trends, zone) },
        zone,
      ),
      notice: takeNotice(request, reply),
      live: ["pull", "mismatches", "transfers", "backfills", "alerts"],
    });
  });
}
