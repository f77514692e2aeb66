import { connect } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { silentLog } from "../../src/log.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { MINUTE_MS, NOON } from "../support/examples.ts";
import { type AskRaw, bearer, OWN_PAGE, READER, serveOps, signIn, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context: FlowContext = { sql, clock, log: silentLog, config };
const RANGE = { productId: "P1", from: "2026-11-19T00:00:00Z", to: "2026-11-19T01:00:00Z" };

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

function post(ask: AskRaw, path: string, headers: object, body?: unknown) {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  return ask("POST", path, { headers: { ...headers, ...type }, ...sent });
}

async function readAudit(ask: AskRaw) {
  return (await ask("GET", "/api/audit", { headers: bearer(READER) })).json;
}

describe("the audit log", () => {
  test("says who changed what, when, from where, with what request, and with what result", async () => {
    const ask = await serveOps(context);
    await post(ask, "/api/backfills", bearer(WRITER), RANGE);
    clock.advance(MINUTE_MS);
    await post(ask, "/api/backfills/1/pause", await signIn(ask, WRITER));
    await post(ask, "/api/backfills/9/cancel", bearer(WRITER));
    const { audit } = await readAudit(ask);
    const common = { who: "hand", role: "write", address: "127.0.0.1", method: "POST" };
    expect(audit.reverse()).toEqual([
      {
        ...common,
        id: "1",
        at: "2026-11-20T12:00:00.000Z",
        by: "token",
        route: "/api/backfills",
        target: {},
        details: RANGE,
        status: 201,
      },
      expect.objectContaining({ ...common, route: "/sign-in", by: "session", status: 303 }),
      {
        ...common,
        id: "3",
        at: "2026-11-20T12:01:00.000Z",
        by: "session",
        route: "/api/backfills/:id/pause",
        target: { id: "1" },
        details: null,
        status: 200,
      },
      expect.objectContaining({ ...common, by: "token", target: { id: "9" }, status: 404 }),
    ]);
  });

  test("has changes that were refused: for the role, for the origin, for the form", async () => {
    const ask = await serveOps(context);
    const { cookie } = await signIn(ask, WRITER);
    await emptyTables(sql, ["audit_log"]);
    await post(ask, "/api/backfills", bearer(READER), RANGE);
    await post(ask, "/api/backfills", { cookie, "sec-fetch-site": "cross-site" }, RANGE);
    await post(ask, "/api/backfills", bearer(WRITER), "{");
    await post(ask, "/api/backfills", bearer(WRITER), { note: "x".repeat(70_000) });
    await post(ask, "/api/backfills", bearer(WRITER), { ...RANGE, productId: "P9" });
    const { audit } = await readAudit(ask);
    expect(audit.map(({ who, status }: { who: string; status: number }) => [who, status]).reverse()).toEqual([
      ["eye", 403],
      ["hand", 403],
      ["hand", 400],
      ["hand", 413],
      ["hand", 400],
    ]);
    expect(await sql`select from backfills`).toHaveLength(0);
  });

  test("has the address of a client that hangs up in the middle of a request", async () => {
    const server = await startOpsServer(context, { host: "127.0.0.1", port: 0, tokens: [] }, async () => {});
    onTestFinished(() => server.close());
    const { port } = new URL(server.url);
    const socket = connect(Number(port), "127.0.0.1");
    const head = "POST /api/backfills HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    socket.write(`${head}\r\ncontent-length: 100\r\n\r\n{`, () => socket.destroy());
    const [row] = await eventually("the request is in the log", async () => {
      const rows = await sql`select address, status from audit_log`;
      return rows.length > 0 ? rows : null;
    });
    expect(row).toEqual({ address: "127.0.0.1", status: 400 });
  });

  test("has no unknown client, and no request that only reads", async () => {
    const ask = await serveOps(context);
    await post(ask, "/api/backfills", {}, RANGE);
    await post(ask, "/api/backfills", { authorization: "Bearer wrong" }, RANGE);
    await ask("GET", "/api/backfills", { headers: bearer(WRITER) });
    expect((await readAudit(ask)).audit).toEqual([]);
  });

  test("names this machine's user if there are no tokens", async () => {
    const ask = await serveOps(context, []);
    await post(ask, "/api/backfills", {}, RANGE);
    expect((await readAudit(ask)).audit).toMatchObject([{ who: "local", by: "loopback", status: 201 }]);
  });

  test("contains no token or other secret, and of a body only what can be read", async () => {
    const ask = await serveOps(context);
    const headers = await signIn(ask, WRITER);
    const hidden = "that nobody may see";
    const body = {
      deep: [{ apiToken: hidden, password: hidden }],
      long: "x".repeat(20_000),
      odd: "\0\ud800",
    };
    await post(ask, "/api/backfills", headers, body);
    await post(ask, "/sign-out", headers);
    const stored = JSON.stringify(await sql`select * from audit_log`);
    for (const secret of [WRITER.token, headers.cookie.split("=")[1] ?? "", hidden]) {
      expect(stored).not.toContain(secret);
    }
    const [out, first] = (await readAudit(ask)).audit;
    expect(out).toMatchObject({ route: "/sign-out", who: "hand", status: 303 });
    expect(first.details).toEqual({
      cut: expect.stringContaining("(hidden)"),
      characters: expect.any(Number),
    });
    expect(JSON.stringify(first.details).length).toBeLessThan(20_000);
  });

  test("is written first: if that fails, nothing is changed", async () => {
    const ask = await serveOps(context);
    await sql`alter table audit_log rename to audit_log_away`;
    try {
      expect((await post(ask, "/api/backfills", bearer(WRITER), RANGE)).status).toBe(500);
      expect(await sql`select from backfills`).toHaveLength(0);
    } finally {
      await sql`alter table audit_log_away rename to audit_log`;
    }
  });

  test("has a change that is under way, before its answer", async () => {
    const ask = await serveOps(context);
    const rows = async () => await sql`select who, status from audit_log`;
    const answering = await sql.begin(async (tx) => {
      await tx`lock table backfills`;
      const asked = post(ask, "/api/backfills", bearer(WRITER), RANGE);
      await eventually("the change stands in the log", async () => (await rows()).length === 1);
      expect(await rows()).toEqual([{ who: "hand", status: null }]);
      return { asked };
    });
    expect((await answering.asked).status).toBe(201);
    expect(await rows()).toEqual([{ who: "hand", status: 201 }]);
  });
});

test("no page changes anything without a trace: every form adds a line", async () => {
  const ask = await serveOps(context);
  const headers = { ...(await signIn(ask, WRITER)), ...OWN_PAGE };
  await emptyTables(sql, ["audit_log"]);
  await post(ask, "/sign-out", headers);
  expect(await sql`select route, status from audit_log`).toEqual([{ route: "/sign-out", status: 303 }]);
});
