import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { openBackend } from "../../jobs/backend.ts";
import type { FetchBetPage } from "../../src/bet.ts";
import type { Settings } from "../../src/config.ts";
import { parseConfig } from "../../src/config-file.ts";
import { openDatabase } from "../../src/db/client.ts";
import { ReconError } from "../../src/errors.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { appendEntries } from "../../src/ledger/store.ts";
import { silentLog } from "../../src/log.ts";
import type { Mismatch, MismatchContent } from "../../src/mismatch.ts";
import { writeTransitions } from "../../src/mismatches/transition-store.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { exampleEntry, exampleRecord, exampleSettle, MINUTE_MS, NOON } from "../support/examples.ts";
import { exampleFinding, LEDGER_SIDE, PROVIDER_SIDE } from "../support/findings.ts";
import { problemJson, serveApi } from "../support/ops-api.ts";
import { pullProduct } from "../support/pull-product.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const database = useDatabase();
const { sql } = database;
const clock = createTestClock(NOON);
const context: FlowContext = {
  sql,
  clock,
  log: silentLog,
  config: parseConfig({
    products: [
      { productId: "P1", since: "2026-11-20T11:30:00Z" },
      { productId: "P2", since: "2026-11-20T11:30:00Z" },
      { productId: "T1", walletMode: "transfer" },
    ],
  }),
};

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql, ["mismatches", "mismatch_events"]);
});

interface ServerChanges {
  readonly settings?: Partial<Settings["ops"]>;
  readonly context?: Partial<FlowContext>;
  readonly checkQueue?: () => Promise<void>;
}

/** @returns the base URL, which works until the end of the test */
async function serve({
  settings,
  context: changed,
  checkQueue = async () => {},
}: ServerChanges = {}): Promise<string> {
  const ops = { host: "127.0.0.1", port: 0, tokens: [], ...settings };
  const server = await startOpsServer({ ...context, ...changed }, ops, checkQueue);
  onTestFinished(() => server.close());
  return server.url;
}

interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests are about.
  readonly json: any;
}

function ask(url: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers }, async (response) => {
      const text = (await response.setEncoding("utf8").toArray()).join("");
      const { statusCode = 0, headers } = response;
      resolve({ status: statusCode, type: headers["content-type"] ?? "", headers, json: JSON.parse(text) });
    });
    request.on("error", reject).end();
  });
}

/** On a busy machine one answer may come too late for its caller, and a later one in time. */
function untilReady(url: string): Promise<HttpAnswer> {
  return eventually("it is ready", async () => {
    const answer = await ask(`${url}/readyz`);
    return answer.status === 200 ? answer : null;
  });
}

/** A result is used for a second. */
function untilUnready(url: string): Promise<HttpAnswer> {
  return eventually("it is not ready any more", async () => {
    const answer = await ask(`${url}/readyz`);
    return answer.status === 200 ? null : answer;
  });
}

/** An RFC 9457 answer. */
function problem(status: number, detail: string | RegExp) {
  return {
    status,
    type: expect.stringMatching(/^application\/problem\+json/),
    json: expect.objectContaining(problemJson(status, expect.stringMatching(detail))),
  };
}

async function open(...findings: MismatchContent[]): Promise<void> {
  await writeTransitions(
    sql,
    findings.map((finding) => ({ change: "open", content: finding })),
    clock.now(),
  );
}

async function idsOf(url: string): Promise<string[]> {
  const { json } = await ask(url);
  return json.mismatches.map(({ id }: Mismatch) => id);
}

