/** `/report`: the statement of a day or a month, and its CSV. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { DateTime } from "luxon";
import type { DayStatement, MonthReport } from "../../../closed.ts";
import { describeError } from "../../../errors.ts";
import { readMonth } from "../../../flows/closing/read-statement.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { monthAsCsv, reportAsCsv } from "../../csv/report-csv.ts";
import { renderPage } from "../../http/layout.ts";
import { refusalOf } from "../../http/refusals.ts";
import type { ReportQueue } from "../../http/report-queue.ts";
import { readReportAsk } from "../../input/report-query.ts";
import { takeNotice } from "../parts/notice.ts";
import { renderReport } from "./render-report.ts";

type QueryFields = Readonly<Record<string, unknown>>;
type ReportRequest = FastifyRequest<{ Querystring: QueryFields }>;

export function addReportPage(pages: FastifyInstance, context: FlowContext, reports: ReportQueue): void {
  pages.get("/report", async (request: ReportRequest, reply) => {
    const { zone } = context.config.closing;
    const isMonth = request.query["month"] !== undefined;
    const query = isMonth ? request.query : { day: yesterday(context), ...request.query };
    const form = {
      day: textOf(query["day"] ?? yesterday(context)),
      zone: textOf(request.query["zone"] ?? zone),
    };
    let report: DayStatement | MonthReport | null = null;
    let problem: string | null = null;
    let status = 200;
    try {
      const asked = readReportAsk(query, zone);
      report = "month" in asked ? await readMonth(context, asked) : await reports.read(asked, reply);
    } catch (error) {
      const refusal = refusalOf(context.sql, error);
      if (refusal === null) throw error;
      problem = describeError(refusal.error);
      status = refusal.status;
    }
    const page = renderPage({
      title: `Report of ${isMonth ? textOf(query["month"]) : form.day}`,
      visitor: request.asker,
      path: "/report",
      main: renderReport(form, report, problem),
      notice: takeNotice(request, reply),
    });
    return await reply.code(status).type("text/html; charset=utf-8").send(page);
  });
  pages.get("/report.csv", async ({ query }: ReportRequest, reply) => {
    const asked = readReportAsk(query, context.config.closing.zone);
    const [name, csv] =
      "month" in asked
        ? [asked.month, monthAsCsv(await readMonth(context, asked))]
        : [asked.day, reportAsCsv(await reports.read(asked, reply))];
    reply.header("content-disposition", `attachment; filename="report-${name}.csv"`);
    return await reply.type("text/csv; charset=utf-8").send(csv);
  });
}

/** Yesterday, the last complete day. */
function yesterday({ clock, config }: FlowContext): string {
  return DateTime.fromMillis(clock.now(), { zone: config.closing.zone })
    .minus({ days: 1 })
    .toFormat("yyyy-MM-dd");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
