/** `POST /api/report/invoice`: the provider's invoice of a month against the closed books. Nothing is stored. */

import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { INVOICE_CHECK } from "../../closing/invoice.ts";
import { checkInvoiceOf, MOST_INVOICE_BYTES } from "../../flows/closing/read-invoice.ts";
import type { FlowContext } from "../../flows/context.ts";
import { read, type Typed } from "../input/fields.ts";
import { INVOICE_QUERY, parseMonth } from "../input/report-query.ts";
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
