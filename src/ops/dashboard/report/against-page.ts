/** `/report/against`: two days beside each other, and their CSV. */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ComparedRow, DaysCompared } from "../../../closed.ts";
import { figuresOfRow, sayFigure } from "../../../closing/compare-days.ts";
import { readAgainst } from "../../../flows/closing/read-statement.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { againstAsCsv } from "../../csv/report-csv.ts";
import { refusalOf } from "../../http/refusals.ts";
import type { ReportQueue } from "../../http/report-queue.ts";
import { type Typed, usage } from "../../input/fields.ts";
import { readAgainstAsk } from "../../input/report-query.ts";
import {
  type Problem,
  problemOf,
  renderInput,
  renderProblem,
  type TypedFields,
  typedFields,
} from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { showAmount, showCount } from "../parts/show.ts";
import { type Column, renderTable } from "../parts/table.ts";

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

const AGAINST_FIELDS = ["day", "against", "zone"] as const;
type AgainstForm = TypedFields<typeof AGAINST_FIELDS>;

/** Asks for the other day. */
export function renderAgainstForm(form: AgainstForm, problem: Problem | null): SafeHtml {
  const field = { label: "Compare with", name: "against", value: form.against, problem };
  return html`<form method="get" action="/report/against" class="sheet fields" aria-label="Comparison">
<input type="hidden" name="day" value="${form.day}">${form.zone === "" ? null : html`<input type="hidden" name="zone" value="${form.zone}">`}
${renderInput(field, html`size="10" required autocomplete="off" placeholder="2026-11-13"`)}
<button>Compare</button>
</form>`;
}

function renderAgainst(form: AgainstForm, compared: DaysCompared | null, problem: Problem | null): SafeHtml {
  const { day, against } = form;
  const statement = new URLSearchParams(
    Object.entries({ day, zone: form.zone }).filter(([, text]) => text !== ""),
  );
  return html`<p class="trail wrap"><a href="/report?${String(statement)}">Statement of ${day}</a> <span aria-hidden="true">›</span> Comparison</p>
<h1 class="wrap">${day} against ${against}</h1>
${renderAgainstForm(form, problem)}
${renderProblem(problem, ["against"])}
${compared === null ? null : renderCompared(compared, form)}`;
}

function renderCompared({ day, zone, against, rows }: DaysCompared, form: AgainstForm): SafeHtml {
  if (rows.length === 0) return html`<p class="sheet">Neither day has a row. Their statements say why.</p>`;
  const other = new URLSearchParams({ day: against.day, zone: against.zone });
  const csv = new URLSearchParams(Object.entries(form).filter(([, text]) => text !== ""));
  return html`<p class="row"><a href="/report/against.csv?${String(csv)}" download="report-${day}-against-${against.day}.csv">Download as CSV</a> <a href="/report?${String(other)}">Statement of ${against.day}</a></p>
<p class="faint">${day} in ${zone}, ${against.day} in ${against.zone}. The change is the first day’s figure minus the second one’s.</p>
${rows.map((row) => renderRow(row, day, against.day))}`;
}

function renderRow(row: ComparedRow, day: string, against: string): SafeHtml {
  const name = `${row.productId}, ${row.currency}`;
  const columns: readonly Column[] = [
    { name: "figure", as: "head" },
    { name: day, as: "number" },
    { name: against, as: "number" },
    { name: "change", as: "number" },
  ];
  const show = (value: string | number | null, of: object | null) =>
    typeof value === "number"
      ? showCount(value)
      : value === null
        ? of === null
          ? "no row"
          : "unknown"
        : showAmount(value, null);
  const rows = figuresOfRow(row).map((figure) => ({
    cells: [
      sayFigure(figure.name),
      show(figure.day, row.day),
      show(figure.against, row.against),
      show(figure.change, row),
    ],
  }));
  const missing = [
    [day, row.day],
    [against, row.against],
  ] as const;
  return html`<section class="sheet"><h2 class="wrap">${name}</h2>
${missing.map(([date, figures]) => (figures?.complete === false ? html`<p class="problem">Part of ${date} has not been fetched.</p>` : null))}
${renderTable({ name, columns, rows })}</section>`;
}