describe("health", () => {
  test("a running process is alive, and is ready while database and queue answer", async () => {
    const url = await serve();
    expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200, json: { status: "alive" } });
    expect(await untilReady(url)).toMatchObject({ json: { status: "ready" } });
  });

  test.each(["refuse", "hang"] as const)(
    "a database that begins to %s makes the process unready, and is named",
    async (fails) => {
      const proxy = await startTcpProxy(database.url);
      const distant = openDatabase(proxy.url, 1);
      onTestFinished(async () => {
        await proxy.close();
        await distant.end({ timeout: 0 });
      });
      const url = await serve({ context: { sql: distant } });
      await untilReady(url);
      await proxy[fails]();
      const answer = await untilUnready(url);
      expect(answer).toEqual(
        expect.objectContaining(problem(503, /the database .*(does not answer|has not answered)/)),
      );
      expect(JSON.stringify(answer.json)).not.toContain(new URL(database.url).password);
      expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200 });
    },
  );

  test.each(["refuse", "hang"] as const)(
    "a Redis that begins to %s makes the process unready, and is named",
    async (fails) => {
      const proxy = await startTcpProxy(inject("redisUrl"));
      onTestFinished(() => proxy.close());
      const backend = openBackend(proxy.url, database.url, silentLog);
      onTestFinished(() => backend.close());
      const url = await serve({ checkQueue: () => backend.check() });
      await untilReady(url);
      await proxy[fails]();
      expect(await untilUnready(url)).toMatchObject(problem(503, /Redis .*does not answer/));
    },
  );

  test("a database that refuses writes makes the process unready, and the answer says why", async () => {
    const [row] = await sql`select current_database() as name`;
    const brake = async (value: "on" | "off") => {
      await sql.unsafe(`alter database ${row?.["name"]} set default_transaction_read_only = ${value}`);
    };
    await brake("on");
    onTestFinished(() => brake("off"));
    const braked = openDatabase(database.url, 1);
    onTestFinished(() => braked.end());
    const url = await serve({ context: { sql: braked } });
    expect(await ask(`${url}/readyz`)).toMatchObject(
      problem(503, /refuses writes: default_transaction_read_only is on for this database\.$/),
    );
  });

  test("health names all servers that are down", async () => {
    const nowhere = openDatabase("postgres://recon:hidden@127.0.0.1:1/nowhere");
    onTestFinished(() => nowhere.end());
    const checkQueue = async () => {
      throw new ReconError("queue-unreachable", "Redis is on fire");
    };
    const url = await serve({ context: { sql: nowhere }, checkQueue });
    const answer = await ask(`${url}/readyz`);
    expect(answer).toMatchObject(problem(503, /nowhere at 127\.0\.0\.1:1 .*; Redis is on fire/));
    expect(JSON.stringify(answer.json)).not.toContain("hidden");
  });
});

test.each([
  ["refuse", "GET", "/api/status", undefined, "check that PostgreSQL runs$"],
  ["refuse", "POST", "/api/mismatches/1/ack", { note: "seen" }, "It is unknown whether the change was made"],
  ["hang", "GET", "/api/report?month=2026-10", undefined, "check that PostgreSQL runs$"],
] as const)(
  "where the database begins to %s, the API answers %s %s with 503, and says what is down and what to do",
  async (fails, method, path, body, says) => {
    const proxy = await startTcpProxy(database.url);
    const distant = openDatabase(proxy.url);
    onTestFinished(async () => {
      await proxy.close();
      await distant.end({ timeout: 0 });
    });
    const askApi = await serveApi({ ...context, sql: distant });
    await proxy[fails]();
    const answer = await askApi(method, path, { body });
    expect(answer).toMatchObject(problem(503, new RegExp(`^the database does not answer: .*${says}`)));
  },
);

