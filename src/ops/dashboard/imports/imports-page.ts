/** `/imports`: what was imported into the ledger, and a form that imports a file (docs/ledger.md#hand-over-entries). */

import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { FlowContext } from "../../../flows/context.ts";
import { readImportStory, recordImport } from "../../../flows/ledger/import-ledger.ts";
import { IMPORT_FORMATS, type ImportFormat } from "../../../flows/ledger/read-import.ts";
import { listImports } from "../../../ledger/past-import-store.ts";
import { sendProblem } from "../../http/problem.ts";
import { statusOfRefusal } from "../../http/refusals.ts";
import { type ImportSeats, MOST_AT_ONCE, MOST_LINES } from "../../http/sent-lines.ts";
import { read, readOneOf, usage } from "../../input/fields.ts";
import { PAGE } from "../../input/page-query.ts";
import { type Problem, problemOf } from "../parts/fields.ts";
import { takeNotice } from "../parts/notice.ts";
import { sendPage } from "../parts/send-page.ts";
import { zoneOf } from "../parts/zone.ts";
import { renderImport } from "./render-import.ts";
import { renderImports } from "./render-imports.ts";
import { readSentFile, type SentFile } from "./sent-file.ts";

type ListRequest = FastifyRequest<{ Querystring: Readonly<Record<string, unknown>> }>;
type OneRequest = FastifyRequest<{ Params: { id: string } }>;

const PAGE_SIZE = 50;
const QUERY = z.strictObject({ after: PAGE.after });

export function addImportsPage(pages: FastifyInstance, context: FlowContext, seats: ImportSeats): void {
  pages.get("/imports", async (request: ListRequest, reply) => {
    const { after } = read(QUERY, request.query);
    return await sendList(context, request, reply, { after, format: "entries", problem: null });
  });
  pages.get("/imports/:id", async (request: OneRequest, reply) => {
    const story = await readImportStory(context, request.params.id);
    return await sendPage(request, reply, {
      title: `Import ${story.id}`,
      path: "/imports",
      main: renderImport(story, zoneOf(request)),
      notice: takeNotice(request, reply),
      live: ["imports"],
    });
  });
  pages.register(async (scope) => {
    scope.addContentTypeParser(
      "multipart/form-data",
      async ({ headers }: FastifyRequest, payload: IncomingMessage) =>
        readSentFile(payload, headers["content-type"] ?? ""),
    );
    scope.addHook("onRequest", async (_request, reply) => {
      if (seats.take(reply)) return;
      reply.header("retry-after", 1);
      const detail = `${MOST_AT_ONCE} imports are under way, which is the limit: send it again when one of them has ended`;
      return await sendProblem(reply, 503, "Service Unavailable", detail);
    });
    scope.post("/imports", async (request, reply) => {
      const sent = isSentFile(request.body) ? request.body : null;
      try {
        const id = await takeFile(context, sent, request.asker.name);
        return await reply.redirect(`/imports/${id}`, 303);
      } catch (error) {
        if (statusOfRefusal(error) !== 400) throw error;
        const format = sent?.format === "" ? "entries" : (sent?.format ?? "entries");
        return await sendList(context, request, reply.code(400), {
          after: null,
          format,
          problem: atFile(problemOf(error)),
        });
      }
    });
  });
}

function isSentFile(body: unknown): body is SentFile {
  return typeof body === "object" && body !== null && "lines" in body && "problem" in body;
}

/** What is not about the format is about the file. */
function atFile(problem: Problem): Problem {
  if (problem.fields.length > 0) return problem;
  return { ...problem, fields: [{ name: "file", message: problem.text }] };
}

/** @returns the id of the import */
async function takeFile(context: FlowContext, sent: SentFile | null, who: string): Promise<number> {
  if (sent === null) throw usage("the form must have a file", "file");
  const { lines, problem, name } = sent;
  if (lines === null) throw usage(problem ?? "choose a file", "file");
  if (lines.count === 0) throw usage(`${name} is empty: choose a file that has lines`, "file");
  const format: ImportFormat = readOneOf("format", sent.format, IMPORT_FORMATS);
  if (lines.count > MOST_LINES) {
    throw usage(
      `${name} has ${lines.count} lines, but may have ${MOST_LINES}: split it, or use "recon ledger import". Nothing was taken`,
      "file",
    );
  }
  const source = { who, via: "page", format, name, bytes: lines.bytes.length } as const;
  return await recordImport(context, lines.chunks(), { shape: null, onImported: () => {} }, source);
}

interface ShownForm {
  readonly after: string | null;
  readonly format: string;
  readonly problem: Problem | null;
}

async function sendList(
  context: FlowContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { after, format, problem }: ShownForm,
): Promise<FastifyReply> {
  const page = { limit: PAGE_SIZE, after: after === null ? null : Number(after) };
  const list = await listImports(context.sql, page);
  const shown = { list, format, problem, mayImport: request.asker.role === "write" };
  return await sendPage(request, reply, {
    title: "Ledger imports",
    path: "/imports",
    main: renderImports(shown, { now: context.clock.now(), zone: zoneOf(request) }),
    notice: takeNotice(request, reply),
    live: problem === null ? ["imports"] : [],
  });
}
