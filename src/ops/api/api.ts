/** The API: the outputs and actions of the commands, over HTTP. */

import { Readable } from "node:stream";
import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { listAudit } from "../../access/audit-store.ts";
import type { AlertChannel } from "../../alerts/channel.ts";
import { EVENTS } from "../../alerts/event.ts";
import { STATEMENT_CLOSED, STATEMENT_CLOSED_EVENT } from "../../alerts/statement-closed.ts";
import { COUNT, INSTANT, listOf, NEXT, objectOf, TEXT } from "../../answer.ts";
import { formatInstant } from "../../clock.ts";
import { REPORT } from "../../closed.ts";
import { refuseAltered } from "../../flows/closing/closed-facts.ts";
import { readAgainst, readMonth } from "../../flows/closing/read-statement.ts";
import type { FlowContext } from "../../flows/context.ts";
import { COVERAGE, readCoverageOf } from "../../flows/read/read-coverage.ts";
import { readStatus, STATUS } from "../../flows/read/read-status.ts";
import { search } from "../../flows/read/search.ts";
import { describeSearch, SEARCH_ANSWER } from "../../flows/read/search-answer.ts";
import {
  describeTrends,
  MOST_MONTHS,
  openTrends,
  readMonthlyShares,
  TRENDS,
} from "../../flows/trends/trends.ts";
import { REPORT_ITEMS } from "../../report-item.ts";
import { ROLE_NAMES } from "../../roles.ts";
import { againstAsCsv, monthAsCsv, pagesAsCsv, reportAsCsv } from "../csv/report-csv.ts";
import { addContentEncoding } from "../http/content-encoding.ts";
import { addIdempotency } from "../http/idempotency.ts";
import type { ReportQueue } from "../http/report-queue.ts";
import type { ImportSeats } from "../http/sent-lines.ts";
import { LARGEST_LIMIT, PAGE_QUERY, readPage, type Typed, usage } from "../input/fields.ts";
import { show } from "../input/messages.ts";
import { RANGE_QUERY, readProductRange, readTrendQuery, TREND_QUERY } from "../input/range-query.ts";
import {
  AGAINST_QUERY,
  ITEMS_QUERY,
  readAgainstAsk,
  readItemsAsk,
  readReportAsk,
} from "../input/report-query.ts";
import { readSearch, SEARCH_QUERY } from "../input/search-query.ts";
import { addAlertRoutes } from "./alert-routes.ts";
import { addBackfillRoutes } from "./backfill-routes.ts";
import { addClosingRoutes, addInvoiceRoutes } from "./closing-routes.ts";
import { addLedgerRoutes } from "./ledger-routes.ts";
import { addEvidenceRoutes, addIncidentRoutes, addMismatchRoutes } from "./mismatch-routes.ts";
import { describeOperation, describeWebhook, nameSchemas } from "./operation.ts";
import { addRejectedRoutes } from "./rejected-routes.ts";
import { addTransferRoutes } from "./transfer-routes.ts";

const AUDIT = objectOf({
  audit: listOf(
    objectOf({
      id: TEXT,
      at: INSTANT,
      who: TEXT.meta({
        description:
          "the name of the token, or of the user at a proxy; of a command, the account; local: without tokens",
      }),
      role: z.enum(ROLE_NAMES),
      by: z.enum(["token", "session", "proxy", "loopback", "command"]),
      address: TEXT,
      method: TEXT,
      route: TEXT,
      target: z.record(TEXT, TEXT),
      details: z
        .unknown()
        .meta({ description: "the sent body without secrets; null: no body, or an unread one" }),
      status: z.nullable(
        COUNT.meta({
          description: "of the answer, or a command's exit code; null: there was no answer",
        }),
      ),
    }),
  ),
  next: NEXT,
});

const LIST = describeOperation({
  id: "listAudit",
  summary: "every requested change, the newest first",
  query: PAGE_QUERY,
  answers: { 200: AUDIT },
});

function addAuditRoutes(api: FastifyInstance, { sql }: FlowContext): void {
  api.get("/audit", { schema: LIST }, async ({ query }) => {
    const { audit, next } = await listAudit(sql, readPage(query));
    const described = audit.map(({ id, at, target, details, ...rest }) => ({
      id: String(id),
      at: formatInstant(at),
      ...rest,
      target: JSON.parse(target) as unknown,
      details: details === null ? null : (JSON.parse(details) as unknown),
    }));
    return { audit: described, next };
  });
}

