/** `GET /coverage?product&from&to`: the fetched time of a product, and the missing time. */

import type { FastifyInstance } from "fastify";
import { formatInstant } from "../../../clock.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { readCoverageOf, readWithoutWindows } from "../../../flows/read/read-coverage.ts";
import { readProductRange, withWrongProduct } from "../../input/range-query.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { type Problem, problemOf, typedRangeOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { tidyQuery, zoneOf } from "../parts/zone.ts";
import { type CoverageForm, type FoundCoverage, renderCoverage } from "./render-coverage.ts";

const HOUR_MS = 3_600_000;

type QueryFields = Readonly<Record<string, unknown>>;

export function addCoveragePage(pages: FastifyInstance, context: FlowContext): void {
  pages.get<{ Querystring: QueryFields }>("/coverage", async (request, reply) => {
    const zone = zoneOf(request);
    const tidy = tidyQuery(request.query, ["from", "to"], zone);
    if (tidy !== null) return await reply.redirect(`/coverage?${new URLSearchParams(tidy)}`, 303);
    const query = Object.keys(request.query).length === 0 ? lastHour(context) : request.query;
    const seen = await readCoveragePage(context, query);
    const form: CoverageForm = {
      products: context.config.products
        .filter(({ walletMode }) => walletMode === "seamless")
        .map(({ productId }) => productId),
      typed: typedRangeOf(query),
      problem: seen.problem,
    };
    const { settleDelay, every } = context.config.pull;
    // A pull that takes longer than `pull.every` delays the next one.
    const lateBefore = context.clock.now() - settleDelay - 2 * every;
    const mayWrite = request.asker.role === "write";
    return await sendPage(request, reply.code(seen.problem === null ? 200 : 400), {
      title: "Coverage",
      path: "/coverage",
      main: renderCoverage(form, seen.found, { mayWrite, lateBefore, zone }),
      notice: takeNotice(request, reply),
      live: ["pull", "backfills"],
    });
  });
}

async function readCoveragePage(
  context: FlowContext,
  query: QueryFields,
): Promise<{ readonly found: FoundCoverage | null; readonly problem: Problem | null }> {
  try {
    const asked = readProductRange(query, context.config);
    const coverage = await readCoverageOf(context, asked);
    return { found: { coverage, withoutWindows: await readWithoutWindows(context, asked) }, problem: null };
  } catch (error) {
    if (statusOfRefusal(error) !== 400) throw error;
    return { found: null, problem: problemOf(await withWrongProduct(error, query, context.config)) };
  }
}

/** The range of a visitor who has not chosen one. */
function lastHour({ config, clock }: FlowContext): QueryFields {
  const now = clock.now();
  const first = config.products.find(({ walletMode }) => walletMode === "seamless");
  return { product: first?.productId ?? "", from: formatInstant(now - HOUR_MS), to: formatInstant(now) };
}
