/** `/report/close` and `/report/verify`: closing a day or a month after a question, and checking the closed days (§3.10). */

import { html, type SafeHtml } from "@remix-run/html-template";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { OpenDay } from "../../../closed.ts";
import { readLastClosed } from "../../../closing/closed-day-store.ts";
import { describeError, ReconError } from "../../../errors.ts";
import {
  acceptGaps,
  type GapOfProduct,
  readGaps,
  sayLength,
  sayTimes,
} from "../../../flows/closing/accept-gaps.ts";
import { type Closing, closeDay } from "../../../flows/closing/close-day.ts";
import { closeMonth, findNextDay } from "../../../flows/closing/close-days.ts";
import { findCorrections } from "../../../flows/closing/find-corrections.ts";
import { type ClosingPreview, type DayPreview, sayPreview } from "../../../flows/closing/preview-closing.ts";
import { READY_TO_CLOSE, readMonth, readOpenReason } from "../../../flows/closing/read-statement.ts";
import {
  type BooksCheck,
  openBooksCheck,
  sayRest,
  type WholeCheck,
} from "../../../flows/closing/verify-books.ts";
import { isAnyClosable } from "../../../flows/closing/why-open.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { may } from "../../access/access.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import type { ReportQueue } from "../../http/report-queue.ts";
import { read, usage } from "../../input/fields.ts";
import {
  type AskedDay,
  type AskedMonth,
  hasEnded,
  parseDay,
  readReportAsk,
} from "../../input/report-query.ts";
import { LONGEST_NOTE, readNote } from "../../input/transfer-query.ts";
import { renderArea } from "../parts/fields.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayWords, showCount } from "../parts/show.ts";
import { renderTable } from "../parts/table.ts";
import { zoneOf } from "../parts/zone.ts";

/** A day or a month to close. */
interface Closable {
  /** YYYY-MM-DD, or YYYY-MM */
  readonly name: string;
  readonly isMonth: boolean;
  /** `closing.zone` */
  readonly zone: string;
  /** its open days, each with its reason; none: it is closed */
  readonly open: readonly OpenDay[];
  /** the day, or the first one of the month, has ended, and not all open days lie before the first closed one */
  readonly isClosable: boolean;
  /** whether no day is closed yet */
  readonly isFirst: boolean;
  /** the first whole day since pulling began; null: nothing was pulled, or a day is closed */
  readonly firstPulled: string | null;
  /** of a day: the products that lack time of it */
  readonly gaps: readonly GapOfProduct[];
}

/** @param preview of a day that can be closed now; null: of none */
function renderConfirmClosing(
  closable: Closable,
  preview: ClosingPreview | null,
  mayClose: boolean,
  reader: string,
): SafeHtml {
  const { name, isMonth, zone, open, isClosable } = closable;
  const field = isMonth ? "month" : "day";
  const back = html`<a href="/report?${field}=${name}">Back to the statement</a>`;
  if (open.length === 0)
    return html`<h1>Close ${name}</h1><p class="sheet">It is closed already. ${back}</p>`;
  const what = isMonth
    ? "Its days are closed in order, up to the first that must stay open."
    : "It is closed where it is complete; otherwise it stays open.";
  const rows = open.map(({ day, reason }) => ({ cells: [day, sayWords(reason, reader)] }));
  const columns = [
    { name: "open day", as: "head" },
    { name: "state now", as: "text", of: "long" },
  ] as const;
  const form = html`<form method="post" action="/report/close">
<input type="hidden" name="${field}" value="${name}">
<p class="row"><button>Close ${name}</button> ${back}</p>
</form>`;
  return html`<h1>Close ${name}?</h1>
<div class="sheet">
<p>${what} A closed day of ${zone} has a number and a hash. Its statement never changes again, and it cannot be reopened: later changes become corrections.</p>
${isClosable ? renderWarning(closable) : null}
${renderTable({ name: "Open days", columns, rows })}
${(preview?.days ?? []).map((day) => renderGivenUp(day, reader))}
${mayClose && isClosable ? form : html`<p>${back}</p>`}</div>
${mayClose && isClosable ? renderAcceptGaps(name, closable.gaps, reader) : null}`;
}

function renderGivenUp(day: DayPreview, reader: string): SafeHtml {
  const said = sayPreview(day).join("; ");
  return html`<p>It would be closed ${said === "" ? "with nothing missing, pending or open" : sayWords(said, reader)}.</p>`;
}