test("status shows the state of each product, and what the ledger and the lists contain", async () => {
  const fetchPage: FetchBetPage = async ({ productId }) => {
    if (productId === "P2") throw new ReconError("provider-rejected", "not today");
    return {
      records: [exampleRecord()],
      rejected: [{ raw: "{}", reason: "no id" }],
      nextId: null,
      requestedAt: 0,
      tookMs: 1,
    };
  };
  for (const productId of ["P1", "P2"]) {
    clock.set(NOON);
    await pullProduct({ ...context, fetchPage }, productId, new AbortController().signal);
  }
  await appendEntries(sql, [exampleEntry(), exampleSettle()]);
  await open(...["a", "b", "c", "d"].map((betId) => exampleFinding({ betId })));
  await sql`update mismatches set status = 'acknowledged' where id = 2`;
  await sql`update mismatches set status = 'ignored' where id = 3`;
  await sql`update mismatches set status = 'resolved' where id = 4`;
  clock.set(NOON);

  const { status, json } = await ask(`${await serve()}/api/status`);
  expect(status).toBe(200);
  expect(json).toEqual({
    products: [
      {
        productId: "P1",
        head: "2026-11-20T11:58:00.000Z",
        watermark: "2026-11-20T11:58:00.000Z",
        lagSeconds: 120,
        resweepBehindSeconds: 0,
        windowSeconds: expect.any(Number),
        stalled: false,
        gaps: 0,
        records: 1,
        rejected: 1,
        openMismatches: 2,
      },
      {
        productId: "P2",
        head: expect.any(String),
        watermark: "2026-11-20T11:25:00.000Z",
        lagSeconds: 35 * 60,
        resweepBehindSeconds: 0,
        windowSeconds: expect.any(Number),
        stalled: true,
        gaps: expect.any(Number),
        records: 0,
        rejected: 0,
        openMismatches: 0,
      },
      {
        productId: "T1",
        head: null,
        watermark: null,
        lagSeconds: null,
        resweepBehindSeconds: null,
        windowSeconds: null,
        stalled: false,
        gaps: 0,
        records: 0,
        rejected: 0,
        openMismatches: 0,
      },
    ],
    ledger: { entries: 2, lastReceivedAt: "2026-11-20T11:56:00.000Z" },
    mismatches: { open: 1, acknowledged: 1, resolved: 1, ignored: 1 },
    transfers: { pending: 0, accepted: 0, rejected: 0, inconclusive: 0 },
    alerts: { undelivered: 1 },
    comparing: {
      upTo: null,
      behindSeconds: null,
      waiting: 2,
      setAside: 0,
      problem: "P1 has not been compared yet",
    },
    verifying: { behindSeconds: null, due: 0 },
    rejected: { records: 1, entries: 0 },
    unknownProducts: [],
    books: { closedUpTo: null, problem: null },
    outside: [],
  });
});

