/** `GET /trends`: what has changed over the last day, week or month, of one product or of all. */

import { html } from "@remix-run/html-template";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { FlowContext } from "../../../flows/context.ts";
import { type MonthlyShares, readMonthlyShares } from "../../../flows/trends/read-confirmed.ts";
import { openTrends, SPANS, type Span, type Trends } from "../../../flows/trends/read-trends.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { FILTER, orNull, read, usage } from "../../input/fields.ts";
import { type Problem, problemOf, typedFields } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { renderConfirmed } from "./render-confirmed.ts";
import { renderTrends } from "./render-trends.ts";

/** The months whose shares are shown. */
const MOST_MONTHS = 12;

type TrendsRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;

const QUERY = z.strictObject({
  span: z.enum(SPANS, `must be one of ${SPANS.join(", ")}`).default("day"),
  product: orNull(FILTER),
});

export function addTrendsPage(pages: FastifyInstance, context: FlowContext): void {
  const readTrends = openTrends(context);
  pages.get("/trends", async (request: TrendsRequest, reply) => {
    const zone = zoneOf(request);
    const tidy = tidyQuery(request.query, [], zone);
    if (tidy !== null) return await reply.redirect(`/trends?${new URLSearchParams(tidy)}`, 303);
    const products = context.config.products.map(({ productId }) => productId);
    const { span, product } = typedFields(request.query, ["span", "product"]);
    const typed = { span: span || "day", product };
    let trends: Trends | null = null;
    let months: readonly MonthlyShares[] = [];
    let problem: Problem | null = null;
    try {
      const asked = readAsked(request.query, products);
      trends = await readTrends(asked.product, asked.span);
      months = await readMonthlyShares(context.sql, context.clock.now(), MOST_MONTHS, asked.product);
    } catch (error) {
      if (statusOfRefusal(error) !== 400) throw error;
      problem = problemOf(error);
    }
    return await sendPage(request, reply.code(problem === null ? 200 : 400), {
      title: "Trends",
      path: "/trends",
      main: html`${renderTrends({ products, typed, problem }, trends, zone)}
${trends === null ? null : renderConfirmed(months, context.clock.now(), zone)}`,
      notice: takeNotice(request, reply),
      live: problem === null ? ["pull", "mismatches", "closed"] : [],
    });
  });
}

function readAsked(
  query: Readonly<Record<string, unknown>>,
  products: readonly string[],
): { readonly span: Span; readonly product: string | null } {
  const asked = read(QUERY, query);
  if (asked.product === null || products.includes(asked.product)) return asked;
  throw usage(`there is no product "${asked.product.slice(0, 60)}"; choose one of the list`, "product");
}