/** The first closed day shuts out all earlier ones. */
function renderWarning({ name, isMonth, isFirst, firstPulled }: Closable): SafeHtml | null {
  if (!isFirst) return null;
  const first = isMonth ? `the first day that is closed in ${name}` : name;
  const earlier =
    firstPulled === null || firstPulled >= name
      ? null
      : html` The first whole day that was pulled is <a href="/report/close?day=${firstPulled}">${firstPulled}</a>: to have statements from then on, close it first.`;
  return html`<p class="problem">No day is closed yet, and days are closed in order: after this, no day before ${first} can ever be closed.${earlier}</p>`;
}

function renderCheck(check: WholeCheck): SafeHtml {
  const { last } = check;
  return html`<p class="trail"><a href="/report">Report</a> <span aria-hidden="true">›</span> Check</p>
<h1>Check of the closed days</h1>
${renderVerdict(check)}
${last === null ? null : html`<p class="sheet">The last closed day is <a href="/report?day=${last.day}">${last.day}</a> with number ${showCount(last.number)}.<br><span class="faint wrap">hash ${last.hash}</span><br>Keep a copy of this hash in another place: it shows an altered statement even if somebody altered every later hash too.</p>`}`;
}

function renderVerdict(check: BooksCheck): SafeHtml {
  const { days, flaw, sums } = check;
  if (flaw !== null) {
    const checked =
      sums === null
        ? `${showCount(days)} ${days === 1 ? "day before it is" : "days before it are"} as they were closed; later ones were not checked.`
        : "Every stored statement is as it was closed.";
    return html`<p class="verdict" data-state="bad"><span>The closed day <a href="/report?day=${flaw.day}">${flaw.day}</a> ${flaw.what}.</span></p>
<p class="sheet">${checked} Find out who writes to the database besides wallet-recon, and compare with a backup.</p>`;
  }
  if (days === 0) return html`<p class="verdict" data-state="unknown"><span>No day is closed yet.</span></p>`;
  return html`<p class="verdict" data-state="good"><span>Closed days: ${showCount(days)}. No stored statement was altered.${sayRest(check)}</span></p>`;
}

type Fields = Readonly<Record<string, unknown>>;
type AskRequest = FastifyRequest<{ Querystring: Fields }>;

export function addClosingPage(pages: FastifyInstance, context: FlowContext, reports: ReportQueue): void {
  let isClosing = false;
  const check = openBooksCheck(context);
  pages.get("/report/close", async (request: AskRequest, reply) => {
    const closable = await readClosable(context, request.query);
    const { name, open, isMonth, isClosable, zone } = closable;
    const isReady = isClosable && !isMonth && open.some(({ reason }) => reason === READY_TO_CLOSE);
    const givenUp = isReady ? await reports.preview([parseDay(name, zone)], [], reply) : null;
    return await sendPage(request, reply, {
      title: `Close ${closable.name}`,
      path: "/report",
      main: renderConfirmClosing(closable, givenUp, may(request.asker, "close"), zoneOf(request)),
      notice: takeNotice(request, reply),
      live: ["closed"],
    });
  });
  pages.post("/report/close", { config: { needs: "close" } }, async (request, reply) => {
    const [fields, gaps] = takeTypedGaps((request.body ?? {}) as Fields);
    const asked = readReportAsk(fields, context.config.closing.zone);
    if ("month" in asked && gaps !== null) throw usage("acceptGap is about one day: give day, not month");
    const query = "month" in asked ? { month: asked.month } : { day: asked.day };
    if (isClosing) throw new ReconError("conflict", "days are being closed: wait for the result");
    isClosing = true;
    const zone = zoneOf(request);
    try {
      const results =
        "month" in asked
          ? await closeMonth(context, asked.dates)
          : [await closeOne(context, asked.day, gaps, request.asker.name)];
      // What changed in other closed days meanwhile.
      await findCorrections(context, new AbortController().signal);
      const isDone = results.some((one) => "closed" in one);
      setNotice(reply, { tone: isDone ? "good" : "bad", text: sayWords(sayClosings(results), zone) });
    } catch (error) {
      if (statusOfRefusal(error) !== 409) throw error;
      setNotice(reply, { tone: "bad", text: sayWords(`Not closed: ${describeError(error)}.`, zone) });
    } finally {
      isClosing = false;
    }
    return await reply.redirect(`/report?${String(new URLSearchParams(query))}`, 303);
  });
  pages.get("/report/verify", async (request, reply) => {
    const found = await check();
    return await sendPage(request, reply, {
      title: "Check of the closed days",
      path: "/report",
      main: renderCheck(found),
      notice: takeNotice(request, reply),
    });
  });
}

