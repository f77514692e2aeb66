/** The dashboard: pages that the server makes and the browser refreshes. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import type { ReportQueue } from "../http/report-queue.ts";
import { addBackfillsPage } from "./backfills/backfills-page.ts";
import { addChanges } from "./changes/changes.ts";
import { addCoveragePage } from "./coverage/coverage-page.ts";
import { addIncidentsPage } from "./incidents/incidents-page.ts";
import { addMismatchPage } from "./mismatches/mismatch-page.ts";
import { addMismatchesPage } from "./mismatches/mismatches-page.ts";
import type { GuideStep } from "./overview/guide.ts";
import { addOverviewPage } from "./overview/overview-page.ts";
import { addRejectedPage } from "./rejected/rejected-page.ts";
import { addReportPage } from "./report/report-page.ts";
import { addSearchPage } from "./search/search-page.ts";
import { addTimeZonePage } from "./time-zone/time-zone-page.ts";
import { addTransfersPage } from "./transfers/transfers-page.ts";
import { addTrendsPage } from "./trends/trends-page.ts";

/**
 * Adds the pages.
 * @param pages a scope with access rules: its requests have an asker (`request.asker`), and changes have the right to
 * write
 * @param guide what a newcomer may look at first; empty: the overview shows no guide
 */
export function addDashboard(
  pages: FastifyInstance,
  context: FlowContext,
  reports: ReportQueue,
  guide: readonly GuideStep[] = [],
): void {
  addChanges(pages, context);
  addOverviewPage(pages, context, guide);
  addIncidentsPage(pages, context);
  addMismatchesPage(pages, context);
  addMismatchPage(pages, context);
  addCoveragePage(pages, context);
  addBackfillsPage(pages, context);
  addReportPage(pages, context, reports);
  addTransfersPage(pages, context);
  addRejectedPage(pages, context);
  addSearchPage(pages, context);
  addTrendsPage(pages, context);
  addTimeZonePage(pages);
}
