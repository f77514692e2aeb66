/** `/report/invoice`: the provider's invoice of a month beside the closed books. Nothing is stored. */

import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DateTime } from "luxon";
import type { InvoiceCheck } from "../../../closing/invoice.ts";
import { checkInvoiceOf } from "../../../flows/closing/check-invoice.ts";
import { MOST_INVOICE_BYTES } from "../../../flows/closing/read-invoice.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { refusalOf } from "../../http/refusals.ts";
import { usage } from "../../input/fields.ts";
import { parseMonth } from "../../input/report-query.ts";
import { type Problem, problemOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { readForm } from "../parts/read-form.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderInvoice } from "./render-invoice.ts";

type PageRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;

/** A sent form. */
interface SentInvoice {
  readonly month: string;
  /** null: there is none, or it cannot be used */
  readonly file: File | null;
  /** null: the file can be read */
  readonly problem: string | null;
}

export function addInvoicePage(pages: FastifyInstance, context: FlowContext): void {
  pages.get("/report/invoice", async (request: PageRequest, reply) => {
    const { month = lastMonth(context) } = request.query;
    return await send(request, reply, { month: textOf(month), problem: null, check: null });
  });
  pages.register(async (scope) => {
    scope.addContentTypeParser(
      "multipart/form-data",
      async ({ headers }: FastifyRequest, payload: IncomingMessage) =>
        readSent(payload, headers["content-type"] ?? ""),
    );
    scope.post("/report/invoice", { config: { isReading: true } }, async (request, reply) => {
      const sent = isSent(request.body) ? request.body : null;
      const month = sent?.month ?? "";
      try {
        if (sent?.file == null) throw usage(sent?.problem ?? "choose a file", "file");
        const check = await checkInvoiceOf(context, sent.file.stream(), parseMonth(month));
        return await send(request, reply, { month, problem: null, check });
      } catch (error) {
        const refusal = refusalOf(context.sql, error);
        if (refusal === null) throw error;
        const problem = problemOf(refusal.error);
        return await send(request, reply.code(refusal.status), { month, problem, check: null });
      }
    });
  });
}

async function readSent(payload: IncomingMessage, type: string): Promise<SentInvoice> {
  const form = await readForm(payload, type, MOST_INVOICE_BYTES);
  if (form === "too-large") {
    const problem = `the file is larger than ${MOST_INVOICE_BYTES / 1024 / 1024} MB`;
    return { month: "", file: null, problem };
  }
  if (form === "unreadable")
    return { month: "", file: null, problem: "the form cannot be read: send it again" };
  const [month, file] = [form.get("month"), form.get("file")];
  const isChosen = file instanceof File && (file.size > 0 || file.name !== "");
  return { month: textOf(month), file: isChosen ? file : null, problem: null };
}

function isSent(body: unknown): body is SentInvoice {
  return typeof body === "object" && body !== null && "month" in body && "file" in body && "problem" in body;
}

interface Shown {
  readonly month: string;
  readonly problem: Problem | null;
  readonly check: InvoiceCheck | null;
}

async function send(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
  return await sendPage(request, reply, {
    title: "Check an invoice",
    path: "/report/invoice",
    main: renderInvoice(shown, zoneOf(request)),
    notice: takeNotice(request, reply),
  });
}

function lastMonth({ clock, config }: FlowContext): string {
  const now = DateTime.fromMillis(clock.now(), { zone: config.closing.zone });
  return now.minus({ months: 1 }).toFormat("yyyy-MM");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
