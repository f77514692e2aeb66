import { createServer, request as httpRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { MINUTE_MS, NOON } from "../support/examples.ts";
import { bearer, OWN_PAGE, serveOps, signIn, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context: FlowContext = { sql, clock, log: silentLog, config };

const PROXIES = {
  addresses: ["127.0.0.0/8"],
  userHeader: "x-forwarded-user",
  groupsHeader: "x-forwarded-groups",
  roles: [
    { group: "night", role: "decide" },
    { group: "finance", role: "close" },
    { group: "*", role: "view" },
  ],
} as const;

function user(name: string, groups = "") {
  return { "x-forwarded-user": name, "x-forwarded-groups": groups };
}

/** A change that any admin may try, and one that needs `decide`: they find nothing, once they are allowed. */
const CANCEL = "/api/backfills/7/cancel";
const ACK = "/api/mismatches/7/ack";
const FOUND_NOTHING = 404;

describe("users who signed in at a trusted proxy", () => {
  test("have the greatest role of their groups, and view without any", async () => {
    const ask = await serveOps(context, TOKENS, {}, PROXIES);
    const roleIn = async (groups: string) => {
      const { text } = await ask("GET", "/", { headers: user("anna", groups) });
      return /<div class="visitor"><span>([^<]*)</.exec(text)?.[1];
    };
    expect(await roleIn("")).toBe("anna (read only)");
    expect(await roleIn("others, night")).toBe("anna (decide)");
    expect(await roleIn("night,finance")).toBe("anna (close)");
  });

  test("may do what their role may, and no more", async () => {
    const ask = await serveOps(context, TOKENS, {}, PROXIES);
    const tried = async (path: string, groups: string) => {
      const headers = { ...OWN_PAGE, ...user("anna", groups), "content-type": "application/json" };
      const { status, json, text } = await ask("POST", path, { headers, body: '{"note":"seen"}' });
      return [status, json?.detail ?? text];
    };
    expect(await tried(ACK, "")).toEqual([403, '"anna" has the role view: this needs the role decide']);
    expect((await tried(ACK, "night"))[0]).toBe(FOUND_NOTHING);
    expect(await tried(CANCEL, "night")).toEqual([
      403,
      '"anna" has the role decide: this needs the role admin',
    ]);
    expect(await tried("/report/close", "night")).toEqual([
      403,
      expect.stringContaining("needs the role close"),
    ]);
    expect((await tried("/report/close", "finance"))[0]).not.toBe(403);
  });

  test("are named in the audit, with their role", async () => {
    await emptyTables(sql, ["audit_log"]);
    const ask = await serveOps(context, TOKENS, {}, PROXIES);
    const headers = { ...OWN_PAGE, ...user("anna@example.com", "night"), "content-type": "application/json" };
    await ask("POST", ACK, { headers, body: '{"note":"seen"}' });
    const { json } = await ask("GET", "/api/audit", { headers: bearer(WRITER) });
    expect(json.audit).toMatchObject([
      { who: "anna@example.com", role: "decide", by: "proxy", route: "/api/mismatches/:id/ack", status: 404 },
    ]);
  });

  test("keep the letters of their names", async () => {
    const ask = await serveOps(context, TOKENS, {}, PROXIES);
    const name = Buffer.from("สมชาย").toString("latin1");
    const { text } = await ask("GET", "/", { headers: user(name) });
    expect(text).toContain("<span>สมชาย (read only)</span>");
  });

  test("are gone with their next request, once the proxy does not name them", async () => {
    const ask = await serveOps(context, [], {}, PROXIES);
    expect((await ask("GET", "/api/status", { headers: user("anna") })).status).toBe(200);
    const { status, json } = await ask("GET", "/api/status");
    expect([status, json.detail]).toEqual([
      401,
      "this request names no user: sign in at the proxy in front of this server",
    ]);
  });

  test("are asked for by their proxy, so pages of other sites change nothing", async () => {
    const ask = await serveOps(context, TOKENS, {}, PROXIES);
    const headers = { ...user("anna", "night"), "sec-fetch-site": "cross-site" };
    const { status, json } = await ask("POST", ACK, { headers });
    expect([status, json.detail]).toEqual([403, expect.stringContaining("another site")]);
  });

  test("without a group of OPS_ROLES see nothing, and are told so", async () => {
    const roles = [{ group: "night", role: "decide" }] as const;
    const ask = await serveOps(context, TOKENS, {}, { ...PROXIES, roles });
    const { status, json } = await ask("GET", "/api/status", { headers: user("carl", "kitchen") });
    const detail = 'OPS_ROLES gives "carl" no role: the proxy named the groups "kitchen"';
    expect([status, json.detail]).toEqual([403, detail]);
  });

  test.each([
    ["recon", "which is the name of this program"],
    ["a".repeat(201), "more than 200 characters"],
  ])("cannot be called %s", async (name, said) => {
    const ask = await serveOps(context, TOKENS, {}, PROXIES);
    const { status, json } = await ask("GET", "/api/status", { headers: user(name) });
    expect([status, json.detail]).toEqual([403, expect.stringContaining(said)]);
  });
});

describe("a proxy that adds its header to the client's own", () => {
  test("lets nobody in", async () => {
    const server = await startOpsServer(
      context,
      { host: "127.0.0.1", port: 0, tokens: TOKENS, proxies: PROXIES },
      async () => {},
    );
    onTestFinished(() => server.close());
    for (const header of [
      "X-Forwarded-User: boss\r\nx-forwarded-user: anna",
      "X-Forwarded-User: anna\r\nX-Forwarded-Groups: finance\r\nX-Forwarded-Groups: night",
    ]) {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      socket.write(`GET /api/status HTTP/1.1\r\nHost: recon\r\n${header}\r\nConnection: close\r\n\r\n`);
      const answer = (await socket.setEncoding("utf8").toArray()).join("");
      expect(answer).toContain("403 Forbidden");
      expect(answer).toMatch(/the proxy sent the header x-forwarded-(user|groups) twice/);
    }
  });
});

describe("a header from any other address", () => {
  const elsewhere = { ...PROXIES, addresses: ["10.0.0.7", "2001:db8::/32"] };

  test.each([
    ["/api/status", user("anna", "finance")],
    ["/", user("anna")],
    ["/sign-in", user("anna")],
    ["/healthz", { "x-forwarded-groups": "finance" }],
  ])("is refused at %s, even beside a right token", async (path, headers) => {
    const ask = await serveOps(context, TOKENS, {}, elsewhere);
    const { status, json } = await ask("GET", path, { headers: { ...headers, ...bearer(WRITER) } });
    expect([status, json.detail]).toEqual([
      403,
      expect.stringContaining("is accepted from OPS_TRUSTED_PROXIES only"),
    ]);
  });

  test("is logged with its address, once a minute", async () => {
    const logged: object[] = [];
    const log = { ...silentLog, warn: (about: object) => logged.push(about) } as unknown as Log;
    const ask = await serveOps({ ...context, log }, TOKENS, {}, elsewhere);
    for (let index = 0; index < 50; index += 1) await ask("GET", "/api/status", { headers: user("anna") });
    expect(logged).toEqual([expect.objectContaining({ address: "127.0.0.1", path: "/api/status" })]);
    clock.set(clock.now() + MINUTE_MS);
    await ask("GET", "/api/status", { headers: user("anna") });
    expect(logged[1]).toMatchObject({ address: "127.0.0.1", repeated: 49 });
  });

  test("is no obstacle to tokens and sessions without it", async () => {
    const ask = await serveOps(context, TOKENS, {}, elsewhere);
    expect((await ask("GET", "/api/status", { headers: bearer(WRITER) })).status).toBe(200);
    const session = await signIn(ask, WRITER);
    expect((await ask("GET", "/", { headers: session })).text).toContain(`<span>${WRITER.name}</span>`);
  });
});

test("beside a proxy, programs still send tokens, and its user counts before a token that it adds", async () => {
  const ask = await serveOps(context, TOKENS, {}, PROXIES);
  expect((await ask("POST", CANCEL, { headers: bearer(WRITER) })).status).toBe(FOUND_NOTHING);
  const both = { ...user("anna", "night"), authorization: "Bearer eyJhbGciOiJub25lIn0.e30." };
  expect((await ask("GET", "/api/status", { headers: both })).status).toBe(200);
  const asked = { ...both, ...bearer(WRITER), ...OWN_PAGE };
  expect((await ask("POST", CANCEL, { headers: asked })).json.detail).toContain("needs the role admin");
});

test("a real proxy signs in two users with two roles, and one of them leaves", async () => {
  const server = await startOpsServer(
    context,
    { host: "127.0.0.1", port: 0, tokens: [], proxies: PROXIES },
    async () => {},
  );
  onTestFinished(() => server.close());
  const users = new Map([
    ["cookie-of-anna", user("anna", "night")],
    ["cookie-of-bob", user("bob")],
  ]);
  const proxy = createServer((asked, answer) => {
    const found = users.get(asked.headers.cookie ?? "");
    if (found === undefined) return void answer.writeHead(302, { location: "https://login.example/" }).end();
    const { "x-forwarded-user": _, "x-forwarded-groups": __, ...own } = asked.headers;
    const options = { method: asked.method, headers: { ...own, ...found } };
    const passed = httpRequest(`${server.url}${asked.url}`, options, (from) => {
      answer.writeHead(from.statusCode ?? 502, from.headers);
      from.pipe(answer);
    });
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const at = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const ack = async (cookie: string) => {
    const headers = { cookie, "sec-fetch-site": "same-origin", "content-type": "application/json" };
    const body = '{"note":"seen"}';
    return (await fetch(at + ACK, { method: "POST", headers, body, redirect: "manual" })).status;
  };
  expect([await ack("cookie-of-anna"), await ack("cookie-of-bob")]).toEqual([FOUND_NOTHING, 403]);
  users.delete("cookie-of-anna");
  expect(await ack("cookie-of-anna")).toBe(302);
});
