/** `GET /search?q`: what an id belongs to, and whether both sides agree about that bet. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { FlowContext } from "../../../flows/context.ts";
import { search } from "../../../flows/read/search.ts";
import type { LiveTopic } from "../../http/layout.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { FILTER, read } from "../../input/fields.ts";
import { type Problem, problemOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderSearch } from "./render-search.ts";

type SearchRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;

/** No stored id is longer. */
const LONGEST = 700;
const QUERY = z.strictObject({ q: FILTER.max(LONGEST).trim().default("") });

const EMPTY = "q is empty: type the id of a bet, a round, a transfer or a request, or a player";
const NOTHING_TYPED: Problem = { text: EMPTY, fields: [{ name: "q", message: EMPTY }] };

export function addSearchPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/search", async (request: SearchRequest, reply) => {
    const shared = { title: "Search", path: "/search", notice: takeNotice(request, reply) };
    const zone = zoneOf(request);
    try {
      const { q } = read(QUERY, request.query);
      const found = q === "" ? null : await search(context, q.toWellFormed());
      const problem = q === "" && request.query["q"] !== undefined ? NOTHING_TYPED : null;
      const main = renderSearch({ q, found, problem, at: context.clock.now() }, zone);
      // A search without an index reads too much to be repeated by every open page.
      const live: readonly LiveTopic[] = found?.isCheap === true ? ["pull", "mismatches", "transfers"] : [];
      return await sendPage(request, reply, { ...shared, main, live });
    } catch (error) {
      if (statusOfRefusal(error) !== 400) throw error;
      const q = typeof request.query["q"] === "string" ? request.query["q"] : "";
      const main = renderSearch({ q, found: null, problem: problemOf(error), at: context.clock.now() }, zone);
      return await sendPage(request, reply.code(400), { ...shared, main });
    }
  });
}
