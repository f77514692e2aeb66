/** `/report`: the day's statement, and its CSV. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { DateTime } from "luxon";
import { describeError } from "../../errors.ts";
import type { FlowContext } from "../../flows/context.ts";
import { readReport } from "../../flows/read-report.ts";
import type { DayReport } from "../../report.ts";
import { checkFields } from "../range-query.ts";
import { statusOfRefusal } from "../refusals.ts";
import { reportAsCsv } from "../report-csv.ts";
import { readReportDay } from "../report-query.ts";
import { renderPage } from "./layout.ts";
import { takeNotice } from "./notice.ts";
import { renderReport } from "./render-report.ts";

type Query = Readonly<Record<string, unknown>>;
type Asked = FastifyRequest<{ Querystring: Query }>;

export function addReportPage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/report", async (request: Asked, reply) => {
    const query = { day: yesterday(context), ...request.query };
    const form = { day: textOf(query.day), zone: textOf(request.query["zone"] ?? "UTC") };
    let report: DayReport | null = null;
    let problem: string | null = null;
    try {
      report = await readReport(context, readReportDay(checkFields(query, ["day", "zone"])));
    } catch (error) {
      if (statusOfRefusal(error) === null) throw error;
      problem = describeError(error);
    }
    const page = renderPage({
      title: `Report of ${form.day}`,
      visitor: request.asker,
      path: "/report",
      main: renderReport(form, report, problem),
      notice: takeNotice(request, reply),
    });
    return await reply
      .code(problem === null ? 200 : 400)
      .type("text/html; charset=utf-8")
      .send(page);
  });
  pages.get("/report.csv", async ({ query }: Asked, reply) => {
    const day = readReportDay(checkFields(query, ["day", "zone"]));
    reply.header("content-disposition", `attachment; filename="report-${day.day}.csv"`);
    return await reply.type("text/csv; charset=utf-8").send(reportAsCsv(await readReport(context, day)));
  });
}

/** The last day that is over: of today most is still to come. */
function yesterday({ clock }: FlowContext): string {
  return DateTime.fromMillis(clock.now(), { zone: "utc" }).minus({ days: 1 }).toFormat("yyyy-MM-dd");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
