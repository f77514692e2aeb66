import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fastify from "fastify";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { AlertChannel } from "../../src/alerts/channel.ts";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { recordTransitions } from "../../src/flows/mismatches/record-transitions.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import { addApi } from "../../src/ops/api/api.ts";
import { openReportQueue } from "../../src/ops/http/report-queue.ts";
import { LONGEST_STILL_MS, openImportSeats } from "../../src/ops/http/sent-lines.ts";
import { writeRejected } from "../../src/sync/rejected-store.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { exampleEntry, exampleRecord, exampleSettle, NOON } from "../support/examples.ts";
import { exampleFinding } from "../support/findings.ts";
import { useSchemas, withoutReferences } from "../support/json-schema.ts";
import { type AskRaw, serveOps } from "../support/ops-browser.ts";
import { pullProduct } from "../support/pull-product.ts";

const { sql } = useDatabase();
const findFault = useSchemas();
const clock = createTestClock(NOON);
const archive = mkdtempSync(join(tmpdir(), "recon-openapi-"));
afterAll(() => rmSync(archive, { recursive: true }));
const config = parseConfig({
  closing: { archive },
  products: [
    { productId: "P1", since: "2026-11-20T11:30:00Z" },
    { productId: "T1", walletMode: "transfer" },
  ],
});
const context: FlowContext = { sql, clock, log: silentLog, config };

const TRANSFER = {
  username: "anna",
  productId: "T1",
  currency: "THB",
  transactionRef: "ref-1",
  type: "DEPOSIT",
  amount: "10.00",
  sentAt: "2026-11-20T11:00:00Z",
};
const RANGE = { productId: "P1", from: "2026-11-19T00:00:00Z", to: "2026-11-19T01:00:00Z" };
const HOUR = { product: "P1", from: "2026-11-20T11:00:00Z", to: "2026-11-20T12:00:00Z" };
const NOTE = { note: "seen" };
const BULK = { ids: ["1"], dryRun: true, from: "open", ...NOTE };

/** A correct request for each operation. Requests that change something come in a possible order. */
const RIGHT: Readonly<
  Record<string, { path?: Record<string, string>; query?: object; body?: object; lines?: string }>
