/**
 * Makes requested reports one at a time, and drops those whose caller has left (docs/operations.md#limits).
 */

import { performance } from "node:perf_hooks";
import type { FastifyReply } from "fastify";
import pLimit from "p-limit";
import type { DayStatement } from "../../closed.ts";
import type { ZonedDay } from "../../closing/day-bounds.ts";
import { ReconError } from "../../errors.ts";
import { type ClosingPreview, previewClosing } from "../../flows/closing/preview-closing.ts";
import {
  type AskedItems,
  type ItemFilter,
  type ItemPage,
  isStored,
  readItemPage,
} from "../../flows/closing/read-items.ts";
import { readStatement } from "../../flows/closing/read-statement.ts";
import { REPORT_LIMITS } from "../../flows/compare/comparison-context.ts";
import type { FlowContext } from "../../flows/context.ts";
import { type Making, readReport } from "../../flows/reports/read-report.ts";
import type { AskedDay } from "../input/report-query.ts";

/** The most waiting reports; the server refuses further ones. */
const MOST_WAITING = 10;

/**
 * The process that makes a report also pulls. After each piece of work, the report rests for this many times the
 * length of the piece, so that it uses at most a ninth of the time for its first minutes. A cancelled report causes a rest before the next
 * one too. If the process is otherwise idle, a quarter of the piece is enough.
 */
const REST_SHARE = 8;
const QUIET_SHARE = 0.25;
const SHORTEST_PIECE_MS = 200;
/** The longest rest: the database ends a transaction that is idle for long. */
const LONGEST_REST_MS = 60_000;
/** After this much rest a report takes half of the time, so that its reader does not wait longer. */
const MUCH_REST_MS = 90_000;
/** The share of busy time below which a process counts as idle; a process that pulls is far busier. */
const QUIET = 0.05;

export interface ReportQueue {
  /**
   * Makes a report when its turn comes. Cancels the report when its requester leaves.
   * @throws ReconError `too-many-reports`; `report-left` if the requester has left
   */
  read(day: AskedDay, reply: FastifyReply): Promise<DayStatement>;
  /** The same for one page of lines. */
  readItems(
    asked: AskedItems,
    filter: ItemFilter,
    page: { readonly limit: number; readonly after: string | null },
    reply: FastifyReply,
  ): Promise<ItemPage>;
  /** The same for what closing days would give up, which takes a report of each. */
  preview(
    days: readonly ZonedDay[],
    acceptedIds: readonly string[],
    reply: FastifyReply,
  ): Promise<ClosingPreview>;
}

type Work<Result> = (making: Making) => Promise<Result>;

export function openReportQueue(context: FlowContext): ReportQueue {
  const inTurn = pLimit(1);
  const { clock } = context;
  let busySince = 0;
  /** the work since the last rest */
  let workedMs = 0;
  /** the rest of the present report so far */
  let restedInAllMs = 0;
  const restAfterWork = async (signal: AbortSignal) => {
    workedMs += clock.now() - busySince;
    busySince = clock.now();
    if (workedMs < SHORTEST_PIECE_MS) return;
    const share = restedInAllMs < MUCH_REST_MS ? REST_SHARE : 1;
    const longestMs = Math.min(workedMs * share, LONGEST_REST_MS);
    const restsFrom = clock.now();
    const partMs = Math.min(workedMs * QUIET_SHARE, longestMs);
    for (let restedMs = 0; restedMs < longestMs && !signal.aborted; restedMs += partMs) {
      const before = performance.eventLoopUtilization();
      await clock.sleep(Math.min(partMs, longestMs - restedMs), signal);
      if (performance.eventLoopUtilization(before).utilization < QUIET) break;
    }
    busySince = clock.now();
    restedInAllMs += busySince - restsFrom;
    if (!signal.aborted) workedMs = 0;
  };
  const make = async <Result>(signal: AbortSignal, work: Work<Result>) => {
    signal.throwIfAborted();
    busySince = clock.now();
    restedInAllMs = 0;
    try {
      return await work({ signal, limits: REPORT_LIMITS, rest: () => restAfterWork(signal) });
    } catch (error) {
      // Otherwise repeated reloads would leave no time for other work.
      if (signal.aborted) await restAfterWork(new AbortController().signal);
      throw error;
    }
  };
  const inQueue = async <Result>(day: string, { raw }: FastifyReply, work: Work<Result>): Promise<Result> => {
    if (inTurn.pendingCount >= MOST_WAITING) {
      throw new ReconError(
        "too-many-reports",
        `${MOST_WAITING} reports wait already, which is the limit: the server makes one at a time. Try again in a minute; "recon report" makes one without waiting.`,
        { retryable: true },
      );
    }
    const left = new AbortController();
    const leave = () =>
      left.abort(new ReconError("report-left", `the caller of the report of ${day} has left`));
    raw.once("close", leave);
    try {
      return await inTurn(() => make(left.signal, work));
    } finally {
      raw.off("close", leave);
    }
  };
  // The statement of a closed day is stored, so it need not wait.
  return {
    read: (day, reply) =>
      readStatement(context, day, (open) =>
        inQueue(open.day, reply, ({ signal, limits, rest }) =>
          readReport(context, open, signal, limits, rest),
        ),
      ),
    readItems: async (asked, filter, page, reply) => {
      if ("month" in asked || (await isStored(context, asked)))
        return await readItemPage(context, asked, filter, page);
      return await inQueue(asked.day, reply, (making) => readItemPage(context, asked, filter, page, making));
    },
    preview: (days, acceptedIds, reply) =>
      inQueue(days[0]?.day ?? "no day", reply, (making) =>
        previewClosing(context, days, acceptedIds, making),
      ),
  };
}
