/** Draws the page of a day or a month: the forms that choose it, whether it is closed, and its statement. */

import { html, type SafeHtml } from "@remix-run/html-template";
import { formatInstant } from "../../../clock.ts";
import type { Correction, DayStatement, MonthReport, OpenDay, StatedDay } from "../../../closed.ts";
import { sayAcceptedGap } from "../../../flows/closing/accept-gaps.ts";
import { sayWaiting, type WaitingCorrections } from "../../../flows/closing/find-corrections.ts";
import { READY_TO_CLOSE } from "../../../flows/closing/read-statement.ts";
import { TRANSFERS_UNKNOWN, type TransferSum } from "../../../transfer.ts";
import { type Problem, renderInput, renderProblem } from "../parts/fields.ts";
import { sayWords, showAmount, showCount, showState, showTime } from "../parts/show.ts";
import { type Column, type Row, renderTable } from "../parts/table.ts";
import { renderAgainstForm } from "./against-page.ts";
import { renderCorrections } from "./render-corrections.ts";
import {
  renderNetTable,
  renderRewardsAndTips,
  renderSides,
  renderStatement,
  renderTotals,
} from "./render-statement.ts";

interface Reader {
  /** the time zone of the person who reads; the report itself has a zone of its own */
  readonly zone: string;
  readonly mayClose: boolean;
}

