/** `/report`: the statement of a day or a month, and its CSV. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { DateTime } from "luxon";
import type { DayStatement } from "../../../closed.ts";
import { readCorrectionsOfDay } from "../../../closing/correction-store.ts";
import {
  readClosedFacts,
  refuseAltered,
  sayAltered,
  sayBounds,
  sayUnusual,
} from "../../../flows/closing/closed-facts.ts";
import { readWaiting, type WaitingCorrections } from "../../../flows/closing/find-corrections.ts";
import { readMonth, readOpenReason } from "../../../flows/closing/read-statement.ts";
import { isAnyClosable, readWhyEmpty } from "../../../flows/closing/why-open.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { may } from "../../access/access.ts";
import { monthAsCsv, reportAsCsv } from "../../csv/report-csv.ts";
import type { LiveTopic } from "../../http/layout.ts";
import { refusalOf } from "../../http/refusals.ts";
import type { ReportQueue } from "../../http/report-queue.ts";
import { type AskedDay, hasEnded, readReportAsk } from "../../input/report-query.ts";
import { type Problem, problemOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderReport, type ShownDay, type ShownReport } from "./render-report.ts";

/** The page shows fewer, and says how many more there are up to this number. */
const MOST_CORRECTIONS = 10_000;

type QueryFields = Readonly<Record<string, unknown>>;
type ReportRequest = FastifyRequest<{ Querystring: QueryFields }>;

export function addReportPage(pages: FastifyInstance, context: FlowContext, reports: ReportQueue): void {
  pages.get("/report", async (request: ReportRequest, reply) => {
    const { zone } = context.config.closing;
    const isMonth = request.query["month"] !== undefined;
    const query = isMonth ? request.query : { day: yesterday(context), ...request.query };
    const form = {
      day: textOf(query["day"] ?? yesterday(context)),
      month: textOf(query["month"] ?? textOf(query["day"] ?? yesterday(context)).slice(0, 7)),
      zone: textOf(request.query["zone"] ?? zone),
    };
    let report: ShownReport["report"] = null;
    let altered: string | null = null;
    let waiting: WaitingCorrections = new Map();
    let bounds: readonly string[] = [];
    let problem: Problem | null = null;
    let status = 200;
    let isClosable = false;
    try {
      const asked = readReportAsk(query, zone);
      report =
        "month" in asked
          ? await readMonth(context, asked)
          : await readDay(context, asked, await reports.read(asked, reply));
      const shown = "month" in report ? report : report.statement;
      isClosable =
        hasEnded(asked, zone, context.clock.now()) &&
        (await isAnyClosable(context.sql, "month" in shown ? shown.open : [shown]));
      const facts = await readClosedFacts(context, shown);
      altered = sayAltered(facts);
      waiting = await readWaiting(context, shown);
      bounds =
        "month" in shown
          ? sayUnusual(shown, facts)
          : facts.map((one) => `This day is from ${sayBounds(one)}.`);
    } catch (error) {
      const refusal = refusalOf(context.sql, error);
      if (refusal === null) throw error;
      problem = problemOf(refusal.error);
      status = refusal.status;
    }
    return await sendPage(request, reply.code(status), {
      title: `Report of ${isMonth ? textOf(query["month"]) : form.day}`,
      path: "/report",
      main: renderReport(form, {
        report,
        altered,
        waiting,
        bounds,
        problem,
        reader: zoneOf(request),
        closingZone: zone,
        mayClose: isClosable && may(request.asker, "close"),
      }),
      notice: takeNotice(request, reply),
      live: liveOf(report),
    });
  });
  pages.get("/report.csv", async ({ query }: ReportRequest, reply) => {
    const asked = readReportAsk(query, context.config.closing.zone);
    const shown = "month" in asked ? await readMonth(context, asked) : await reports.read(asked, reply);
    await refuseAltered(context, shown);
    const [name, csv] = "month" in shown ? [shown.month, monthAsCsv(shown)] : [shown.day, reportAsCsv(shown)];
    reply.header("content-disposition", `attachment; filename="report-${name}.csv"`);
    return await reply.type("text/csv; charset=utf-8").send(csv);
  });
}

/** The statement of an open day is made of all its bets: corrections of other days must not make it again. */
function liveOf(report: ShownReport["report"]): readonly LiveTopic[] {
  if (report === null) return [];
  const isStored = "month" in report || report.statement.closed !== null;
  return isStored ? ["closed", "corrections"] : ["closed"];
}

async function readDay(context: FlowContext, asked: AskedDay, statement: DayStatement): Promise<ShownDay> {
  const { day, zone } = asked;
  const whyEmpty = await readWhyEmpty(context, asked, statement);
  if (statement.closed !== null) {
    const corrections = await readCorrectionsOfDay(context.sql, day, MOST_CORRECTIONS);
    return { statement, whyEmpty, corrections, whyOpen: null };
  }
  const open = zone === context.config.closing.zone ? await readOpenReason(context, day) : null;
  return { statement, whyEmpty, corrections: [], whyOpen: open?.reason ?? null };
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
