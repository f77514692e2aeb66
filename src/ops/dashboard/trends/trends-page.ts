/** `GET /trends`: what has changed over the last day, week or month, or a range, of one product or of all. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { type Instant, showDuration } from "../../../clock.ts";
import { sayShare } from "../../../closing/confirmed-days.ts";
import { CONFIRMED_WITHIN, type ConfirmedWithin } from "../../../confirmed.ts";
import type { FlowContext } from "../../../flows/context.ts";
import {
  LONGEST_RANGE_MS,
  type MonthlyShares,
  openTrends,
  readMonthlyShares,
  SPANS,
  type Span,
  type Trends,
} from "../../../flows/trends/read-trends.ts";
import type { TimeRange } from "../../../window.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { FILTER, orNull, read, timeIn, usage } from "../../input/fields.ts";
import { checkOrder } from "../../input/range-query.ts";
import { type Problem, problemOf, typedFields } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayTime, showAmount } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { renderTrends, TRENDS_FIELDS } from "./render-trends.ts";

/** The months whose shares are shown. */
const MOST_MONTHS = 12;

type TrendsRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;

const QUERY = z.strictObject({
  span: z.enum(SPANS, `must be one of ${SPANS.join(", ")}`).default("day"),
  product: orNull(FILTER),
  from: orNull(timeIn(FILTER)),
  to: orNull(timeIn(FILTER)),
});

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
      const asked = readAsked(request.query, products, now);
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

interface AskedTrends {
  readonly product: string | null;
  readonly time: Span | TimeRange;
}

/** @throws ReconError `usage` that names the field and its value */
function readAsked(
  query: Readonly<Record<string, unknown>>,
  products: readonly string[],
  now: Instant,
): AskedTrends {
  const { span, product, from, to } = read(QUERY, query);
  if (product !== null && !products.includes(product))
    throw usage(`there is no product "${product.slice(0, 60)}"; choose one of the list`, "product");
  if (from === null && to === null) return { product, time: span };
  const said = (name: "from" | "to") => `${name} "${query[name]}"`;
  if (from === null) throw usage(`from is missing: ${said("to")} needs it`, "from");
  if (to === null) throw usage(`to is missing: ${said("from")} needs it`, "to");
  checkOrder(query, { from, to });
  if (from >= now) throw usage(`${said("from")} is in the future`, "from");
  if (to - from > LONGEST_RANGE_MS)
    throw usage(`${said("to")} is more than ${showDuration(LONGEST_RANGE_MS)} after ${said("from")}`, "to");
  return { product, time: { from, to } };
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