function renderMonth(report: MonthReport, { zone, mayClose }: Reader): SafeHtml {
  const { month, days, rows, corrections, open } = report;
  const query = new URLSearchParams({ month });
  const close =
    mayClose && open.length > 0
      ? html` <a class="button quiet" href="/report/close?${String(query)}">Close the month</a>`
      : null;
  return html`<p class="sheet">${month} in ${report.zone}: ${countDays(days.length, "closed")}, ${showCount(open.length)} open. The sums and the corrections together are today's data.</p>
${days.flatMap(({ day, acceptedGaps = [] }) => acceptedGaps.map((gap) => html`<p class="problem"><a href="/report?day=${day}">${day}</a>: ${sayWords(sayAcceptedGap(gap), zone)}</p>`))}
<p class="row"><a href="/report.csv?${String(query)}" download="report-${month}.csv">Download as CSV</a> <a href="/report/verify">Verify the closed days</a> <a href="/report/invoice?${String(query)}">Check the invoice</a>${close}</p>
<section class="sheet" aria-labelledby="statement"><h2 id="statement">${month}: net on both sides of the closed days</h2>${rows.length === 0 ? html`<p>No closed day has a bet.</p>` : renderNetTable(rows, { month })}</section>
${rows.length === 0 ? null : html`${renderSides(rows, { month })}${renderTotals(report.totals)}${renderRewardsAndTips(rows, report.totals, { month })}`}
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
    ...days.map((one) => ({
      day: one.day,
      row: renderClosedDays(one, ofDay.get(one.day) ?? [], reader.zone),
    })),
    ...joinAlike(days, open).map((run) => ({ day: run[0].day, row: renderOpen(run, zone, reader) })),
  ].sort((a, b) => (a.day < b.day ? -1 : 1));
  return html`<section class="sheet" aria-labelledby="days"><h2 id="days">Days</h2>
${renderTable({ name: "Days", columns: COLUMNS, rows: rows.map(({ row }) => row) })}</section>`;
}

const CHARACTERS_OF_HASH = 12;

function renderClosedDays(
  { day, closed }: StatedDay,
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
      html`<code class="hash" title="${hash}"><span>${hash.slice(0, CHARACTERS_OF_HASH)}…</span><span class="whole">${hash}</span></code>`,
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

/** As typed. */
interface ReportForm {
  readonly day: string;
  readonly zone: string;
  readonly month: string;
}

/** A day's statement with what concerns its closing. */
export interface ShownDay {
  readonly statement: DayStatement;
  /** why the statement has no rows; null: it has rows */
  readonly whyEmpty: string | null;
  /** of the closed day, whenever they arrived */
  readonly corrections: readonly Correction[];
  /** why it is open, as a sentence; null: it is closed, or shown in another zone than `closing.zone` */
  readonly whyOpen: string | null;
}

export interface ShownReport {
  /** null: the form has an error */
  readonly report: ShownDay | MonthReport | null;
  /** which of its statements were altered, as after a colon; null: none */
  readonly altered: string | null;
  readonly waiting: WaitingCorrections;
  /** sentences about the bounds of its closed days */
  readonly bounds: readonly string[];
  readonly problem: Problem | null;
  /** the time zone of the person who reads; the report itself has a zone of its own */
  readonly reader: string;
  /** `closing.zone` */
  readonly closingZone: string;
  readonly mayClose: boolean;
}

export function renderReport(form: ReportForm, shown: ShownReport): SafeHtml {
  const { report, altered, waiting, bounds, problem, reader, closingZone, mayClose } = shown;
  const field = (label: string, name: keyof ReportForm) => ({ label, name, value: form[name], problem });
  return html`<h1>The ${report !== null && "month" in report ? "month's" : "day's"} statement</h1>
<div class="sheets"><form method="get" action="/report" class="sheet fields" aria-label="Day">
${renderInput(field("Day", "day"), html`type="${isDay(form.day) ? "date" : "text"}" required`)}
${renderInput(field("Time zone", "zone"), html`size="18" required autocomplete="off" placeholder="Asia/Bangkok"`)}
<button>Show</button>
</form>
<form method="get" action="/report" class="sheet fields" aria-label="Month">
${renderInput(field("Month", "month"), html`size="10" required autocomplete="off" placeholder="2026-11"`)}
<button>Show the month</button>
</form>
${report !== null && "statement" in report ? renderAgainstForm(againstOf(report.statement, closingZone), null) : null}</div>
${renderProblem(problem, ["day", "zone", "month"])}
${report === null ? null : html`<p class="faint">${sayDays(report, bounds)} Other times on this page are ${reader}.</p>`}
${altered === null ? null : html`<p class="verdict" data-state="bad"><span>Altered: ${altered}. <a href="/report/verify">Verify the closed days</a></span></p>`}
${waiting.size === 0 ? null : html`<p class="sheet">${sayWaiting(waiting)}</p>`}
${report === null ? null : "month" in report ? renderMonth(report, { zone: reader, mayClose }) : renderDay(report, reader, { closingZone, mayClose, isSound: altered === null, waiting })}`;
}

/** Without a zone a closed day is shown as it was closed. */
function againstOf({ day, zone }: DayStatement, closingZone: string) {
  return { day, zone: zone === closingZone ? "" : zone, against: "" };
}

function sayDays(report: ShownDay | MonthReport, bounds: readonly string[]): string {
  if ("statement" in report && bounds.length > 0) return bounds.join(" ");
  const { zone } = "month" in report ? report : report.statement;
  return [`A day of this statement begins at midnight in ${zone}.`, ...bounds].join(" ");
}

/** A browser's date field would hide any other text. */
function isDay(text: string): boolean {
  if (text === "") return true;
  const at = Date.parse(`${text}T00:00:00Z`);
  // 31 November parses as 1 December.
  return !Number.isNaN(at) && formatInstant(at).startsWith(`${text}T`);
}

interface DayMarks {
  readonly closingZone: string;
  readonly mayClose: boolean;
  /** false: its stored statement was altered */
  readonly isSound: boolean;
  readonly waiting: WaitingCorrections;
}

function renderDay(shown: ShownDay, reader: string, marks: DayMarks): SafeHtml {
  const { closingZone, isSound, waiting } = marks;
  const { statement, corrections } = shown;
  const later = { id: "later", title: "Corrections of this day", corrections };
  const arrived = {
    id: "corrections",
    title: "Corrections of earlier days that arrived on this day",
    corrections: statement.corrections,
  };
  const whyEmpty = sayWords(shown.whyEmpty ?? "", reader);
  return html`${renderClosed(shown, reader, marks)}
${renderStatement(statement, { closingZone, whyEmpty, isSound, waiting })}
${renderTransferSums(statement.transfers)}
${renderCorrections(later, reader)}
${renderCorrections(arrived, reader)}`;
}

function renderClosed(
  { statement, whyOpen }: ShownDay,
  reader: string,
  { mayClose, isSound }: DayMarks,
): SafeHtml {
  const { day, closed } = statement;
  const month = day.slice(0, 7);
  const links = html`<a href="/report?month=${month}">The month ${month}</a>`;
  if (closed === null) {
    const why =
      whyOpen === null
        ? null
        : html` ${sayWords(whyOpen, reader)}${mayClose && whyOpen === READY_TO_CLOSE ? " “Close the day” closes it." : null}`;
    const close =
      mayClose && whyOpen !== null
        ? html` <a class="button quiet" href="/report/close?day=${day}">Close the day</a>`
        : null;
    return html`<p class="sheet">This day is open: its figures change with the data.${why}</p><p class="row">${links}${close}</p>`;
  }
  const { number, closedAt, hash } = closed;
  return html`<p class="sheet">Closed at ${showTime(closedAt, reader)} with number ${number}${isSound ? "; these figures stay" : ""}.<br><span class="faint wrap">hash ${hash}</span></p>
${(statement.acceptedGaps ?? []).map((gap) => html`<p class="problem">${sayWords(sayAcceptedGap(gap), reader)}</p>`)}
<p class="row">${links} <a href="/report/verify">Verify the closed days</a></p>`;
}

const TRANSFER_COLUMNS: readonly Column[] = [
  { name: "product", as: "head" },
  { name: "type" },
  { name: "status" },
  { name: "count", as: "number" },
  { name: "amount", as: "number" },
  { name: "open mismatches", as: "text" },
];

/** @returns null: none was sent */
function renderTransferSums(transfers: DayStatement["transfers"]): SafeHtml | null {
  if (transfers?.length === 0) return null;
  return html`<section class="sheet" aria-labelledby="transfers"><h2 id="transfers">Transfers and top-ups sent on this day</h2>
${transfers === null ? html`<p>They are ${TRANSFERS_UNKNOWN}</p>` : renderSums(transfers)}</section>`;
}

function renderSums(transfers: readonly TransferSum[]): SafeHtml {
  const rows = transfers.map((one) => ({
    cells: [
      one.productId,
      one.type,
      showState(one.status),
      showCount(one.count),
      showAmount(one.amount, one.currency),
      renderMismatches(one),
    ],
  }));
  return html`${renderTable({ name: "Transfers", columns: TRANSFER_COLUMNS, rows })}
<p class="faint">As they are now. They are in no figure of the statement. A link leads to all open mismatches of the kind, also those of other days.</p>`;
}

function renderMismatches({ productId, currency, openMismatches, mismatchKinds }: TransferSum) {
  const links = mismatchKinds.map((kind) => {
    const query = new URLSearchParams({ product: productId, currency, kind });
    return html` <a href="/mismatches?${String(query)}">${kind}</a>`;
  });
  return html`${showCount(openMismatches)}${links}`;
}
