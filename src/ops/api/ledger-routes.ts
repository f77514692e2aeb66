/** Entries and recorded callbacks over HTTP: lines, of which each is taken or rejected by itself. */

import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { FlowContext } from "../../flows/context.ts";
import {
  describeImport,
  IMPORT_LIST,
  IMPORT_STORY,
  readImportStory,
  recordImport,
} from "../../flows/ledger/import-ledger.ts";
import type { ImportFormat, ImportShape } from "../../flows/ledger/read-import.ts";
import { addCounts, IMPORT_COUNTS, type ImportCounts, NO_COUNTS } from "../../ledger/import-lines.ts";
import { listImports } from "../../ledger/past-import-store.ts";
import { sendProblem } from "../http/problem.ts";
import { type ImportSeats, MOST_AT_ONCE, MOST_BYTES, MOST_LINES, SentLines } from "../http/sent-lines.ts";
import { PAGE_QUERY, readPage } from "../input/fields.ts";
import { describeOperation, ONE_ID } from "./operation.ts";

const linesOf = (what: string) => z.string().meta({ description: what });

const ENTRY_LINES = linesOf("one JSON object with the columns of callback_entries on each line");
const CALLBACK_LINES = linesOf(
  'one JSON object { "callback", "receivedAt", "request", "response" } on each line',
);

const JSON_LINES = "application/x-ndjson";
const CSV = "text/csv";

const ROUTES = {
  entries: {
    schema: describeOperation({
      id: "importEntries",
      summary: "imports ledger entries; known ones change nothing",
      body: ENTRY_LINES,
      takes: [JSON_LINES, CSV],
      answers: { 200: IMPORT_COUNTS },
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
      summary: "imports recorded callbacks with their answers; known ones change nothing",
      body: CALLBACK_LINES,
      takes: [JSON_LINES],
      answers: { 200: IMPORT_COUNTS },
    }),
    shapes: new Map<string, ImportShape>([[JSON_LINES, "json"]]),
    right: `${JSON_LINES}, with { "callback", "receivedAt", "request", "response" } on each line`,
  },
} as const;

const LIST = describeOperation({
  id: "listImports",
  summary: "imports of every command, page and request, the newest first",
  query: PAGE_QUERY,
  answers: { 200: IMPORT_LIST },
});

const SHOW = describeOperation({
  id: "readImport",
  summary: "one import, with its first rejected lines",
  params: ONE_ID,
  answers: { 200: IMPORT_STORY },
});

export function addLedgerRoutes(api: FastifyInstance, context: FlowContext, seats: ImportSeats): void {
  api.get("/ledger/imports", { schema: LIST }, async ({ query }) => {
    const { limit, after } = readPage(query);
    const page = { limit, after: after === null ? null : Number(after) };
    const { imports, next } = await listImports(context.sql, page);
    return { imports: imports.map(describeImport), next: next === null ? null : String(next) };
  });
  api.get<{ Params: { id: string } }>("/ledger/imports/:id", { schema: SHOW }, async ({ params }) => {
    const found = await readImportStory(context, params.id);
    return { ...describeImport(found), rejected: found.rejected };
  });
  for (const format of ["entries", "callbacks"] as const) {
    api.register(async (scope) => {
      const { schema } = ROUTES[format];
      takeLinesOnly(scope, format);
      scope.addHook("onRequest", async (_request, reply) => {
        if (seats.take(reply)) return;
        reply.header("retry-after", 1);
        const detail = `${MOST_AT_ONCE} imports are under way, which is the limit: send it again when one of them has ended`;
        return await sendProblem(reply, 503, "Service Unavailable", detail);
      });
      scope.post(`/ledger/${format}`, { schema, bodyLimit: MOST_BYTES }, ({ body, asker }) =>
        takeSent(context, format, body, asker.name),
      );
    });
  }
}

async function takeSent(
  context: FlowContext,
  format: ImportFormat,
  body: unknown,
  who: string,
): Promise<ImportCounts> {
  if (!(body instanceof SentLines)) throw refusal(415, wrongType(format, undefined));
  if (body.count > MOST_LINES) {
    const detail = `the body has ${body.count} lines, but may have ${MOST_LINES}: send them in several requests, or use "recon ledger import". Nothing was imported`;
    throw refusal(413, detail);
  }
  let taken = NO_COUNTS;
  const onImported = (part: ImportCounts) => {
    taken = addCounts(taken, part);
  };
  const source = { who, via: "api", format, name: null, bytes: body.bytes.length } as const;
  await recordImport(context, body.chunks(), { shape: body.shape, onImported }, source);
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
      `the body is larger than ${limit}: send it in several requests, or use "recon ledger import". Nothing was imported`,
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
