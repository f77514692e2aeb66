/** `GET /`: whether all is well, at a glance. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { readOpenIncidents } from "../../../flows/read/read-incident.ts";
import { openOverview } from "../../../flows/read/read-overview.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { addCloseGuide, type GuideStep, renderGuide } from "./guide.ts";
import { renderOverview } from "./render-overview.ts";

/** The overview shows the largest; a link leads to the others. */
const MOST_INCIDENTS = 5;

/** @param guide of a start without settings; otherwise empty */
export function addOverviewPage(
  pages: FastifyInstance,
  context: FlowContext,
  guide: readonly GuideStep[],
): void {
  addCloseGuide(pages);
  const readOverview = openOverview(context);
  pages.get("/", async (request, reply) => {
    const [overview, incidents] = await Promise.all([
      readOverview(),
      readOpenIncidents(context, MOST_INCIDENTS),
    ]);
    return await sendPage(request, reply, {
      title: "Overview",
      path: "/",
      main: renderOverview(overview, incidents, renderGuide(request, guide), zoneOf(request)),
      notice: takeNotice(request, reply),
      live: ["pull", "mismatches", "transfers", "backfills", "alerts"],
    });
  });
}
