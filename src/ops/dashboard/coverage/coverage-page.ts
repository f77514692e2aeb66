/** `GET /coverage?product&from&to`: the fetched time of a product, and the missing time. */

import type { FastifyInstance } from "fastify";
import { formatInstant } from "../../../clock.ts";
import { ReconError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { type Coverage, readCoverageOf } from "../../../flows/read/read-coverage.ts";
import { readProductRange } from "../../input/range-query.ts";
import { typedRangeOf } from "../parts/fields.ts";
import { renderPage } from "../../http/layout.ts";
import { takeNotice } from "../parts/notice.ts";
import { type CoverageForm, renderCoverage } from "./render-coverage.ts";

const HOUR_MS = 3_600_000;

type QueryFields = Readonly<Record<string, unknown>>;

export function addCoveragePage(pages: FastifyInstance, context: FlowContext): void {
  pages.get<{ Querystring: QueryFields }>("/coverage", async (request, reply) => {
    const query = Object.keys(request.query).length === 0 ? lastHour(context) : request.query;
    const seen = await readCoveragePage(context, query);
    const form: CoverageForm = {
      products: context.config.products
        .filter(({ walletMode }) => walletMode === "seamless")
        .map(({ productId }) => productId),
      typed: typedRangeOf(query),
      problem: seen.problem,
    };
    const page = renderPage({
      title: "Coverage",
      visitor: request.asker,
      path: "/coverage",
      main: renderCoverage(form, seen.coverage, request.asker.role === "write"),
      notice: takeNotice(request, reply),
      live: ["pull", "backfills"],
    });
    const status = seen.problem === null ? 200 : 400;
    return await reply.code(status).type("text/html; charset=utf-8").send(page);
  });
}

async function readCoveragePage(
  context: FlowContext,
  query: QueryFields,
): Promise<{ readonly coverage: Coverage | null; readonly problem: string | null }> {
  try {
    const asked = readProductRange(query, context.config);
    return { coverage: await readCoverageOf(context, asked), problem: null };
  } catch (error) {
    if (error instanceof ReconError && error.code === "usage") {
      return { coverage: null, problem: error.message };
    }
    throw error;
  }
}

/** The range of a visitor who has not chosen one. */
function lastHour({ config, clock }: FlowContext): QueryFields {
  const now = clock.now();
  const first = config.products.find(({ walletMode }) => walletMode === "seamless");
  return { product: first?.productId ?? "", from: formatInstant(now - HOUR_MS), to: formatInstant(now) };
}
