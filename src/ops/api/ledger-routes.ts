/** Entries and recorded callbacks over HTTP: lines, of which each is taken or rejected by itself. */

import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import type { FlowContext } from "../../flows/context.ts";
import { importLedger } from "../../flows/ledger/import-ledger.ts";
import type { ImportFormat, ImportShape } from "../../flows/ledger/read-import.ts";
import { addTaken, NOTHING_TAKEN, type Taken } from "../../ledger/take-lines.ts";
import { sendProblem } from "../http/problem.ts";
import { CALLBACK_LINES, ENTRY_LINES, TAKEN } from "./ledger-schema.ts";
import { describeOperation } from "./operation.ts";

const MOST_BYTES = 16 * 1024 * 1024;
const MOST_LINES = 10_000;
/** Each holds its whole body in memory. */
const MOST_AT_ONCE = 4;
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
const JSON_LINES = "application/x-ndjson";
const CSV = "text/csv";

/** The lines of a request. The audit log shows how many there were, and not what they say. */
class SentLines {
  readonly bytes: Buffer;
  readonly shape: ImportShape;
  readonly count: number;

  constructor(bytes: Buffer, shape: ImportShape) {
    this.bytes = bytes;
    this.shape = shape;
    this.count = countLines(bytes);
  }

  toJSON() {
    return { lines: this.count, bytes: this.bytes.length };
  }
}

const ROUTES = {
  entries: {
    schema: describeOperation({
      id: "importEntries",
      summary: "takes entries of the ledger; those that are known already change nothing",
      body: ENTRY_LINES,
      takes: [JSON_LINES, CSV],
      answers: { 200: TAKEN },
    }),
    shapes: new Map<string, ImportShape>([
      [JSON_LINES, "json"],
      [CSV, "csv"],
    ]),
    right: `${JSON_LINES}, with the columns of an entry as a JSON object on each line, or ${CSV} with a header`,
  },
  callbacks: {
    schema: describeOperation({
      id: "importCallbacks",
      summary: "takes recorded callbacks with their answers; those that are known already change nothing",
      body: CALLBACK_LINES,
      takes: [JSON_LINES],
      answers: { 200: TAKEN },
    }),
    shapes: new Map<string, ImportShape>([[JSON_LINES, "json"]]),
    right: `${JSON_LINES}, with { "callback", "receivedAt", "request", "response" } on each line`,
  },
} as const;

export function addLedgerRoutes(api: FastifyInstance, context: FlowContext): void {
  let underWay = 0;
  for (const format of ["entries", "callbacks"] as const) {
    api.register(async (scope) => {
      const { schema } = ROUTES[format];
      takeLinesOnly(scope, format);
      scope.addHook("onRequest", async ({ headers: { "content-encoding": coding } }) => {
        if (coding === undefined || coding === "identity") return;
        throw refusal(
          415,
          `the content encoding is "${coding.slice(0, 100)}", but must be none: send it as it is`,
        );
      });
      scope.addHook("onRequest", async (_request, reply) => {
        if (underWay >= MOST_AT_ONCE) {
          reply.header("retry-after", 1);
          const detail = `${MOST_AT_ONCE} imports are under way, which is the limit: send it again when one of them is answered`;
          return await sendProblem(reply, 503, "Service Unavailable", detail);
        }
        underWay += 1;
        reply.raw.once("close", () => {
          underWay -= 1;
        });
      });
      scope.post(`/ledger/${format}`, { schema, bodyLimit: MOST_BYTES }, ({ body }) =>
        takeSent(context, format, body),
      );
    });
  }
}

async function takeSent(context: FlowContext, format: ImportFormat, body: unknown): Promise<Taken> {
  if (!(body instanceof SentLines)) throw refusal(415, wrongType(format, undefined));
  if (body.count > MOST_LINES) {
    const detail = `the body has ${body.count} lines, but may have ${MOST_LINES}: send them in several requests, or use "recon ledger import". Nothing was taken`;
    throw refusal(413, detail);
  }
  let taken = NOTHING_TAKEN;
  await importLedger(context, chunksOf(body.bytes), {
    format,
    shape: body.shape,
    onTaken: (part) => {
      taken = addTaken(taken, part);
    },
  });
  return taken;
}

function takeLinesOnly(scope: FastifyInstance, format: ImportFormat): void {
  const { shapes } = ROUTES[format];
  scope.removeAllContentTypeParsers();
  for (const [type, shape] of shapes) {
    scope.addContentTypeParser<Buffer>(type, { parseAs: "buffer" }, (_request, bytes, done) =>
      done(null, new SentLines(bytes, shape)),
    );
  }
  // Without reading the body: of another type it says nothing.
  scope.addContentTypeParser("*", ({ headers }: FastifyRequest, _payload, done) =>
    done(refusal(415, wrongType(format, headers["content-type"]))),
  );
  scope.setErrorHandler((error: FastifyError) => {
    if (error.code !== "FST_ERR_CTP_BODY_TOO_LARGE") throw error;
    const limit = `${MOST_BYTES / 1024 / 1024} MB`;
    throw refusal(
      413,
      `the body is larger than ${limit}: send it in several requests, or use "recon ledger import". Nothing was taken`,
    );
  });
}

function wrongType(format: ImportFormat, given: string | undefined): string {
  const type = given === undefined ? "missing" : `"${given.slice(0, 100)}"`;
  return `the content type is ${type}, but must be ${ROUTES[format].right}`;
}

function refusal(statusCode: number, detail: string): Error {
  return Object.assign(new Error(detail), { statusCode });
}

/** @returns how many lines are not empty */
function countLines(bytes: Buffer): number {
  let count = 0;
  for (let from = 0; from < bytes.length; ) {
    const next = bytes.indexOf(NEWLINE, from);
    const end = next < 0 ? bytes.length : next;
    if (end > from) count += 1;
    from = end + 1;
  }
  return count;
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
}