> = {
  readOpenApi: {},
  readStatus: {},
  readCoverage: { query: HOUR },
  checkInvoice: { query: { month: "2026-11" }, lines: "product,currency,turnover,ggr\nP1,THB,1,1" },
  readTrends: { query: { span: "week", product: "P1" } },
  verifyBooks: {},
  listAlerts: { query: { state: "all", product: "P1", limit: "5", after: "9" } },
  readAlert: { path: { id: "1" } },
  resendAlert: { path: { id: "1" }, body: { channel: "webhook", attempts: 0 } },
  readReport: { query: { day: "2026-11-20", zone: "Asia/Bangkok", against: "2026-11-19" } },
  listReportItems: {
    query: { day: "2026-11-20", zone: "UTC", productId: "P1", currency: "THB", explainedBy: "mismatch" },
  },
  listMismatches: {
    query: {
      status: "open,resolved",
      kind: "payout-differs",
      product: "P1",
      username: "anna",
      from: HOUR.from,
      to: "2026-11-20T13:00:00Z",
      happenedFrom: HOUR.from,
      happenedTo: HOUR.to,
      minAmount: "1",
      owner: "me",
      due: "false",
      withProvider: "true",
      limit: "5",
      after: "0",
      count: "true",
    },
  },
  search: { query: { q: "anna" } },
  readMismatch: { path: { id: "1" } },
  commentMismatch: { path: { id: "1" }, body: NOTE },
  listIncidents: {
    query: {
      state: "open",
      product: "P1",
      currency: "THB",
      sort: "at-risk",
      owner: "nobody",
      due: "true",
      withProvider: "false",
      happenedFrom: HOUR.from,
      happenedTo: HOUR.to,
      limit: "5",
      after: "THB~4.5~9",
      count: "true",
    },
  },
  readIncident: { path: { id: "1" } },
  commentIncident: { path: { id: "1" }, body: NOTE },
  readEvidence: { query: { incident: "1", part: "1", format: "json" } },
  ackMismatches: { body: BULK },
  ignoreMismatches: { body: BULK },
  resolveMismatches: { body: { ...BULK, adjustment: "1.5", ref: "R" } },
  reopenMismatches: { body: { filter: { product: "P1" }, dryRun: true, from: "resolved" } },
  ackMismatch: { path: { id: "1" }, body: { ...NOTE, from: "open" } },
  resolveMismatch: {
    path: { id: "1" },
    body: { ...NOTE, from: "acknowledged", adjustment: "1.5", ref: "R" },
  },
  reopenMismatch: { path: { id: "1" }, body: { ...NOTE, from: "resolved" } },
  ignoreMismatch: { path: { id: "1" }, body: { ...NOTE, from: "open" } },
  ...Object.fromEntries(
    ["Mismatch", "Incident"].flatMap((about) => [
      [`assign${about}`, { path: { id: "1" }, body: { owner: "mia", ...NOTE } }],
      [`ticket${about}`, { path: { id: "1" }, body: { ticket: "PRV-1", withProvider: true, ...NOTE } }],
      [`remind${about}`, { path: { id: "1" }, body: { remindAt: null, ...NOTE } }],
    ]),
  ),
  assignMismatches: { body: { ids: ["1"], dryRun: true, owner: null, ...NOTE } },
  ticketMismatches: { body: { ids: ["1"], dryRun: true, ticket: null, withProvider: false, ...NOTE } },
  remindMismatches: {
    body: { filter: { product: "P1" }, dryRun: true, remindAt: "2027-01-01T00:00:00Z", ...NOTE },
  },
  assignIncidents: { body: { ids: ["1"], dryRun: true, owner: "mia", ...NOTE } },
  ticketIncidents: { body: { ids: ["1"], dryRun: true, ticket: "PRV-1", withProvider: true, ...NOTE } },
  remindIncidents: {
    body: {
      filter: { product: "P1", state: "open", happenedFrom: HOUR.from },
      dryRun: true,
      remindAt: null,
      ...NOTE,
    },
  },
  requestBackfill: { body: { ...RANGE, dryRun: false } },
  listBackfills: { query: { sort: "oldest", limit: "5", after: "9", count: "true" } },
  readBackfill: { path: { id: "1" } },
  pauseBackfill: { path: { id: "1" } },
  resumeBackfill: { path: { id: "1" } },
  cancelBackfill: { path: { id: "1" } },
  handOverTransfer: { body: TRANSFER },
  listTransfers: {
    query: {
      status: "pending",
      kind: "transfer",
      product: "T1",
      username: "anna",
      currency: "THB",
      sort: "amount",
      limit: "5",
      after: "THB~10~9",
      count: "true",
    },
  },
  readTransfer: {
    path: { ref: "ref-1" },
    query: { kind: "transfer", product: "T1", username: "anna" },
  },
  closeTransfer: {
    path: { ref: "ref-1" },
    query: { kind: "transfer", product: "T1", username: "anna" },
    body: NOTE,
  },
  importEntries: { lines: "{}" },
  importCallbacks: { lines: "{}" },
  listImports: { query: { limit: "5", after: "9" } },
  readImport: { path: { id: "1" } },
  listRejected: {
    query: {
      side: "record",
      kind: "unusable",
      product: "P1",
      reason: "stake",
      since: HOUR.from,
      limit: "5",
      after: "record-9",
    },
  },
  readRejected: { path: { id: "record-1" } },
  retryRejected: { body: { limit: 5, after: "record-9" } },
  listAudit: { query: { limit: "5", after: "9" } },
  closeDays: { body: { day: "2026-11-19" } },
  verifyArchivedDay: { query: { day: "2026-11-19" } },
};

/** Each makes a program fail that turns what it was sent into a text. */
const HOSTILE: readonly unknown[] = [
  { toString: 1 },
  { toString: null, valueOf: null },
  [{ toString: 1 }],
  { toJSON: 1 },
  [],
  1e300,
];

// biome-ignore lint/suspicious/noExplicitAny: a schema is whatever the document says.
type AnySchema = any;

interface DescribedOperation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly parameters?: { name: string; in: string; required?: boolean; schema: AnySchema }[];
  readonly requestBody?: { content: Record<string, { schema: AnySchema }> };
  readonly responses: Record<string, { description: string; content: Record<string, { schema: AnySchema }> }>;
}

async function readDocument(ask: AskRaw) {
  const { json: named } = await ask("GET", "/api/openapi.json");
  const json = withoutReferences(named) as AnySchema;
  const operations = Object.entries<Record<string, DescribedOperation>>(json.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
  return { document: json, operations };
}

function request(ask: AskRaw, operation: DescribedOperation, changes: object = {}) {
  const { method, path, operationId, requestBody } = operation;
  const right = { ...RIGHT[operationId], ...changes } as (typeof RIGHT)[string];
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => right.path?.[name] ?? "");
  const query = right.query === undefined ? "" : `?${new URLSearchParams({ ...right.query })}`;
  const body = right.lines ?? (right.body === undefined ? undefined : JSON.stringify(right.body));
  const [type] = Object.keys(requestBody?.content ?? { "application/json": {} });
  const headers = body === undefined ? {} : { "content-type": type };
  return ask(method.toUpperCase(), filled + query, { headers, ...(body === undefined ? {} : { body }) });
}

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

