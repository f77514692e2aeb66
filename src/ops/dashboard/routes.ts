/** The dashboard: pages that the server makes and the browser refreshes. */

import type { FastifyInstance } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import type { ReportQueue } from "../http/report-queue.ts";
import type { ImportSeats } from "../http/sent-lines.ts";
import { addAlertsPage } from "./alerts/alerts-page.ts";
import { addBackfillsPage } from "./backfills/backfills-page.ts";
import { addChanges } from "./changes/changes.ts";
import { addCoveragePage } from "./coverage/coverage-page.ts";
import { addHealthPage } from "./health/health-page.ts";
import { addImportsPage } from "./imports/imports-page.ts";
import { addIncidentsPage } from "./incidents/incidents-page.ts";
import { addMismatchPage } from "./mismatches/mismatch-page.ts";
import { addMismatchesPage } from "./mismatches/mismatches-page.ts";
import type { GuideStep } from "./overview/guide.ts";
import { addOverviewPage } from "./overview/overview-page.ts";
import type { OwnWorker } from "./parts/own-worker.ts";
import { addRejectedPage } from "./rejected/rejected-page.ts";
import { addAgainstPage } from "./report/against-page.ts";
import { addClosingPage } from "./report/closing-page.ts";
import { addInvoicePage } from "./report/invoice-page.ts";
import { addItemsPage } from "./report/items-page.ts";
import { addReportPage } from "./report/report-page.ts";
import { addSearchPage } from "./search/search-page.ts";
import { addTimeZonePage } from "./time-zone/time-zone-page.ts";
import { addTransfersPage } from "./transfers/transfers-page.ts";
import { addTrendsPage } from "./trends/trends-page.ts";

/** What the pages need beside the database. */
export interface DashboardParts {
  readonly reports: ReportQueue;
  readonly imports: ImportSeats;
  /** null: the server runs without a worker */
  readonly worker: OwnWorker | null;
  /** whether there is a page at /queues */
  readonly hasBoard: boolean;
  /** what a newcomer may look at first; empty: the overview shows no guide */
  readonly guide: readonly GuideStep[];
}

/**
 * Adds the pages.
 * @param pages a scope with access rules: its requests have an asker (`request.asker`), and changes have the role
 * that they need
 */
export function addDashboard(
  pages: FastifyInstance,
  context: FlowContext,
  { reports, imports, worker, hasBoard, guide }: DashboardParts,
): void {
  addChanges(pages, context);
  addOverviewPage(pages, context, guide);
  addIncidentsPage(pages, context, worker);
  addMismatchesPage(pages, context);
  addMismatchPage(pages, context);
  addCoveragePage(pages, context);
  addBackfillsPage(pages, context);
  addReportPage(pages, context, reports);
  addItemsPage(pages, context, reports);
  addAgainstPage(pages, context, reports);
  addClosingPage(pages, context, reports);
  addInvoicePage(pages, context);
  addTransfersPage(pages, context);
  addAlertsPage(pages, context, worker);
  addImportsPage(pages, context, imports);
  addHealthPage(pages, context, worker, hasBoard);
  addRejectedPage(pages, context);
  addSearchPage(pages, context);
  addTrendsPage(pages, context);
  addTimeZonePage(pages);
}