async function closeOne(
  context: FlowContext,
  date: string,
  gaps: TypedGaps | null,
  by: string,
): Promise<Closing> {
  const day = parseDay(date, context.config.closing.zone);
  if (gaps !== null) await acceptGaps(context, day, { ...gaps, by });
  return await closeDay(context, day);
}

async function readClosable(context: FlowContext, query: Fields): Promise<Closable> {
  const { zone } = context.config.closing;
  const asked = readReportAsk(query, zone);
  const isFirst = (await readLastClosed(context.sql)) === null;
  const open = await readOpenDays(context, asked);
  const all = {
    zone,
    open,
    isClosable: hasEnded(asked, zone, context.clock.now()) && (await isAnyClosable(context.sql, open)),
    isFirst,
    firstPulled: isFirst ? ((await findNextDay(context, zone))?.day ?? null) : null,
  };
  if ("month" in asked) return { ...all, name: asked.month, isMonth: true, gaps: [] };
  const gaps = all.isClosable ? await readGaps(context, parseDay(asked.day, zone)) : [];
  return { ...all, name: asked.day, isMonth: false, gaps };
}

async function readOpenDays(context: FlowContext, asked: AskedDay | AskedMonth): Promise<readonly OpenDay[]> {
  if ("month" in asked) return (await readMonth(context, asked)).open;
  const open = await readOpenReason(context, asked.day);
  return open === null ? [] : [open];
}

function sayClosings(results: readonly Closing[]): string {
  const open = results.flatMap((one) => ("reason" in one ? [`${one.day} stays open. ${one.reason}`] : []));
  const fresh = results.flatMap((one) => ("closed" in one && one.isNew ? [one.closed] : []));
  const [only] = fresh;
  const isClosed = results.some((one) => "closed" in one);
  const done =
    only === undefined
      ? isClosed && open.length === 0
        ? "It was closed before."
        : ""
      : fresh.length === 1
        ? `${only.day} is closed with number ${only.number}.`
        : `${fresh.length} days are closed, ${only.day} to ${fresh.at(-1)?.day}.`;
  const said = [done, ...open].filter((part) => part !== "").join(" ");
  return said === ""
    ? "No day of this month can be closed: they lie before the first closed day, or before pulling began."
    : said;
}

/** One checked box comes as text, several as a list. */
const ACCEPTED = z.strictObject({ acceptGap: z.union([z.string(), z.array(z.string())]) });

interface TypedGaps {
  readonly productIds: readonly string[];
  readonly note: string;
}

/**
 * Takes its fields out of a form. @returns the other fields, and null if no box is checked and no note is there
 * @throws ReconError `usage` that names the field
 */
function takeTypedGaps(
  body: Readonly<Record<string, unknown>>,
): readonly [Readonly<Record<string, unknown>>, TypedGaps | null] {
  const { acceptGap, note, ...others } = body;
  if (acceptGap === undefined && note === undefined) return [others, null];
  const typed = read(ACCEPTED, { acceptGap }).acceptGap;
  const productIds = typeof typed === "string" ? [typed] : [...new Set(typed)];
  return [others, { productIds, note: readNote({ note }) }];
}

function renderAcceptGaps(day: string, gaps: readonly GapOfProduct[], reader: string): SafeHtml | null {
  if (gaps.length === 0) return null;
  const boxes = gaps.map(
    ({ productId, missing }) =>
      html`<label class="check"><input type="checkbox" name="acceptGap" value="${productId}">${productId}: ${sayLength(missing)} (${sayWords(sayTimes(missing), reader)})</label>`,
  );
  const note = { label: "Why it cannot be fetched", name: "note", value: "", problem: null };
  return html`<form method="post" action="/report/close" class="sheet" id="accept-gap"><h2>Close it without missing time</h2>
<p>Only if this time can never be fetched. The statement names the products, the missing time, you and your reason. What is fetched later becomes corrections.</p>
<input type="hidden" name="day" value="${day}">
<p>${boxes}</p>
<div class="row">${renderArea(note, html`rows="2" maxlength="${LONGEST_NOTE}" required`)}
<button>Close ${day} without it</button></div></form>`;
}