describe("mismatches", () => {
  /** The fields of `exampleFinding` in a list, or alone. */
  const shown = {
    id: "1",
    kind: "payout-differs",
    status: "open",
    productId: "P1",
    username: "anna",
    currency: "THB",
    betId: "bet-1",
    transactionId: "bet-1",
    roundId: "round-1",
    transactionRef: null,
    amountAtRisk: "4.50",
    effect: "-4.5",
    otherCurrencies: [],
    countsOn: "2026-11-20",
    reason: "paid out 30.00 THB at the provider, 25.50 THB in the ledger",
    provider: PROVIDER_SIDE,
    ledger: LEDGER_SIDE,
    occurredAt: "2026-11-20T11:55:00.000Z",
    firstSeenAt: "2026-11-20T12:00:00.000Z",
    lastSeenAt: "2026-11-20T12:00:00.000Z",
    resolvedAt: null,
    resolvedBy: null,
    note: null,
    owner: null,
    ticket: null,
    withProvider: null,
    remindAt: null,
  };

  test("the list shows every field of each mismatch, amounts as decimal text", async () => {
    await open(exampleFinding());
    const { status, type, json } = await ask(`${await serve()}/api/mismatches`);
    expect({ status, type }).toEqual({ status: 200, type: expect.stringMatching(/^application\/json/) });
    expect(json).toEqual({
      mismatches: [{ ...shown, amountAtRisk: "4.5" }],
      next: null,
      cursor: expect.any(String),
    });
  });

  test("a field that does not apply, and a side that does not exist, is null", async () => {
    const missing = { kind: "missing-in-ledger", transactionId: null, roundId: null, ledger: null } as const;
    await open(exampleFinding(missing));
    const { json } = await ask(`${await serve()}/api/mismatches`);
    expect(json.mismatches).toEqual([{ ...shown, ...missing, amountAtRisk: "4.5", effect: null }]);
  });

  test("a single mismatch shows its history too", async () => {
    await open(exampleFinding());
    clock.advance(MINUTE_MS);
    await writeTransitions(sql, [{ change: "resolve", id: 1 }], clock.now());
    const { status, json } = await ask(`${await serve()}/api/mismatches/1`);
    const at = "2026-11-20T12:01:00.000Z";
    const { reason, provider, ledger } = shown;
    const change = { by: "recon", note: null, reason, amountAtRisk: "4.5", provider, ledger };
    expect(status).toBe(200);
    expect(json).toEqual({
      ...shown,
      amountAtRisk: "4.5",
      countsOn: null,
      status: "resolved",
      resolvedAt: at,
      resolvedBy: "recon",
      timeline: expect.any(Array),
      fetches: expect.any(Array),
      adjustments: [],
      comments: [],
      incidentId: null,
      history: [
        { ...change, at: "2026-11-20T12:00:00.000Z", fromStatus: null, toStatus: "open" },
        { ...change, at, fromStatus: "open", toStatus: "resolved" },
      ],
    });
  });

  test("the list is filtered by status, kind, product and player; without a status it shows unfinished mismatches", async () => {
    await open(
      exampleFinding({ betId: "a" }),
      exampleFinding({ betId: "b", kind: "stake-differs", productId: "P2" }),
      exampleFinding({ betId: "c", username: "bo & co" }),
      exampleFinding({ betId: "d" }),
      exampleFinding({ betId: "e" }),
    );
    await sql`update mismatches set status = 'acknowledged' where id = 3`;
    await sql`update mismatches set status = 'ignored' where id = 4`;
    await sql`update mismatches set status = 'resolved' where id = 5`;
    const list = `${await serve()}/api/mismatches`;
    expect(await idsOf(list)).toEqual(["1", "2", "3"]);
    expect(await idsOf(`${list}?status=ignored`)).toEqual(["4"]);
    expect(await idsOf(`${list}?status=open,resolved`)).toEqual(["1", "2", "5"]);
    expect(await idsOf(`${list}?kind=stake-differs`)).toEqual(["2"]);
    expect(await idsOf(`${list}?product=P2`)).toEqual(["2"]);
    expect(await idsOf(`${list}?username=bo%20%26%20co`)).toEqual(["3"]);
    expect(await idsOf(`${list}?product=P2&username=bo`)).toEqual([]);
  });

  test("pages follow each other without a gap or a repeat, also while mismatches are added", async () => {
    await open(...["a", "b", "c", "d", "e"].map((betId) => exampleFinding({ betId })));
    const list = `${await serve()}/api/mismatches`;
    const first = await ask(`${list}?limit=2`);
    const second = await ask(`${list}?limit=2&after=${first.json.next}`);
    await open(exampleFinding({ betId: "f" }));
    const last = await ask(`${list}?limit=2&after=${second.json.next}`);
    expect(
      [first, second, last].map(({ json }) => json.mismatches.map(({ betId }: Mismatch) => betId)),
    ).toEqual([
      ["a", "b"],
      ["c", "d"],
      ["e", "f"],
    ]);
    expect(last.json.next).toBeNull();
  });

  test.each([
    ["status=opened", /there is no status "opened"; it is one of open, acknowledged, resolved, ignored/],
    ["status=open,", /there is no status ""/],
    ["status=open&status=ignored", /status is given more than once/],
    ["kind=lost", /there is no kind "lost"; it is one of .*payout-differs/],
    ["product=P9", /there is no product "P9"; it is one of P1, P2, T1/],
    ["username=a&username=b", /username is given more than once/],
    ["from=2026-11-20T00:00:00Z&from=2026-11-21T00:00:00Z", /from is given more than once/],
  ])("a wrong filter, %s, is refused, and the error names the value", async (query, detail) => {
    expect(await ask(`${await serve()}/api/mismatches?${query}`)).toMatchObject(problem(400, detail));
  });

  test.each(["2", "0", "01", "none", "99999999999999999999"])("mismatch %s does not exist", async (id) => {
    await open(exampleFinding());
    expect(await ask(`${await serve()}/api/mismatches/${id}`)).toMatchObject(
      problem(404, `there is no mismatch "${id}"`),
    );
  });
});

