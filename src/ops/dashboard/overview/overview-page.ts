/** `GET /`: whether all is well, at a glance. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { openOverview } from "../../../flows/read/read-overview.ts";
import { renderPage } from "../../http/layout.ts";
import { takeNotice } from "../parts/notice.ts";
import { renderOverview } from "./render-overview.ts";

export function addOverviewPage(pages: FastifyInstance, context: FlowContext): void {
  const readOverview = openOverview(context);
  pages.get("/", async (request, reply) => {
    const page = renderPage({
      title: "Overview",
      visitor: request.asker,
      path: "/",
      main: renderOverview(await readOverview()),
      notice: takeNotice(request, reply),
      live: ["pull", "mismatches", "transfers", "backfills", "alerts"],
    });
    return await reply.type("text/html; charset=utf-8").send(page);
  });
}
