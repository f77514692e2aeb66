/** `/report`: the statement of a day or a month, and its CSV. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { DateTime } from "luxon";
import type { DayStatement, MonthReport } from "../../../closed.ts";
import { readMonth } from "../../../flows/closing/read-statement.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { monthAsCsv, reportAsCsv } from "../../csv/report-csv.ts";
import { refusalOf } from "../../http/refusals.ts";
import type { ReportQueue } from "../../http/report-queue.ts";
import { readReportAsk } from "../../input/report-query.ts";
import { type Problem, problemOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
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
    let problem: Problem | null = null;
    let status = 200;
    try {
      const asked = readReportAsk(query, zone);
      report = "month" in asked ? await readMonth(context, asked) : await reports.read(asked, reply);
    } catch (error) {
      const refusal = refusalOf(context.sql, error);
      if (refusal === null) throw error;
      problem = problemOf(refusal.error);
      status = refusal.status;
    }
    return await sendPage(request, reply.code(status), {
      title: `Report of ${isMonth ? textOf(query["month"]) : form.day}`,
      path: "/report",
      main: renderReport(form, { report, problem, reader: zoneOf(request) }),
      notice: takeNotice(request, reply),
    });
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
