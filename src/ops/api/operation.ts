/** The description of an API route, for the OpenAPI document. */

import { STATUS_CODES } from "node:http";
import "@fastify/swagger";
import type { FastifySchema } from "fastify";
import { z } from "zod";
import { COUNT, listOf, objectOf, TEXT } from "../../answer.ts";
import { CORRECTION, REPORT } from "../../closed.ts";
import { INVOICE_CHECK } from "../../closing/invoice.ts";
import { ALERT, ALERT_LIST } from "../../flows/alerts/send-again.ts";
import { ARCHIVED_DAY } from "../../flows/archive/verify-archive.ts";
import { CLOSINGS } from "../../flows/closing/close-days.ts";
import { BOOKS_CHECK } from "../../flows/closing/verify-books.ts";
import { IMPORT, IMPORT_LIST, IMPORT_STORY } from "../../flows/ledger/import-ledger.ts";
import { ACTION_RESULT } from "../../flows/mismatches/act-on-mismatches.ts";
import { INCIDENT_CHANGE } from "../../flows/mismatches/change-cases.ts";
import { BACKFILL, BACKFILL_LIST, BACKFILL_PLAN } from "../../flows/pull/backfill.ts";
import { INCIDENT, INCIDENT_LIST, INCIDENT_STORY } from "../../flows/read/incident-document.ts";
import { COVERAGE } from "../../flows/read/read-coverage.ts";
import { EVIDENCE } from "../../flows/read/read-evidence.ts";
import { MISMATCH_STORY } from "../../flows/read/read-mismatch.ts";
import { STATUS } from "../../flows/read/read-status.ts";
import { TRANSFER, TRANSFER_LIST, TRANSFER_STORY } from "../../flows/read/read-transfer.ts";
import { FOUND_BET, SEARCH_ANSWER } from "../../flows/read/search-answer.ts";
import { REJECTED_LIST, REJECTED_STORY } from "../../flows/rejected/read-rejected.ts";
import { RETRY_RESULT } from "../../flows/rejected/retry-rejected.ts";
import { TRENDS } from "../../flows/trends/trends.ts";
import { IMPORT_COUNTS } from "../../ledger/import-lines.ts";
import { LEDGER_SIDE, MISMATCH, MISMATCH_LIST, PROVIDER_SIDE, TRANSFER_SIDE } from "../../mismatch.ts";
import { COMMENT } from "../../mismatches/comment-store.ts";
import { LEDGER_REPORT_SIDE, REPORT_ROW, REPORT_SIDE } from "../../report.ts";
import { REPORT_ITEMS } from "../../report-item.ts";
import { COMMENT_FORM } from "../input/fields.ts";
import { BACKFILL_FORM } from "../input/range-query.ts";
import { CLOSING_FORM } from "../input/report-query.ts";
import { HAND_OVER_FORM } from "../input/transfer-query.ts";

/** A piece of JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

export interface Operation {
  /** unique among all routes */
  readonly id: string;
  /** one line */
  readonly summary: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** the media types of the body; without them it is application/json */
  readonly takes?: readonly string[];
  /** the answers by status, apart from problems */
  readonly answers: Readonly<Record<number, z.ZodType>>;
  /** the media types of the other forms of the answer 200, which are text */
  readonly also?: readonly string[];
}

/** The path of a route about one of something. */
export const ONE_ID = z.strictObject({ id: z.string() });

/** The answer to a new comment. */
export const ONE_COMMENT = objectOf({ comment: COMMENT });

const PROBLEM = objectOf({
  type: TEXT.meta({ format: "uri-reference", description: "leads to the explanation of `code`" }),
  title: TEXT,
  status: COUNT,
  detail: TEXT.meta({ description: "what is wrong with this request, naming field and value" }),
  code: TEXT.meta({ description: "stable; docs/errors.md has all" }),
  errors: listOf(objectOf({ field: TEXT, detail: TEXT }))
    .meta({ description: "each wrong field once; absent if the problem is about no field" })
    .optional(),
});

