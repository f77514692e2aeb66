/** Closed books over HTTP: close, verify, and compare with the provider's invoice. */

import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import pLimit from "p-limit";
import { z } from "zod";
import { dayOf } from "../../closing/day-bounds.ts";
import { INVOICE_CHECK } from "../../closing/invoice.ts";
import { ReconError } from "../../errors.ts";
import { ARCHIVED_DAY, verifyClosedDay } from "../../flows/archive/verify-archive.ts";
import { acceptGaps } from "../../flows/closing/accept-gaps.ts";
import { closeDay } from "../../flows/closing/close-day.ts";
import { CLOSINGS, closeMonth, describeClosings } from "../../flows/closing/close-days.ts";
import { findCorrections } from "../../flows/closing/find-corrections.ts";
import { describePreview } from "../../flows/closing/preview-closing.ts";
import { checkInvoiceOf, MOST_INVOICE_BYTES } from "../../flows/closing/read-invoice.ts";
import { BOOKS_CHECK, openBooksCheck } from "../../flows/closing/verify-books.ts";
import type { FlowContext } from "../../flows/context.ts";
import type { ReportQueue } from "../http/report-queue.ts";
import { read, type Typed } from "../input/fields.ts";
import {
  ARCHIVE_QUERY,
  CLOSING_FORM,
  INVOICE_QUERY,
  parseDay,
  parseMonth,
  readClosing,
} from "../input/report-query.ts";
import { describeOperation } from "./operation.ts";

const CSV = "text/csv";

const CHECK_INVOICE = describeOperation({
  id: "checkInvoice",
  summary: "the provider's invoice beside the closed month; stores nothing, so the right to read is enough",
  query: INVOICE_QUERY,
  body: z.string().meta({
    description: "CSV with a header: product, currency, turnover, ggr, and optionally rate and fee",
  }),
  takes: [CSV],
  answers: { 200: INVOICE_CHECK },
});

const CLOSE = describeOperation({
  id: "closeDays",
  summary:
    "closes a day, or the days of a month as far as a minute allows; a closed day stays closed; a dry run only says what closing would give up",
  body: CLOSING_FORM,
  answers: { 200: CLOSINGS },
});

const VERIFY = describeOperation({
  id: "verifyBooks",
  summary: "whether every closed day and its corrections are as they were stored",
  answers: { 200: BOOKS_CHECK },
});

const VERIFY_ARCHIVE = describeOperation({
  id: "verifyArchivedDay",
  summary: "whether the sealed files of a day are as they were written",
  query: ARCHIVE_QUERY,
  answers: { 200: ARCHIVED_DAY },
});

/** The most checks of archives that wait; the server refuses further ones. */
const MOST_WAITING = 10;

export function addClosingRoutes(api: FastifyInstance, context: FlowContext, reports: ReportQueue): void {
  const { zone } = context.config.closing;
  api.post("/close", { schema: CLOSE, config: { needs: "close" } }, async ({ body, asker }, reply) => {
    const asked = readClosing(body, zone);
    if (asked.dryRun) {
      const days = "day" in asked ? [asked.day] : asked.dates.flatMap((date) => dayOf(date, zone) ?? []);
      const acceptedIds = "day" in asked ? (asked.gaps?.productIds ?? []) : [];
      return describePreview(await reports.preview(days, acceptedIds, reply));
    }
    if ("day" in asked && asked.gaps !== null)
      await acceptGaps(context, asked.day, { ...asked.gaps, by: asker.name });
    const results =
      "day" in asked ? [await closeDay(context, asked.day)] : await closeMonth(context, asked.dates);
    // What changed in other closed days meanwhile.
    await findCorrections(context, new AbortController().signal);
    return await describeClosings(context, results);
  });
  const verify = openBooksCheck(context);
  api.get("/report/verify", { schema: VERIFY }, () => verify());
  const inTurn = pLimit(1);
  api.get<{ Querystring: Typed }>("/archive/verify", { schema: VERIFY_ARCHIVE }, async ({ query }) => {
    const { day } = parseDay(read(ARCHIVE_QUERY, query).day, zone);
    if (inTurn.pendingCount >= MOST_WAITING) {
      const words = `${MOST_WAITING} checks of sealed files are waiting already, which is the limit: try again in a minute, or use "recon archive verify"`;
      throw new ReconError("too-many-reports", words, { retryable: true });
    }
    return await inTurn(() => verifyClosedDay(context, day));
  });
}

export function addInvoiceRoutes(api: FastifyInstance, context: FlowContext): void {
  api.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser<Buffer>(CSV, { parseAs: "buffer" }, (_request, bytes, done) =>
      done(null, bytes),
    );
    scope.addContentTypeParser("*", ({ headers }: FastifyRequest, _payload, done) =>
      done(wrongType(headers["content-type"])),
    );
    scope.setErrorHandler((error: FastifyError) => {
      if (error.code !== "FST_ERR_CTP_BODY_TOO_LARGE") throw error;
      throw refusal(413, `the body is larger than ${MOST_INVOICE_BYTES / 1024 / 1024} MB`);
    });
    scope.post<{ Querystring: Typed }>(
      "/report/invoice",
      { schema: CHECK_INVOICE, bodyLimit: MOST_INVOICE_BYTES, config: { isReading: true } },
      async ({ query, body }) => {
        if (!Buffer.isBuffer(body)) throw wrongType(undefined);
        return await checkInvoiceOf(context, chunksOf(body), parseMonth(read(INVOICE_QUERY, query).month));
      },
    );
  });
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function wrongType(given: string | undefined): Error {
  const type = given === undefined ? "missing" : `"${given.slice(0, 100)}"`;
  return refusal(
    415,
    `the content type is ${type}, but must be ${CSV}, with a header and a line for each product and currency`,
  );
}

function refusal(statusCode: number, detail: string): Error {
  return Object.assign(new Error(detail), { statusCode });
}
