import { request as httpRequest, STATUS_CODES } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { silentLog } from "../../src/log.ts";
import { ASSETS_AT } from "../../src/ops/http/assets.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { problemJson } from "../support/ops-api.ts";
import { bearer, OWN_PAGE, READER, serveOps, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context: FlowContext = { sql, clock, log: silentLog, config };
const JSON_TYPE = { "content-type": "application/json" };
const BACKFILLS = "/api/backfills";

type AnswerCase = [
  what: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  status: number,
];

const ASKED: readonly AnswerCase[] = [
  ["health", "GET", "/healthz", {}, 200],
  ["the API", "GET", "/api/status", bearer(READER), 200],
  ["the API without a token", "GET", "/api/status", {}, 401],
  ["a change without the role", "POST", "/api/backfills/1/pause", bearer(READER), 403],
  ["the sign-in", "GET", "/sign-in", { accept: "text/html" }, 200],
  ["a way to the sign-in", "GET", "/changes", { accept: "text/html" }, 303],
  ["a style", "GET", `${ASSETS_AT}/style.css`, {}, 200],
  ["nothing", "GET", "/nowhere", {}, 404],
  ["nothing, for a browser", "GET", "/nowhere", { accept: "text/html" }, 404],
  ["a path that cannot be read", "GET", "/api/%zz", {}, 400],
  ["a wrong method", "DELETE", "/api/status", bearer(WRITER), 405],
];

describe("every answer", () => {
  test.each(ASKED)(
    "to %s forbids browsers every other use of it",
    async (_, method, path, headers, status) => {
      const ask = await serveOps(context);
      const answer = await ask(method, path, { headers });
      expect(answer.status).toBe(status);
      expect(String(answer.headers["content-security-policy"]).split(";")).toEqual([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ]);
      expect(answer.headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
      });
      expect(answer.headers["x-powered-by"]).toBeUndefined();
    },
  );

  test("with a user's data is stored nowhere", async () => {
    const ask = await serveOps(context);
    for (const [, method, path, headers] of ASKED) {
      if (path.startsWith("/assets/")) continue;
      expect((await ask(method, path, { headers })).headers["cache-control"]).toBe("no-store");
    }
  });

  test("with an asset is kept by browsers for a year, at the address of its version only", async () => {
    const ask = await serveOps(context);
    const asset = async (folder: string, name: string) => {
      const { status, headers, text } = await ask("GET", `${folder}/${name}`);
      return [status, headers["content-type"], headers["cache-control"], text];
    };
    for (const [name, type] of [
      ["style.css", "text/css; charset=utf-8"],
      ["page.js", "text/javascript; charset=utf-8"],
      ["idiomorph.js", "text/javascript; charset=utf-8"],
      ["uplot.js", "text/javascript; charset=utf-8"],
      ["uplot.css", "text/css; charset=utf-8"],
      ["show-duration.js", "text/javascript; charset=utf-8"],
      ["icon.svg", "image/svg+xml"],
    ] as const) {
      const [status, sent, kept, text] = await asset(ASSETS_AT, name);
      expect([status, sent, kept]).toEqual([200, type, "public, max-age=31536000, immutable"]);
      // A worker of another version answers at the same address.
      expect(await asset("/assets/0123456789abcdef", name)).toEqual([200, type, "no-store", text]);
    }
    for (const name of ["live.ts", "..%2fassets.ts", "toString"]) {
      expect((await asset(ASSETS_AT, name)).slice(0, 1)).toEqual([404]);
    }
    const page = (await ask("GET", "/sign-in", { headers: { accept: "text/html" } })).text;
    const asked = [...page.matchAll(/"(\/assets\/[^"]+)\/[\w-]+\.\w+"/g)].map(([, folder]) => folder);
    expect(asked).toEqual([ASSETS_AT, ASSETS_AT, ASSETS_AT]);
  });

  test("binds browsers to https only if the request came over https", async () => {
    const ask = await serveOps(context);
    const strict = "strict-transport-security";
    expect((await ask("GET", "/healthz")).headers[strict]).toBeUndefined();
    const byHttps = { headers: { "x-forwarded-proto": "https" } };
    expect((await ask("GET", "/healthz", byHttps)).headers[strict]).toBe("max-age=31536000");
  });

  test("of a page contains nothing inline that its policy would refuse", async () => {
    const ask = await serveOps(context);
    for (const path of ["/sign-in", "/nowhere"]) {
      const { text } = await ask("GET", path, { headers: { accept: "text/html" } });
      expect(text).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)|javascript:/i);
    }
  });
});