/** The schemas that the document names, so that a generated client has types for them. */
const NAMES: ReadonlyMap<unknown, string> = new Map<z.ZodType, string>([
  [PROBLEM, "Problem"],
  [MISMATCH, "Mismatch"],
  [MISMATCH_LIST, "MismatchList"],
  [MISMATCH_STORY, "MismatchStory"],
  [PROVIDER_SIDE, "ProviderSide"],
  [LEDGER_SIDE, "LedgerSide"],
  [TRANSFER_SIDE, "TransferSide"],
  [ACTION_RESULT, "ActionResult"],
  [COMMENT, "Comment"],
  [COMMENT_FORM, "CommentRequest"],
  [INCIDENT, "Incident"],
  [INCIDENT_LIST, "IncidentList"],
  [INCIDENT_STORY, "IncidentStory"],
  [INCIDENT_CHANGE, "IncidentChangeResult"],
  [EVIDENCE, "Evidence"],
  [BACKFILL, "Backfill"],
  [BACKFILL_LIST, "BackfillList"],
  [BACKFILL_PLAN, "BackfillPlan"],
  [BACKFILL_FORM, "BackfillRequest"],
  [TRANSFER, "Transfer"],
  [TRANSFER_LIST, "TransferList"],
  [TRANSFER_STORY, "TransferStory"],
  [HAND_OVER_FORM, "TransferRequest"],
  [STATUS, "Status"],
  [COVERAGE, "Coverage"],
  [TRENDS, "Trends"],
  [SEARCH_ANSWER, "SearchResult"],
  [FOUND_BET, "Bet"],
  [REPORT, "Report"],
  [REPORT_ROW, "ReportRow"],
  [REPORT_SIDE, "ReportSide"],
  [LEDGER_REPORT_SIDE, "LedgerReportSide"],
  [CORRECTION, "Correction"],
  [REPORT_ITEMS, "ReportItems"],
  [INVOICE_CHECK, "InvoiceCheck"],
  [CLOSINGS, "Closings"],
  [CLOSING_FORM, "ClosingRequest"],
  [BOOKS_CHECK, "BooksCheck"],
  [ARCHIVED_DAY, "ArchivedDay"],
  [ALERT, "Alert"],
  [ALERT_LIST, "AlertList"],
  [IMPORT, "Import"],
  [IMPORT_LIST, "ImportList"],
  [IMPORT_STORY, "ImportStory"],
  [IMPORT_COUNTS, "ImportResult"],
  [REJECTED_LIST, "RejectedList"],
  [REJECTED_STORY, "RejectedStory"],
  [RETRY_RESULT, "RetryResult"],
]);

/**
 * The problems that any route may answer. Each by its status: generators of clients write "4XX" into their code as a number, and with
 * "default" a status decides no type.
 */
const PROBLEMS: Schema = Object.fromEntries(
  [400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 500, 503].map((status) => [
    status,
    asProblem(STATUS_CODES[status] ?? ""),
  ]),
);

/** The `schema` of a Fastify route. */
export function describeOperation(operation: Operation): FastifySchema {
  const { id, summary, params, query, body, takes, answers, also = [] } = operation;
  const described = Object.entries(answers).map(([status, answer]) => {
    const forms = status === "200" ? also.map((type) => [type, { schema: { type: "string" } }]) : [];
    const json = { schema: describe(answer, "output") };
    const content = { "application/json": json, ...Object.fromEntries(forms) };
    return [status, { description: summary, content }] as const;
  });
  return {
    operationId: id,
    summary,
    ...(params === undefined ? {} : { params: describe(params, "input") }),
    ...(query === undefined ? {} : { querystring: describe(query, "input") }),
    ...(body === undefined ? {} : { body: describe(body, "input") }),
    ...(takes === undefined ? {} : { consumes: takes }),
    response: { ...Object.fromEntries(described), ...PROBLEMS },
  };
}

/** An event that is posted to the operator's own address, signed; see docs/alerts.md. */
export function describeWebhook(summary: string, event: z.ZodType): Schema {
  const content = { "application/json": { schema: describe(event, "output") } };
  const responses = { "2XX": { description: "received; any other answer is tried again" } };
  return { post: { summary, requestBody: { required: true, content }, responses } };
}

/** The JSON Schema of what is sent ("input"), or answered ("output"). */
function describe(form: z.ZodType, io: "input" | "output"): Schema {
  const { $schema, ...schema } = z.toJSONSchema(form, { io, override: mend });
  return schema;
}

/** Zod leaves out the defaults of values that it transforms. It marks lists that the compiler lets no one change. Names become titles. */
function mend({ zodSchema, jsonSchema }: Parameters<NonNullable<z.core.ToJSONSchemaParams["override"]>>[0]) {
  const { def } = zodSchema._zod;
  const name = NAMES.get(zodSchema);
  if (name !== undefined) jsonSchema.title = name;
  if (def.type === "default" && !Array.isArray(def.defaultValue)) jsonSchema.default = def.defaultValue;
  delete jsonSchema.readOnly;
}

function asProblem(description: string) {
  return { description, content: { "application/problem+json": { schema: describe(PROBLEM, "output") } } };
}

type Json = unknown;

/**
 * Moves every schema with a name to `components.schemas`, and leaves a reference in its place.
 * @throws Error if two schemas have one name: a form that is sent and answered has two, for example
 */
export function nameSchemas<Document extends object>(document: Document): Document {
  const { paths, webhooks, components, ...rest } = document as Record<string, Json>;
  const schemas = new Map<string, Json>();
  const visit = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== "object" || node === null) return node;
    const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, visit(value)]));
    const { title } = inner;
    if (typeof title !== "string") return inner;
    const before = schemas.get(title);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(inner))
      throw new Error(`two schemas of the API are named ${title}`);
    schemas.set(title, inner);
    return { $ref: `#/components/schemas/${title}` };
  };
  const named = { paths: visit(paths), webhooks: visit(webhooks) };
  const sorted = Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1)));
  return {
    ...rest,
    ...named,
    components: { ...(components as object), schemas: sorted },
  } as unknown as Document;
}