describe("access", () => {
  const FOREIGN = [
    { host: "wallet.example" },
    { host: "127.0.0.1.wallet.example:3000" },
    { origin: "https://wallet.example" },
    { origin: "null" },
  ];
  const OWN = [
    { host: "localhost:3000" },
    { host: "LocalHost" },
    { host: "[::1]:3000" },
    { origin: "http://127.0.0.1:3000" },
  ];

  test.each(FOREIGN)("without tokens a request with %o is refused, for every path", async (headers) => {
    const url = await serve();
    for (const path of ["/api/status", "/api/mismatches/1", "/readyz"]) {
      expect(await ask(url + path, headers)).toMatchObject(
        problem(403, /without OPS_TOKENS the server answers only this machine/),
      );
    }
  });

  test.each(OWN)("without tokens a request with %o is served", async (headers) => {
    expect(await ask(`${await serve()}/api/status`, headers)).toMatchObject({ status: 200 });
  });

  test.each([
    ["Forwarded", "for=203.0.113.7"],
    ["X-Forwarded-For", "203.0.113.7"],
    ["X-Forwarded-Proto", "https"],
    ["X-Real-IP", "203.0.113.7"],
    ["Via", "1.1 proxy"],
  ])(
    "without tokens a request that a proxy forwarded (%s) is refused, for every path",
    async (name, value) => {
      const url = await serve();
      for (const path of ["/api/status", "/sign-in", "/readyz", "/nowhere"]) {
        expect(await ask(url + path, { host: "127.0.0.1:3000", [name]: value })).toMatchObject(
          problem(403, /a proxy forwarded this request/),
        );
      }
      const open = await serve({ settings: { tokens } });
      const authorization = "Bearer 0123456789abcdef";
      expect(await ask(`${open}/api/status`, { authorization, [name]: value })).toMatchObject({
        status: 200,
      });
    },
  );

  test("without tokens a request of HTTP/1.0, as nginx forwards them, is refused", async () => {
    const { port } = new URL(await serve());
    const socket = connect(Number(port), "127.0.0.1");
    socket.end("GET /api/status HTTP/1.0\r\nhost: 127.0.0.1:3000\r\n\r\n");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 403 [\s\S]*a proxy forwarded this request/);
  });

  const tokens = [
    { name: "anna", role: "read", token: "0123456789abcdef" },
    { name: "bo", role: "write", token: "fedcba9876543210" },
  ] as const;

  test.each([
    ["none", undefined],
    ["another token", "Bearer 0123456789abcdee"],
    ["a token's beginning", "Bearer 0123456789"],
    ["its name", "Bearer anna"],
    ["no token", "Bearer "],
    ["another scheme", `Basic ${Buffer.from("anna:0123456789abcdef").toString("base64")}`],
  ])("with tokens the API refuses a request with %s", async (_what, authorization) => {
    const url = await serve({ settings: { tokens } });
    const answer = await ask(`${url}/api/status`, authorization === undefined ? {} : { authorization });
    expect(answer).toMatchObject(
      problem(401, /(?:has no bearer token|this token is not in OPS_TOKENS): send "Authorization: Bearer …"/),
    );
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
  });

  test.each(tokens)(
    "with the token of $name the API answers, under any name of the host",
    async ({ token }) => {
      const url = await serve({ settings: { tokens } });
      const headers = {
        authorization: `Bearer ${token}`,
        host: "recon.wallet.example",
        origin: "https://ops.example",
      };
      expect(await ask(`${url}/api/status`, headers)).toMatchObject({ status: 200 });
    },
  );

  test("health needs no token", async () => {
    const url = await serve({ settings: { tokens } });
    expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200 });
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200 });
  });
});

test.each(["/nothing", "/api", "/api/nothing", "/api/mismatches/1/2"])("%s does not exist", async (path) => {
  expect(await ask((await serve()) + path)).toMatchObject(problem(404, `there is nothing at ${path}`));
});

test("a path that cannot be decoded is refused as such", async () => {
  expect(await ask(`${await serve()}/api/%zz`)).toMatchObject(problem(400, /%zz/));
});

test("the log describes a failure inside the server, and the answer does not", async () => {
  const closed = openDatabase(database.url);
  await closed.end();
  expect(await ask(`${await serve({ context: { sql: closed } })}/api/status`)).toMatchObject(
    problem(500, "the request failed; the log says why"),
  );
});

test("the error about a port that is taken is clear", async () => {
  const port = Number(new URL(await serve()).port);
  await expect(serve({ settings: { port } })).rejects.toMatchObject({
    code: "listen-failed",
    message: expect.stringMatching(
      new RegExp(`127\\.0\\.0\\.1:${port}: .*EADDRINUSE.*Set OPS_PORT to a free port`),
    ),
  });
});
