/** `GET /`: whether all is well, at a glance. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { readOpenIncidents } from "../../../flows/read/read-incident.ts";
import { openOverview } from "../../../flows/read/read-overview.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderOverview } from "./render-overview.ts";

/** The overview shows the largest; a link leads to the others. */
const MOST_INCIDENTS = 5;

export function addOverviewPage(pages: FastifyInstance, context: FlowContext): void {
  const readOverview = openOverview(context);
  pages.get("/", async (request, reply) => {
    const [overview, incidents] = await Promise.all([
      readOverview(),
      readOpenIncidents(context, MOST_INCIDENTS),
    ]);
    return await sendPage(request, reply, {
      title: "Overview",
      path: "/",
      main: renderOverview(overview, incidents, zoneOf(request)),
      notice: takeNotice(request, reply),
      live: ["pull", "mismatches", "transfers", "backfills", "alerts"],
    });
  });
}
