/** `/report/items`: the lines that the figures of a statement are made of, and their CSV. */

import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { FlowContext } from "../../../flows/context.ts";
import { pagesAsCsv } from "../../csv/report-csv.ts";
import { refusalOf } from "../../http/refusals.ts";
import type { ReportQueue } from "../../http/report-queue.ts";
import { LARGEST_LIMIT, type Typed } from "../../input/fields.ts";
import { readItemsAsk } from "../../input/report-query.ts";
import { problemOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { type ItemsForm, renderItems, type ShownItems } from "./render-items.ts";

const PAGE_SIZE = "200";

type ItemsRequest = FastifyRequest<{ Querystring: Typed }>;

export function addItemsPage(pages: FastifyInstance, context: FlowContext, reports: ReportQueue): void {
  pages.get("/report/items", async (request: ItemsRequest, reply) => {
    const form = formOf(request.query);
    let shown: ShownItems;
    let status = 200;
    try {
      const { asked, filter, page } = await readItemsAsk(context, { limit: PAGE_SIZE, ...request.query });
      shown = { page: await reports.readItems(asked, filter, page, reply), problem: null };
    } catch (error) {
      const refusal = refusalOf(context.sql, error);
      if (refusal === null) throw error;
      shown = { page: null, problem: problemOf(refusal.error) };
      status = refusal.status;
    }
    return await sendPage(request, reply.code(status), {
      title: `Lines of ${form.month === "" ? form.day : form.month}`,
      path: "/report",
      main: renderItems(form, shown),
      notice: takeNotice(request, reply),
    });
  });
  pages.get("/report/items.csv", async ({ query }: ItemsRequest, reply) => {
    const { asked, filter } = await readItemsAsk(context, query);
    const read = (after: string | null) =>
      reports.readItems(asked, filter, { limit: LARGEST_LIMIT, after }, reply);
    const lines = pagesAsCsv(await read(null), read);
    reply.header("content-disposition", 'attachment; filename="report-items.csv"');
    return await reply.type("text/csv; charset=utf-8").send(Readable.from(lines));
  });
}

function formOf(query: Typed): ItemsForm {
  const text = (name: string) => {
    const value = query[name];
    return typeof value === "string" ? value : "";
  };
  return {
    day: text("day"),
    month: text("month"),
    zone: text("zone"),
    productId: text("productId"),
    currency: text("currency"),
    explainedBy: text("explainedBy"),
  };
}
