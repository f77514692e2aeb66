/** `GET /trends`: what has changed over the last day, week or month, or a range, of one product or of all. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Instant } from "../../../clock.ts";
import { sayShare } from "../../../closing/confirmed-days.ts";
import { CONFIRMED_WITHIN, type ConfirmedWithin } from "../../../confirmed.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  MOST_MONTHS,
  type MonthlyShares,
  openTrends,
  readMonthlyShares,
  type Trends,
} from "../../../flows/trends/trends.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { readTrendQuery } from "../../input/range-query.ts";
import { type Problem, problemOf, typedFields } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayTime, showAmount } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { renderTrends, TRENDS_FIELDS } from "./render-trends.ts";

type TrendsRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;

export function addTrendsPage(pages: FastifyInstance, context: FlowContext): void {
  const readTrends = openTrends(context);
  pages.get("/trends", async (request: TrendsRequest, reply) => {
    const zone = zoneOf(request);
    const tidy = tidyQuery(withoutRange(request.query), ["from", "to"], zone);
    if (tidy !== null) return await reply.redirect(`/trends?${new URLSearchParams(tidy)}`, 303);
    const products = context.config.products.map(({ productId }) => productId);
    const typed = typedFields(request.query, TRENDS_FIELDS);
    const now = context.clock.now();
    let trends: Trends | null = null;
    let months: readonly MonthlyShares[] = [];
    let problem: Problem | null = null;
    try {
      const asked = readTrendQuery(request.query, products, now);
      trends = await readTrends(asked.product, asked.time);
      months = await readMonthlyShares(context.sql, now, MOST_MONTHS, asked.product);
    } catch (error) {
      if (statusOfRefusal(error) !== 400) throw error;
      problem = problemOf(error);
    }
    return await sendPage(request, reply.code(problem === null ? 200 : 400), {
      title: "Trends",
      path: "/trends",
      main: html`${renderTrends({ products, typed, problem, now }, trends, zone)}
${trends === null ? null : renderConfirmed(months, now, zone)}`,
      notice: takeNotice(request, reply),
      live: problem === null ? ["pull", "mismatches", "closed"] : [],
    });
  });
}

/** A span that is chosen replaces the range that was shown: the form sends both. Its address has an empty range. */
function withoutRange(query: TrendsRequest["query"]): TrendsRequest["query"] {
  if (typeof query["span"] !== "string" || query["span"].trim() === "") return query;
  const { from, to, ...rest } = query;
  return { ...rest, ...(from === undefined ? {} : { from: "" }), ...(to === undefined ? {} : { to: "" }) };
}

const COLUMNS: readonly Column[] = [
  { name: "month", as: "head" },
  { name: "product", as: "text" },
  { name: "stake", as: "number" },
  { name: "within an hour", as: "number" },
  { name: "within a day", as: "number" },
  { name: "within a week", as: "number" },
];

/** @param months the newest first */
function renderConfirmed(months: readonly MonthlyShares[], now: Instant, zone: string): SafeHtml {
  const rows = months.map((one) => ({
    cells: [
      html`<a href="/report?month=${one.month}">${one.month}</a>`,
      one.productId,
      showAmount(one.stake, one.currency),
      sayOrWhen(one, "hour", one.withinHour),
      sayOrWhen(one, "day", one.withinDay),
      sayOrWhen(one, "week", one.withinWeek),
    ],
  }));
  const body =
    rows.length === 0
      ? html`<p>No day with a bet is closed yet.</p>`
      : renderTable({ name: "Confirmed by both sides", columns: COLUMNS, rows });
  return html`<section class="sheet" aria-labelledby="confirmed"><h2 id="confirmed">Money that both sides confirmed</h2>
<p>The share of the provider's stake of the closed days for which the record and all callbacks were there and agreed within an hour, a day and a week of the bet.</p>
${body}</section>`;

  function sayOrWhen(
    { to, isWhole }: MonthlyShares,
    within: ConfirmedWithin,
    share: string | null,
  ): SafeHtml | string {
    const knownAt = to + CONFIRMED_WITHIN[within];
    if (share !== null || !isWhole || knownAt <= now) return sayShare(share);
    return html`unknown <span class="faint">until ${sayTime(knownAt, zone).slice(0, 16)}</span>`;
  }
}
