/** Draws a month: each of its days with its state, the sums of the closed days, and their corrections (§3.10). */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { Correction, DayStatement, MonthReport, OpenDay } from "../../../closed.ts";
import { READY_TO_CLOSE } from "../../../flows/closing/read-statement.ts";
import { sayWords, showCount, showTime } from "../parts/show.ts";
import { type Column, type Row, renderTable } from "../parts/table.ts";
import { renderCorrections } from "./render-corrections.ts";
import { renderNetTable } from "./render-statement.ts";

interface Reader {
  /** the time zone of the person who reads; the report itself has a zone of its own */
  readonly zone: string;
  readonly mayClose: boolean;
}

export function renderMonth(report: MonthReport, { zone, mayClose }: Reader): SafeHtml {
  const { month, days, rows, corrections, open } = report;
  const query = new URLSearchParams({ month });
  const close =
    mayClose && open.length > 0
      ? html` <a class="button quiet" href="/report/close?${String(query)}">Close the month</a>`
      : null;
  return html`<p class="sheet">${month} in ${report.zone}: ${countDays(days.length, "closed")}, ${showCount(open.length)} open. The sums and the corrections together are today's data.</p>
<p class="row"><a href="/report.csv?${String(query)}" download="report-${month}.csv">Download as CSV</a> <a href="/report/verify">Verify the closed days</a>${close}</p>
<section class="sheet" aria-labelledby="statement"><h2 id="statement">${month}: net on both sides of the closed days</h2>${rows.length === 0 ? html`<p>No closed day has a bet.</p>` : renderNetTable(rows)}</section>
${renderCorrections({ id: "corrections", title: "Corrections of closed days", corrections }, zone)}
${renderDays(report, { zone, mayClose })}`;
}

function countDays(count: number, state: string): string {
  return `${showCount(count)} ${state} ${count === 1 ? "day" : "days"}`;
}

const COLUMNS: readonly Column[] = [
  { name: "day", as: "head" },
  { name: "state" },
  { name: "number", as: "number" },
  { name: "closed at" },
  { name: "hash" },
  { name: "corrections", as: "number" },
  { name: "why it is open", as: "text", of: "long" },
];

function renderDays({ days, open, corrections, zone }: MonthReport, reader: Reader): SafeHtml {
  const ofDay = Map.groupBy(corrections, ({ day }) => day);
  const rows = [
    ...days.map((one) => ({ day: one.day, row: renderClosed(one, ofDay.get(one.day) ?? [], reader.zone) })),
    ...joinAlike(days, open).map((run) => ({ day: run[0].day, row: renderOpen(run, zone, reader) })),
  ].sort((a, b) => (a.day < b.day ? -1 : 1));
  return html`<section class="sheet" aria-labelledby="days"><h2 id="days">Days</h2>
${renderTable({ name: "Days", columns: COLUMNS, rows: rows.map(({ row }) => row) })}</section>`;
}

const CHARACTERS_OF_HASH = 12;

function renderClosed(
  { day, closed }: DayStatement,
  corrections: readonly Correction[],
  reader: string,
): Row {
  const hash = closed?.hash ?? "";
  return {
    cells: [
      html`<a href="/report?day=${day}">${day}</a>`,
      html`<span class="state" data-state="resolved">closed</span>`,
      closed === null ? null : showCount(closed.number),
      showTime(closed?.closedAt ?? null, reader),
      html`<code title="${hash}">${hash.slice(0, CHARACTERS_OF_HASH)}…</code>`,
      showCount(corrections.length),
      null,
    ],
  };
}

type Run = readonly [OpenDay, ...OpenDay[]];

/** Open days that follow each other for the same reason are one line, such as all days before the first fetched one. */
function joinAlike(days: MonthReport["days"], open: readonly OpenDay[]): Run[] {
  const closed = days.map(({ day }) => day);
  const runs: [OpenDay, ...OpenDay[]][] = [];
  for (const one of open) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    const isBetween = closed.some((day) => last !== undefined && day > last.day && day < one.day);
    if (run !== undefined && last?.reason === one.reason && !isBetween) run.push(one);
    else runs.push([one]);
  }
  return runs;
}

function renderOpen(run: Run, zone: string, reader: Reader): Row {
  const [{ day, reason }] = run;
  const last = run.at(-1)?.day ?? day;
  const link = (of: string) =>
    html`<a href="/report?${String(new URLSearchParams({ day: of, zone }))}">${of}</a>`;
  const hint = reader.mayClose && reason === READY_TO_CLOSE ? " “Close the month” closes it." : "";
  return {
    cells: [
      last === day ? link(day) : html`${link(day)} to ${link(last)}`,
      html`<span class="state" data-state="pending">open</span>`,
      null,
      null,
      null,
      null,
      `${sayWords(reason, reader.zone)}${hint}`,
    ],
  };
}
