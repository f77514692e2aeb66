/** `recon report --day D --against D2`: two days beside each other. */

import type { DaysCompared } from "../../closed.ts";
import { figuresOfRow, sayFigure } from "../../closing/compare-days.ts";
import { readAgainst } from "../../flows/closing/read-against.ts";
import { readStatement } from "../../flows/closing/read-statement.ts";
import type { FlowContext } from "../../flows/context.ts";
import { readReport } from "../../flows/reports/read-report.ts";
import { formatMoney, parseAmount } from "../../money.ts";
import { againstAsCsv } from "../../ops/csv/against-csv.ts";
import type { AskedDays } from "../../ops/input/report-query.ts";
import { printCsv, printJson, printLine, printTable } from "../terminal/print.ts";

export async function printAgainst(
  context: FlowContext,
  days: AskedDays,
  form: "json" | "csv" | "text",
  signal: AbortSignal,
): Promise<void> {
  const compared = await readAgainst(context, days, (asked) =>
    readStatement(context, asked, (day) => readReport(context, day, signal)),
  );
  if (form === "json") printJson(compared);
  else if (form === "csv") printCsv(againstAsCsv(compared));
  else printCompared(compared);
}

function printCompared({ day, zone, against, rows }: DaysCompared): void {
  const other = against.zone === zone ? "" : ` in ${against.zone}`;
  printLine(`The day ${day} in ${zone} against ${against.day}${other}`);
  if (rows.length === 0) printLine("Neither day has a row (recon report --day says why).");
  for (const row of rows) {
    const show = (value: string | number | null, of: object | null) =>
      typeof value === "string"
        ? formatMoney(parseAmount(value, "amount"), row.currency)
        : String(value ?? (of === null ? "no row" : "unknown"));
    printLine();
    printTable(
      [`${row.productId}, ${row.currency}`, day, against.day, "CHANGE"],
      figuresOfRow(row).map((figure) => [
        sayFigure(figure.name),
        show(figure.day, row.day),
        show(figure.against, row.against),
        show(figure.change, row),
      ]),
    );
    for (const [date, figures] of [
      [day, row.day],
      [against.day, row.against],
    ] as const)
      if (figures?.complete === false)
        printLine(`Not complete: part of ${date} has not been fetched (recon coverage shows which).`);
  }
}
