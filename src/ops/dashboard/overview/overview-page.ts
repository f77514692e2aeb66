/** `GET /`: whether all is well, at a glance. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { readOpenIncidents } from "../../../flows/read/read-incident.ts";
import { openOverview } from "../../../flows/read/read-overview.ts";
import { openTrends } from "../../../flows/trends/read-trends.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderDay } from "../trends/render-trends.ts";
import { addCloseGuide, type GuideStep, renderGuide } from "./guide.ts";
import { renderOverview } from "./render-overview.ts";

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