const READ_STATUS = describeOperation({
  id: "readStatus",
  summary: "the state of each product, and what waits",
  answers: { 200: STATUS },
});

const READ_COVERAGE = describeOperation({
  id: "readCoverage",
  summary: "the fetched time of a product, and the gaps",
  query: RANGE_QUERY,
  answers: { 200: COVERAGE },
});

const READ_REPORT = describeOperation({
  id: "readReport",
  summary: "the statement of a day, of a month of closed days, or a day against another one",
  query: AGAINST_QUERY,
  answers: { 200: REPORT },
  also: ["text/csv"],
});

const LIST_ITEMS = describeOperation({
  id: "listReportItems",
  summary: "the lines that the rows of a statement are made of: each bet, round or session",
  query: ITEMS_QUERY,
  answers: { 200: REPORT_ITEMS },
  also: ["text/csv"],
});

const SEARCH = describeOperation({
  id: "search",
  summary: "what an id belongs to, and what both sides have of that bet",
  query: SEARCH_QUERY,
  answers: { 200: SEARCH_ANSWER },
});

const READ_TRENDS = describeOperation({
  id: "readTrends",
  summary: "what has changed over the last day, week or month, or a range",
  query: TREND_QUERY,
  answers: { 200: TRENDS },
});

function addTrendsRoute(api: FastifyInstance, context: FlowContext): void {
  const readTrends = openTrends(context);
  const products = context.config.products.map(({ productId }) => productId);
  api.get<{ Querystring: Typed }>("/trends", { schema: READ_TRENDS }, async ({ query }) => {
    const now = context.clock.now();
    const { time, product: productId } = readTrendQuery(query, products, now);
    const [trends, months] = await Promise.all([
      readTrends(productId, time),
      readMonthlyShares(context.sql, now, MOST_MONTHS, productId),
    ]);
    return describeTrends({ span: typeof time === "string" ? time : null, productId }, trends, months);
  });
}

const READ_OPENAPI = describeOperation({
  id: "readOpenApi",
  summary: "this document",
  answers: { 200: z.unknown().meta({ type: "object" }) },
});

interface ApiParts {
  readonly reports: ReportQueue;
  readonly imports: ImportSeats;
  /** of the worker in this process; default: none */
  readonly channels?: readonly AlertChannel[];
}

/** @param api a scope with access rules: its requests have an asker, and changes the role that they need */
export async function addApi(
  api: FastifyInstance,
  context: FlowContext,
  { reports, imports, channels = [] }: ApiParts,
): Promise<void> {
  const { config } = context;
  takeJsonOnly(api);
  addIdempotency(api, context);
  refuseUnreadQuery(api);
  await addContentEncoding(api);
  await addDocument(api);
  api.get("/status", { schema: READ_STATUS }, () => readStatus(context));
  api.get<{ Querystring: Typed }>("/search", { schema: SEARCH }, async ({ query }) => {
    const q = readSearch(query);
    return describeSearch(q, await search(context, q));
  });
  addMismatchRoutes(api, context);
  addIncidentRoutes(api, context);
  addEvidenceRoutes(api, context);
  api.get<{ Querystring: Typed }>("/coverage", { schema: READ_COVERAGE }, ({ query }) =>
    readCoverageOf(context, readProductRange(query, config)),
  );
  api.get("/report", { schema: READ_REPORT }, async ({ query, headers }, reply) => {
    reply.header("vary", "accept");
    const isCsv = /\btext\/csv\b/i.test(headers.accept ?? "");
    const days = readAgainstAsk(query, config.closing.zone);
    if (days !== null) {
      const compared = await readAgainst(context, days, (day) => reports.read(day, reply));
      if (!isCsv) return compared;
      return await reply.type("text/csv; charset=utf-8").send(againstAsCsv(compared));
    }
    const asked = readReportAsk(query, config.closing.zone);
    const report = "month" in asked ? await readMonth(context, asked) : await reports.read(asked, reply);
    await refuseAltered(context, report);
    if (!isCsv) return report;
    const csv = "month" in report ? monthAsCsv(report) : reportAsCsv(report);
    return await reply.type("text/csv; charset=utf-8").send(csv);
  });
  addInvoiceRoutes(api, context);
  addClosingRoutes(api, context, reports);
  api.get<{ Querystring: Typed }>(
    "/report/items",
    { schema: LIST_ITEMS },
    async ({ query, headers }, reply) => {
      const { asked, filter, page } = await readItemsAsk(context, query);
      const first = await reports.readItems(asked, filter, page, reply);
      reply.header("vary", "accept");
      if (!/\btext\/csv\b/i.test(headers.accept ?? "")) return first;
      reply.header("content-disposition", 'attachment; filename="report-items.csv"');
      const whole = query["limit"] === undefined;
      const lines = pagesAsCsv(whole ? first : { ...first, next: null }, (after) =>
        reports.readItems(asked, filter, { limit: LARGEST_LIMIT, after }, reply),
      );
      return await reply.type("text/csv; charset=utf-8").send(Readable.from(lines));
    },
  );
  addBackfillRoutes(api, context);
  addTrendsRoute(api, context);
  addAlertRoutes(api, context, channels);
  addTransferRoutes(api, context);
  addLedgerRoutes(api, context, imports);
  addRejectedRoutes(api, context);
  addAuditRoutes(api, context);
}