describe("the document", () => {
  test("has every route of the API, and nothing else", async () => {
    const app = fastify();
    const routes: string[] = [];
    app.decorateRequest("asker");
    app.addHook("onRoute", ({ method, url }) => {
      for (const one of [method].flat()) if (one !== "HEAD") routes.push(`${one} ${url}`);
    });
    app.register(
      (api) =>
        addApi(api, context, {
          reports: openReportQueue(context),
          imports: openImportSeats(LONGEST_STILL_MS),
        }),
      { prefix: "/api" },
    );
    await app.ready();
    await app.close();
    const { operations } = await readDocument(await serveOps(context, []));
    const documented = operations.map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
    );
    expect(documented.sort()).toEqual(routes.sort());
  });

  test("is OpenAPI 3.1, names each operation once, and describes every parameter of a path", async () => {
    const { document, operations } = await readDocument(await serveOps(context, []));
    expect(document.openapi).toMatch(/^3\.1\.\d$/);
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
    const schemes = Object.keys(document.components.securitySchemes);
    for (const need of document.security) expect(schemes).toEqual(expect.arrayContaining(Object.keys(need)));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.sort()).toEqual(Object.keys(RIGHT).sort());
    for (const { path, parameters = [], responses } of operations) {
      const inPath = parameters.filter((one) => one.in === "path" && one.required).map(({ name }) => name);
      expect(inPath).toEqual(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name));
      expect(Object.keys(responses)).toEqual(
        expect.arrayContaining([expect.stringMatching(/^20[01]$/), "400", "401", "403", "409", "503"]),
      );
      for (const { description, content } of Object.values(responses)) {
        expect(description).toMatch(/\w/);
        for (const { schema } of Object.values(content))
          expect(schema).toMatchObject({ type: expect.any(String) });
      }
    }
  });
});

/** The worker of the server, with a channel that accepts everything. */
const WEBHOOK: AlertChannel = { name: "webhook", send: async () => ({ outcome: "delivered" }) };
const WORKER = {
  channels: [WEBHOOK],
  hasHeartbeat: false,
  queuesIn: "Redis",
  countJobs: async () => [],
} as const;

test("the document names its schemas, and has each in one place", async () => {
  const { json } = await (await serveOps(context, []))("GET", "/api/openapi.json");
  const { schemas } = json.components;
  expect(Object.keys(schemas)).toEqual(
    expect.arrayContaining(["Backfill", "Incident", "Mismatch", "MismatchList", "Problem", "Transfer"]),
  );
  const named = new Set(
    Array.from(JSON.stringify(json).matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, name]) => name),
  );
  expect([...named].sort()).toEqual(Object.keys(schemas));
  for (const [name, schema] of Object.entries<AnySchema>(schemas))
    expect([name, schema.title]).toEqual([name, name]);
  expect(schemas.MismatchList.properties.mismatches.items).toEqual({ $ref: "#/components/schemas/Mismatch" });
});

describe("an answer", () => {
  test("matches the document, for every operation and every refusal", async () => {
    await fillWorld();
    const ask = await serveOps(context, [], { worker: WORKER });
    const { operations } = await readDocument(ask);
    const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
    for (const operationId of Object.keys(RIGHT)) {
      const operation = byId.get(operationId) as DescribedOperation;
      if (operationId === "closeTransfer") await sql`update transfers set status = 'inconclusive'`;
      const answer = await request(ask, operation);
      // No day of this world is complete, so none has sealed files; test/ops/by-program.test.ts closes days.
      const isRight = operationId === "verifyArchivedDay" ? / 404 .*"not-found"/ : / 20[01] $/;
      expect(`${operationId} ${answer.status} ${answer.status < 300 ? "" : answer.text}`).toMatch(isRight);
      await expectAsTold(operation, answer);
    }
    for (const operation of operations) {
      await expectAsTold(operation, await request(ask, operation, { query: { unknown: "x" } }));
    }
  });

  test("has an item in every list of the document", async () => {
    await fillWorld();
    const ask = await serveOps(context, []);
    const get = async (path: string) => (await ask("GET", path)).json;
    const story = await get("/api/mismatches/1");
    const coverage = await get(
      `/api/coverage?${new URLSearchParams({ ...HOUR, from: "2026-11-20T10:00:00Z" })}`,
    );
    const report = await get("/api/report?day=2026-11-20");
    for (const list of [story.timeline, story.history, coverage.gaps, coverage.windows, report.rows]) {
      expect(list.length).toBeGreaterThan(0);
    }
  });
});