describe("a refused request", () => {
  const problem = (status: number, title: string, detail: unknown) => ({
    status,
    headers: { "content-type": expect.stringMatching(/^application\/problem\+json/) },
    json: { ...problemJson(status, detail), title },
  });

  test.each([
    ["GET", "/nowhere", 404, "Not Found", "there is nothing at /nowhere"],
    [
      "DELETE",
      "/api/status",
      405,
      "Method Not Allowed",
      "DELETE is not allowed at /api/status: use GET, HEAD",
    ],
    ["PUT", "/api/mismatches/7/ack?x=1", 405, "Method Not Allowed", expect.stringContaining("use POST")],
    ["POST", "/sign-out/", 404, "Not Found", "there is nothing at /sign-out/"],
  ])("%s %s is answered with a problem of status %i", async (method, path, status, title, detail) => {
    const ask = await serveOps(context);
    expect(await ask(method, path, { headers: bearer(WRITER) })).toMatchObject(
      problem(status, title, detail),
    );
  });

  test("of a browser has the menu, and a search for the id at the end of the address", async () => {
    const ask = await serveOps(context);
    const { status, text } = await ask("GET", "/bets/TABLE-7%2F%221?x=1", {
      headers: { ...bearer(READER), accept: "text/html" },
    });
    expect(status).toBe(404);
    expect(text).toContain('name="q" value="TABLE-7/&quot;1"');
    expect(text).toContain('<nav aria-label="Pages">');
  });

  test("with a wrong method is answered with the allowed methods", async () => {
    const ask = await serveOps(context);
    const allowOf = async (path: string) =>
      (await ask("PATCH", path, { headers: bearer(WRITER) })).headers.allow?.split(", ").sort();
    expect(await allowOf("/api/transfers")).toEqual(["GET", "HEAD", "POST"]);
    expect(await allowOf("/api/backfills/7/pause")).toEqual(["POST"]);
    expect(await allowOf("/sign-in")).toEqual(["GET", "HEAD", "POST"]);
    expect(await allowOf("/changes")).toEqual(["GET"]);
  });

  test.each(["gzip", "br", "x-unknown", "gzip, identity"])(
    "with a body that is %s names the header and its value, and what is accepted",
    async (coding) => {
      const ask = await serveOps(context);
      const headers = { ...bearer(WRITER), ...JSON_TYPE, "content-encoding": coding };
      const detail = `Content-Encoding is "${coding}", but must be identity: send the body uncompressed`;
      for (const path of [BACKFILLS, "/api/report/invoice", "/api/ledger/entries"]) {
        const answer = await ask("POST", path, { headers, body: "{}" });
        expect(answer).toMatchObject(problem(415, "Unsupported Media Type", detail));
        expect([answer.json.code, answer.headers["accept-encoding"]]).toEqual([
          "unsupported-media-type",
          "identity",
        ]);
      }
      const sentInParts = { ...headers, "transfer-encoding": "chunked" };
      expect((await ask("POST", BACKFILLS, { headers: sentInParts, body: "{}" })).status).toBe(415);
      expect((await ask("GET", "/api/status", { headers })).status).toBe(200);
      const plain = { ...headers, "content-encoding": "Identity" };
      expect((await ask("POST", BACKFILLS, { headers: plain, body: "{}" })).status).toBe(400);
    },
  );

  test("names a line break as \\n, and shortens what is long", async () => {
    const ask = await serveOps(context);
    const detailOf = async (path: string, body: object | null = null) =>
      (
        await ask(body === null ? "GET" : "POST", path, {
          headers: { ...bearer(WRITER), ...(body === null ? {} : JSON_TYPE) },
          ...(body === null ? {} : { body: JSON.stringify(body) }),
        })
      ).json.detail;
    expect(await detailOf("/api/incidents?sort=THB%0A")).toContain('there is no sort "THB\\n"');
    expect(await detailOf("/api/mismatches?day=2026%0D%0A")).not.toMatch(/[\r\n]/);
    expect(await detailOf("/api/incidents/assign", { owner: "a", ids: ["1\n2"] })).toBe(
      'there is no incident "1\\n2"',
    );
    expect((await detailOf(`/api/mismatches?limit=${"9".repeat(3_000)}`)).length).toBeLessThan(200);
    expect(await detailOf("/api/incidents?owner=%20")).toBe('owner must be a name, but is ""');
  });

  test("to change something by a field in the address is refused: it would be overlooked", async () => {
    const ask = await serveOps(context);
    const headers = { ...bearer(WRITER), ...JSON_TYPE };
    const body = JSON.stringify({ owner: "zz", ids: ["9"] });
    const { status, json } = await ask("POST", "/api/incidents/assign?dryRun=true", { headers, body });
    expect([status, json.detail]).toEqual([400, '"dryRun" is in the address, but must be in the body']);
  });

  test.each([
    ["no JSON", "{", JSON_TYPE, 400, "Bad Request"],
    ["no text where JSON is announced", "", JSON_TYPE, 400, "Bad Request"],
    ["text", "note", { "content-type": "text/plain" }, 415, "Unsupported Media Type"],
    ["JSON that would change the prototype of objects", '{"__proto__": {}}', JSON_TYPE, 400, "Bad Request"],
    ["endless JSON", "[".repeat(30_000) + "]".repeat(30_000), JSON_TYPE, 400, "Bad Request"],
    ["too much", JSON.stringify({ note: "x".repeat(70_000) }), JSON_TYPE, 413, "Payload Too Large"],
    ["another type", "<a/>", { "content-type": "text/xml" }, 415, "Unsupported Media Type"],
  ])(
    "with %s as its body is answered with a problem that says what is wrong",
    async (_, body, type, status, title) => {
      const ask = await serveOps(context);
      const answer = await ask("POST", BACKFILLS, { headers: { ...bearer(WRITER), ...type }, body });
      expect(answer).toMatchObject(problem(status, title, expect.stringMatching(/\w/)));
    },
  );

  test("an empty body with the type of JSON counts as no body", async () => {
    const ask = await serveOps(context);
    const headers = { ...bearer(WRITER), ...JSON_TYPE };
    const answer = await ask("POST", "/api/backfills/7/pause", { headers, body: "" });
    expect(answer).toMatchObject(problem(404, "Not Found", 'there is no backfill "7"'));
  });

  test("pages accept forms, and the API does not", async () => {
    const ask = await serveOps(context);
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await ask("POST", BACKFILLS, { headers: { ...bearer(WRITER), ...type }, body: "a=b" });
    expect(answer.status).toBe(415);
  });

  test("a user gets a page instead, except from the API", async () => {
    const ask = await serveOps(context);
    const page = await ask("GET", "/<b>nowhere", { headers: OWN_PAGE });
    expect([page.status, page.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
    expect(page.text).toContain("<h1>Not Found</h1>");
    expect(page.text).not.toContain("<b>");
    const api = await ask("GET", "/api/nowhere", { headers: OWN_PAGE });
    expect(api.headers["content-type"]).toMatch(/^application\/problem\+json/);
  });
});

test.each([
  [400, "no http\r\n\r\n"],
  [431, `GET /api/mismatches?username=${"x".repeat(20_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`],
])(
  "a request that cannot be read is answered with a problem of status %i, and ends only its connection",
  async (status, sent) => {
    const server = await startOpsServer(context, { host: "127.0.0.1", port: 0, tokens: [] }, async () => {});
    onTestFinished(() => server.close());
    const { port } = new URL(server.url);
    const socket = connect(Number(port), "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString();
    });
    // The unread rest of the request may reset the connection after the answer.
    socket.on("error", () => {});
    socket.end(sent);
    await new Promise((resolve) => socket.once("close", resolve));
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*content-type: application/problem\\+json`, "s"));
    expect(JSON.parse(body)).toEqual({
      ...problemJson(status, expect.stringContaining("the request cannot be parsed")),
      title: STATUS_CODES[status],
    });
    const alive = await new Promise((resolve) => {
      httpRequest(`${server.url}/healthz`, (response) => resolve(response.resume().statusCode)).end();
    });
    expect(alive).toBe(200);
  },
);
