/** `/report/close` and `/report/verify`: closing a day or a month after a question, and checking the closed days (§3.10). */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { OpenDay } from "../../../closed.ts";
import { readLastClosed } from "../../../closing/closed-day-store.ts";
import { dayOf } from "../../../closing/day-bounds.ts";
import { describeError, ReconError } from "../../../errors.ts";
import { type Closing, closeDay, closeDays, findNextDay } from "../../../flows/closing/close-days.ts";
import { findCorrections } from "../../../flows/closing/find-corrections.ts";
import { isAnyClosable } from "../../../flows/closing/left-out-date.ts";
import { readMonth, readOpenReason } from "../../../flows/closing/read-statement.ts";
import { verifyBooks } from "../../../flows/closing/verify-books.ts";
import type { FlowContext } from "../../../flows/context.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import {
  type AskedDay,
  type AskedMonth,
  hasEnded,
  parseDay,
  readReportAsk,
} from "../../input/report-query.ts";
import { setNotice, takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { sayWords } from "../parts/show.ts";
import { zoneOf } from "../parts/zone.ts";
import { type Closable, renderCheck, renderConfirmClosing } from "./render-closing.ts";

type Fields = Readonly<Record<string, unknown>>;
type AskRequest = FastifyRequest<{ Querystring: Fields }>;

/** The longest time that one request closes days, because the browser waits. The next request closes the rest of the month. */
const LONGEST_CLOSING_MS = 60_000;

export function addClosingPage(pages: FastifyInstance, context: FlowContext): void {
  let isClosing = false;
  let checking: ReturnType<typeof check> | null = null;
  pages.get("/report/close", async (request: AskRequest, reply) => {
    const closable = await readClosable(context, request.query);
    return await sendPage(request, reply, {
      title: `Close ${closable.name}`,
      path: "/report",
      main: renderConfirmClosing(closable, request.asker.role === "write", zoneOf(request)),
      notice: takeNotice(request, reply),
      live: ["closed"],
    });
  });
  pages.post("/report/close", async (request, reply) => {
    const asked = readReportAsk(request.body ?? {}, context.config.closing.zone);
    const query = "month" in asked ? { month: asked.month } : { day: asked.day };
    if (isClosing) throw new ReconError("conflict", "days are being closed: wait for the result");
    isClosing = true;
    const zone = zoneOf(request);
    try {
      const results =
        "month" in asked
          ? await closeMonth(context, asked.dates)
          : [await closeDay(context, parseDay(asked.day, context.config.closing.zone))];
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
    // One check serves all who ask meanwhile.
    checking ??= check(context).finally(() => {
      checking = null;
    });
    const found = await checking;
    return await sendPage(request, reply, {
      title: "Check of the closed days",
      path: "/report",
      main: renderCheck(found),
      notice: takeNotice(request, reply),
    });
  });
}

async function check(context: FlowContext) {
  const [found, last] = await Promise.all([verifyBooks(context), readLastClosed(context.sql)]);
  return { ...found, last };
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
  if ("month" in asked) return { ...all, name: asked.month, isMonth: true };
  return { ...all, name: asked.day, isMonth: false };
}

async function readOpenDays(context: FlowContext, asked: AskedDay | AskedMonth): Promise<readonly OpenDay[]> {
  if ("month" in asked) return (await readMonth(context, asked)).open;
  const open = await readOpenReason(context, asked.day);
  return open === null ? [] : [open];
}

/** Closes the dates in order, up to the first that stays open, and as far as the time allows. */
async function closeMonth(context: FlowContext, dates: readonly string[]): Promise<Closing[]> {
  const { clock, config } = context;
  const until = clock.now() + LONGEST_CLOSING_MS;
  const results: Closing[] = [];
  for (const date of dates) {
    const day = dayOf(date, config.closing.zone);
    const [result] = day === null ? [] : await closeDays(context, [day]);
    if (result === undefined) continue;
    results.push(result);
    if ("reason" in result || clock.now() > until) break;
  }
  return results;
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