describe("a request", () => {
  test("with a field that the document does not know is refused, and the refusal names the field", async () => {
    const ask = await serveOps(context, []);
    const { operations } = await readDocument(ask);
    for (const operation of operations) {
      const { operationId, parameters = [], requestBody } = operation;
      const { query, body } = RIGHT[operationId] ?? {};
      const wrong = { unheardOf: "x" };
      const isQueried = parameters.some((one) => one.in === "query");
      if (isQueried) await expectRefused(ask, operation, { query: { ...query, ...wrong } });
      // A body of lines has no fields.
      const hasFields = requestBody?.content["application/json"] !== undefined;
      if (hasFields) await expectRefused(ask, operation, { body: { ...body, ...wrong } });
    }
  });

  test("with a hostile value in any field is answered with 400, and a hostile filter never with 500", async () => {
    await fillWorld();
    const ask = await serveOps(context, []);
    const { operations } = await readDocument(ask);
    const failed: string[] = [];
    const check = async (
      operation: DescribedOperation,
      change: object,
      isRight: (status: number) => boolean,
    ) => {
      const { status } = await request(ask, operation, change);
      if (!isRight(status)) failed.push(`${operation.operationId} ${JSON.stringify(change)} ${status}`);
    };
    for (const operation of operations) {
      const { parameters = [], requestBody } = operation;
      const right = RIGHT[operation.operationId] ?? {};
      const fields = Object.keys(requestBody?.content["application/json"]?.schema.properties ?? {});
      const filters = parameters.filter((one) => one.in === "query").map(({ name }) => name);
      for (const value of HOSTILE) {
        const bodies = [...fields.map((field) => ({ ...right.body, [field]: value })), value];
        if (fields.length > 0)
          for (const body of bodies) await check(operation, { body }, (status) => status === 400);
        for (const name of filters) {
          const query = { ...right.query, [name]: JSON.stringify(value) };
          await check(operation, { query }, (status) => status < 500);
        }
      }
    }
    expect(failed).toEqual([]);
  });

  test("that is accepted matches the document", async () => {
    const { operations } = await readDocument(await serveOps(context, []));
    for (const { operationId, requestBody } of operations) {
      const form = requestBody?.content["application/json"]?.schema;
      if (form === undefined) continue;
      expect(await findFault(form, RIGHT[operationId]?.body)).toBeNull();
    }
  });
});

async function expectAsTold(
  operation: DescribedOperation,
  answer: Awaited<ReturnType<AskRaw>>,
): Promise<void> {
  const type = answer.headers["content-type"]?.split(";")[0] ?? "";
  const { responses } = operation;
  const documented = responses[answer.status];
  const schema = documented?.content[type]?.schema;
  expect(schema, `${operation.operationId} ${answer.status} ${type}`).toBeDefined();
  const fault = await findFault(schema, answer.json);
  expect(fault, `${operation.operationId} ${answer.status}`).toBeNull();
}

async function expectRefused(ask: AskRaw, operation: DescribedOperation, changes: object) {
  const { status, json } = await request(ask, operation, changes);
  expect([operation.operationId, status, json.detail]).toEqual([
    operation.operationId,
    400,
    expect.stringMatching(/^there is no field "unheardOf"; /),
  ]);
}

/** One example of everything that an answer can contain. */
async function fillWorld(): Promise<void> {
  await emptyTables(sql);
  const fetchPage = async () => ({
    records: [exampleRecord()],
    rejected: [],
    nextId: null,
    requestedAt: 0,
    tookMs: 1,
  });
  await pullProduct({ ...context, fetchPage }, "P1", new AbortController().signal);
  clock.set(NOON);
  await writeRejected(sql, "P1", [{ raw: '{"stake":"ten"}', reason: "stake must be a number" }], NOON);
  await appendEntries(sql, [exampleEntry(), exampleSettle()]);
  const missing = exampleFinding({ kind: "missing-in-ledger", betId: "other", ledger: null, roundId: null });
  const found = [exampleFinding(), missing].map((content) => ({ change: "open" as const, content }));
  await sql.begin((tx) => recordTransitions(tx, found, config, NOON));
}
