/** `/report/against`: two days beside each other, and their CSV. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { DaysCompared } from "../../../closed.ts";
import { readAgainst } from "../../../flows/closing/read-against.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { againstAsCsv } from "../../csv/report-csv.ts";
import { refusalOf } from "../../http/refusals.ts";
import type { ReportQueue } from "../../http/report-queue.ts";
import { type Typed, usage } from "../../input/fields.ts";
import { readAgainstAsk } from "../../input/report-query.ts";
import { type Problem, problemOf, typedFields } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { AGAINST_FIELDS, renderAgainst } from "./render-against.ts";

type AgainstRequest = FastifyRequest<{ Querystring: Typed }>;

export function addAgainstPage(pages: FastifyInstance, context: FlowContext, reports: ReportQueue): void {
  const readDays = async (query: Typed, reply: FastifyReply) => {
    const days = readAgainstAsk(query, context.config.closing.zone);
    if (days === null) throw usage("against is missing; give a day such as 2026-11-20", "against");
    return await readAgainst(context, days, (day) => reports.read(day, reply));
  };
  pages.get("/report/against", async (request: AgainstRequest, reply) => {
    const form = typedFields(request.query, AGAINST_FIELDS);
    let compared: DaysCompared | null = null;
    let problem: Problem | null = null;
    let status = 200;
    try {
      compared = await readDays(request.query, reply);
    } catch (error) {
      const refusal = refusalOf(context.sql, error);
      if (refusal === null) throw error;
      problem = problemOf(refusal.error);
      status = refusal.status;
    }
    return await sendPage(request, reply.code(status), {
      title: `${form.day} against ${form.against}`,
      path: "/report",
      main: renderAgainst(form, compared, problem),
      notice: takeNotice(request, reply),
    });
  });
  pages.get("/report/against.csv", async ({ query }: AgainstRequest, reply) => {
    const compared = await readDays(query, reply);
    const name = `report-${compared.day}-against-${compared.against.day}.csv`;
    reply.header("content-disposition", `attachment; filename="${name}"`);
    return await reply.type("text/csv; charset=utf-8").send(againstAsCsv(compared));
  });
}
