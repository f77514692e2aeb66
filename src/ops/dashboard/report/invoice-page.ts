/** `/report/invoice`: the provider's invoice of a month beside the closed books. Nothing is stored. */

import type { IncomingMessage } from "node:http";
import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DateTime } from "luxon";
import {
  type CheckedLine,
  type InvoiceCheck,
  type InvoiceFigure,
  isExplained,
} from "../../../closing/invoice.ts";
import { checkInvoiceOf, MOST_INVOICE_BYTES } from "../../../flows/closing/read-invoice.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { refusalOf } from "../../http/refusals.ts";
import { usage } from "../../input/fields.ts";
import { parseMonth } from "../../input/report-query.ts";
import { type Problem, problemOf, readForm, renderInput, renderProblem } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayWords, showAmount, showCount } from "../parts/show.ts";
import { type Column, type Row, renderTable } from "../parts/table.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderCorrections } from "./render-corrections.ts";

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

interface ShownInvoice {
  /** as typed */
  readonly month: string;
  readonly problem: Problem | null;
  /** null: nothing was sent, or it has a problem */
  readonly check: InvoiceCheck | null;
}

/** @param zone of the person who reads */
function renderInvoice({ month, problem, check }: ShownInvoice, zone: string): SafeHtml {
  return html`<p class="trail"><a href="/report">Report</a> <span aria-hidden="true">›</span> Invoice</p>
<h1>Check the provider's invoice</h1>
<form method="post" action="/report/invoice" enctype="multipart/form-data" class="sheet fields" aria-label="Invoice">
${renderInput({ label: "Month", name: "month", value: month, problem }, html`size="10" required autocomplete="off" placeholder="2026-11"`)}
${renderInput({ label: "File", name: "file", value: "", problem }, html`type="file" required`)}
<button>Check</button>
<p class="faint">CSV of at most 1 MB whose first line is <code>product,currency,turnover,ggr,rate,fee</code>; rate and fee may be left out. Nothing is stored.</p>
</form>
${renderProblem(problem, ["month", "file"])}
${check === null ? null : renderCheck(check, zone)}`;
}

function renderCheck(check: InvoiceCheck, zone: string): SafeHtml {
  const { month, agrees, lines, missing, open, ignoredColumns } = check;
  const corrections = lines.flatMap((line) => line.corrections);
  return html`${renderVerdict(check)}
${ignoredColumns.length === 0 ? null : html`<p class="faint wrap">Columns that were not read: ${ignoredColumns.join(", ")}.</p>`}
<section class="sheet" aria-labelledby="figures"><h2 id="figures">${month} in ${check.zone}: the invoice and the closed days</h2>
${renderTable({ name: "Figures", columns: FIGURE_COLUMNS, rows: lines.flatMap(renderLine) })}
${agrees ? null : html`<p>What is left is the difference without the corrections. An invoice of before a correction has left what the correction changed.</p>`}</section>
${missing.length === 0 ? null : renderMissing(missing)}
${renderCorrections({ id: "corrections", title: "Corrections that changed the provider's figures", corrections }, zone)}
${open.length === 0 ? null : renderOpen(open, zone)}`;
}

function renderVerdict({ month, agrees, lines, missing, open }: InvoiceCheck): SafeHtml {
  const without =
    open.length === 0 ? "" : ` ${showCount(open.length)} of its days are open, and in no closed figure.`;
  if (agrees) {
    return html`<p class="verdict" data-state="good"><span>Nothing is left: the closed days of <a href="/report?month=${month}">${month}</a> and their corrections explain the whole invoice.${without}</span></p>`;
  }
  const left = lines
    .filter((line) => !isExplained(line))
    .map(({ productId, currency }) => `${productId} ${currency}`);
  const said = [
    left.length === 0
      ? ""
      : `Not explained: ${left.slice(0, 10).join(", ")}${left.length > 10 ? ` and ${left.length - 10} more` : ""}.`,
    missing.length === 0 ? "" : "Products of the month are not in the invoice.",
  ];
  return html`<p class="verdict" data-state="bad"><span>${said.join(" ").trim()}${without}</span></p>`;
}

const FIGURE_COLUMNS: readonly Column[] = [
  { name: "line", as: "number" },
  { name: "product", as: "text" },
  { name: "figure" },
  { name: "currency" },
  { name: "invoice", as: "number" },
  { name: "closed", as: "number" },
  { name: "difference", as: "number" },
  { name: "corrections", as: "number" },
  { name: "left", as: "number" },
];

function renderLine(line: CheckedLine): Row[] {
  const { fee, unknown, incomplete } = line;
  const why = [unknown, incomplete].map((said) =>
    said === null ? null : html`<br><span class="faint">${said}</span>`,
  );
  const rows = [renderFigure(line, html`turnover${why}`, line.turnover), renderFigure(line, "ggr", line.ggr)];
  if (fee === null) return rows;
  const { rate, invoice, expected, left } = fee;
  const name =
    rate === null ? html`fee<br><span class="faint">not checked: no rate</span>` : `fee, ${rate} × ggr`;
  const cells = [
    ...headOf(line, name),
    showFigure(invoice),
    showFigure(expected),
    showFigure(left),
    null,
    showLeft(left),
  ];
  return [...rows, { cells }];
}

function renderFigure(line: CheckedLine, name: SafeHtml | string, figure: InvoiceFigure): Row {
  const { invoice, closed, difference, corrections, left } = figure;
  const amounts = [invoice, closed, difference, corrections].map(showFigure);
  return { cells: [...headOf(line, name), ...amounts, showLeft(left)] };
}

function headOf({ line, productId, currency }: CheckedLine, name: SafeHtml | string) {
  return [showCount(line), productId, name, currency];
}

function showFigure(amount: string | null): SafeHtml | string {
  return amount === null ? "unknown" : showAmount(amount, null);
}

function showLeft(left: string | null): SafeHtml | string {
  if (left === "0" || left === null) return showFigure(left);
  return html`<strong class="differs">${showAmount(left, null)}</strong>`;
}

function renderMissing(missing: InvoiceCheck["missing"]): SafeHtml {
  const rows = missing.map(({ productId, currency, turnover, ggr }) => ({
    cells: [productId, showAmount(turnover, currency), showAmount(ggr, currency)],
  }));
  return html`<section class="sheet" aria-labelledby="missing"><h2 id="missing">Not in the invoice</h2>
${renderTable({
  name: "Not in the invoice",
  columns: [
    { name: "product", as: "head" },
    { name: "turnover", as: "number" },
    { name: "ggr", as: "number" },
  ],
  rows,
})}</section>`;
}

function renderOpen(open: InvoiceCheck["open"], zone: string): SafeHtml {
  const rows = open.map(({ day, reason }) => ({ cells: [day, sayWords(reason, zone)] }));
  return html`<section class="sheet" aria-labelledby="open"><h2 id="open">Open days</h2>
${renderTable({
  name: "Open days",
  columns: [
    { name: "day", as: "head" },
    { name: "why it is open", as: "text", of: "long" },
  ],
  rows,
})}</section>`;
}