/** The deepest nesting of a body. A deeper body could be parsed, but not written to the audit log. */
const DEEPEST_BODY = 8;

/**
 * Some clients announce JSON with every POST. An empty body counts as no body; routes that need one say so.
 */
function takeJsonOnly(api: FastifyInstance): void {
  const parse = api.getDefaultJsonParser("error", "error");
  api.removeAllContentTypeParsers();
  api.addContentTypeParser<string>("*", { parseAs: "string" }, ({ headers }, text, done) => {
    if (text === "") return done(null, undefined);
    const type = show(headers["content-type"] ?? "");
    done(
      Object.assign(new Error(`Content-Type is ${type}, but must be application/json`), { statusCode: 415 }),
    );
  });
  api.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, text, done) => {
    if (text === "") return done(null, undefined);
    parse(request, text, (error, body: unknown) =>
      isDeeper(body, DEEPEST_BODY) ? done(usage("the body is nested too deeply")) : done(error, body),
    );
  });
}

/** Otherwise `POST …/assign?dryRun=true` would make the change. */
function refuseUnreadQuery(api: FastifyInstance): void {
  api.addHook("preHandler", async ({ method, query, routeOptions }) => {
    if (method !== "POST" || routeOptions.schema?.querystring !== undefined) return;
    const [name] = Object.keys(query as object);
    if (name !== undefined) throw usage(`${show(name)} is in the address, but must be in the body`, name);
  });
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}

/**
 * `GET /api/openapi.json`, made of the schemas of the routes that are added afterwards.
 *
 * Fastify does not validate: each route reads its request with the same schema, so that HTTP and the command line
 * report errors in the same words.
 */
async function addDocument(api: FastifyInstance): Promise<void> {
  api.setValidatorCompiler(() => () => true);
  api.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "wallet-recon",
        description:
          "The differences between the provider and the wallet, and the decisions about them. Amounts are decimal text.",
        version: "1",
      },
      components: {
        securitySchemes: {
          token: {
            type: "http",
            scheme: "bearer",
            description: "one of OPS_TOKENS, with the role that a POST needs",
          },
          session: { type: "apiKey", in: "cookie", name: "recon_session" },
        },
      },
      security: [{ token: [] }, { session: [] }],
      webhooks: {
        [STATEMENT_CLOSED]: describeWebhook("A day was closed (ALERT_WEBHOOK_URL)", STATEMENT_CLOSED_EVENT),
        ...Object.fromEntries(
          EVENTS.map(({ type, summary, schema }) => [
            type,
            describeWebhook(`${summary} (alerts.endpoints)`, schema),
          ]),
        ),
      },
    },
  });
  // The document does not change while the server runs.
  let document: object | null = null;
  api.get("/openapi.json", { schema: READ_OPENAPI }, () => {
    document ??= nameSchemas(api.swagger());
    return document;
  });
}
