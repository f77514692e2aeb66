import { connect } from "node:net";
import { pino } from "pino";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { dropExpired } from "../../src/flows/retention/drop-expired.ts";
import { silentLog } from "../../src/log.ts";
import { startOpsServer } from "../../src/ops/server.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import {
  type AskRaw,
  bearer,
  OWN_PAGE,
  READER,
  serveOps,
  signIn,
  TOKENS,
  WRITER,
} from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context: FlowContext = { sql, clock, log: silentLog, config };
const FORM = { "content-type": "application/x-www-form-urlencoded" };
/** A change that any client can try: it finds no backfill, once it is allowed. */
const CHANGE = "/api/backfills/7/cancel";
const LET_THROUGH = 404;

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql, ["ops_sessions"]);
});

function typeToken(ask: AskRaw, token: string, fields: Record<string, string> = {}) {
  const body = String(new URLSearchParams({ token, ...fields }));
  return ask("POST", "/sign-in", { headers: { ...OWN_PAGE, ...FORM }, body });
}

describe("signing in", () => {
  test("a visitor of a page is led to the sign-in, and from there to the page", async () => {
    const ask = await serveOps(context);
    const page = await ask("GET", "/changes?topics=pull", { headers: { accept: "text/html" } });
    expect([page.status, page.headers.location]).toEqual([303, "/sign-in?to=%2Fchanges%3Ftopics%3Dpull"]);
    const form = await ask("GET", page.headers.location ?? "", { headers: { accept: "text/html" } });
    expect(form.status).toBe(200);
    expect(form.text).toContain('<input type="hidden" name="to" value="/changes?topics=pull">');
    expect(form.text).toMatch(
      /<label for="token">.*<\/label>\s*<input id="token" name="token"[^>]* autofocus/,
    );
    const answer = await typeToken(ask, READER.token, { to: "/changes?topics=pull" });
    expect([answer.status, answer.headers.location]).toEqual([303, "/changes?topics=pull"]);
  });

  test("a request for anything but a page is answered that a token is needed", async () => {
    const ask = await serveOps(context);
    for (const [path, accept] of [
      ["/api/status", "text/html"],
      ["/changes?topics=pull", "text/event-stream"],
    ] as const) {
      const { status, headers, json } = await ask("GET", path, { headers: { accept } });
      expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"]);
      expect(json).toMatchObject({ status: 401, detail: expect.stringContaining("OPS_TOKENS") });
    }
  });

  test("scripts and other sites cannot reach the session's cookie", async () => {
    const ask = await serveOps(context);
    const { headers } = await typeToken(ask, WRITER.token);
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(/^recon_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
  });

  test("behind a proxy that ends https, browsers send the cookie only over https", async () => {
    const ask = await serveOps(context);
    const answer = await ask("POST", "/sign-in", {
      headers: { ...OWN_PAGE, ...FORM, "x-forwarded-proto": "https" },
      body: String(new URLSearchParams({ token: WRITER.token })),
    });
    expect(answer.headers["set-cookie"]?.[0]).toMatch(/; Secure/);
  });

  test.each(["", "wrong", "a token that read", READER.name])(
    "%j is no token, and the page says so without repeating the text",
    async (token) => {
      const ask = await serveOps(context);
      const { status, headers, text } = await typeToken(ask, token, { to: "/report" });
      expect([status, headers["set-cookie"]]).toEqual([401, undefined]);
      expect(text).toMatch(/role="alert">This token is not in OPS_TOKENS/);
      expect(text).toContain('name="to" value="/report"');
      if (token.length > 4) expect(text).not.toContain(token);
      expect(await sql`select from ops_sessions`).toHaveLength(0);
    },
  );

  test("the stored session lets nobody in, and contains no token", async () => {
    const ask = await serveOps(context);
    const { cookie } = await signIn(ask, WRITER);
    const [row = {}] = await sql`select * from ops_sessions`;
    const stored = JSON.stringify(row);
    expect(stored).not.toContain(cookie.split("=")[1]);
    expect(stored).not.toContain(WRITER.token);
    for (const value of [row["id_hash"], row["token_proof"]]) {
      const guess = await ask("GET", "/api/status", { headers: { cookie: `recon_session=${value}` } });
      expect(guess.status).toBe(401);
    }
  });

  test("a user who is signed in already goes straight on", async () => {
    const ask = await serveOps(context);
    const headers = await signIn(ask, READER);
    const answer = await ask("GET", "/sign-in?to=/report", { headers });
    expect([answer.status, answer.headers.location]).toEqual([303, "/report"]);
  });

  test("a link from another site, without the strict cookie, is requested once more from this site", async () => {
    const ask = await serveOps(context);
    const headers = { accept: "text/html", "sec-fetch-site": "cross-site" };
    const { status, text } = await ask("GET", "/sign-in?to=/mismatches/7", { headers });
    expect(status).toBe(200);
    expect(text).toContain('http-equiv="refresh" content="0; url=/sign-in?to=%2Fmismatches%2F7"');
  });

  test("without tokens there is no sign-in", async () => {
    const ask = await serveOps(context, []);
    const answer = await ask("GET", "/sign-in?to=/report", { headers: { accept: "text/html" } });
    expect([answer.status, answer.headers.location]).toEqual([303, "/report"]);
    expect((await typeToken(ask, "anything", { to: "/report" })).headers.location).toBe("/report");
  });

  test.each([
    "//evil.example/x",
    "/\\evil.example",
    "\\\\evil.example",
    "/.//evil.example",
    "/a/..//evil.example",
    "/\t/evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "evil.example",
    "",
    `/${"x".repeat(3_000)}`,
  ])("to=%j leads nobody to another site", async (to) => {
    const ask = await serveOps(context);
    const answer = await typeToken(ask, READER.token, { to });
    const { location = "" } = answer.headers;
    expect(new URL(location, "http://own.example").host).toBe("own.example");
    const query = new URLSearchParams({ to });
    const headers = { ...OWN_PAGE, cookie: answer.headers["set-cookie"]?.[0]?.split(";")[0] ?? "" };
    const again = (await ask("GET", `/sign-in?${query}`, { headers })).headers.location ?? "";
    expect(new URL(again, "http://own.example").host).toBe("own.example");
  });
});

describe("a session", () => {
  test("is known to every worker, and ends on all of them with the sign-out", async () => {
    const [one, other] = [await serveOps(context), await serveOps(context)];
    const headers = await signIn(one, WRITER);
    expect((await other("POST", CHANGE, { headers })).status).toBe(LET_THROUGH);
    const out = await other("POST", "/sign-out", { headers });
    expect([out.status, out.headers.location]).toEqual([303, "/sign-in"]);
    expect(out.headers["set-cookie"]?.[0]).toMatch(/^recon_session=; .*Expires=Thu, 01 Jan 1970/);
    for (const ask of [one, other]) expect((await ask("GET", "/api/status", { headers })).status).toBe(401);
  });

  test("is new after every sign-in, which ends the one before", async () => {
    const ask = await serveOps(context);
    const first = await signIn(ask, READER);
    const body = String(new URLSearchParams({ token: WRITER.token }));
    const again = await ask("POST", "/sign-in", { headers: { ...first, ...FORM }, body });
    const cookie = again.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect(cookie).not.toBe(first.cookie);
    expect((await ask("GET", "/api/status", { headers: first })).status).toBe(401);
    expect((await ask("GET", "/api/status", { headers: { cookie } })).status).toBe(200);
  });

  test("ends after twelve hours", async () => {
    const ask = await serveOps(context);
    const headers = await signIn(ask, READER);
    clock.advance(12 * HOUR_MS - 1);
    expect((await ask("GET", "/api/status", { headers })).status).toBe(200);
    clock.advance(1);
    expect((await ask("GET", "/api/status", { headers })).status).toBe(401);
  });

  test("is deleted by the retention when it has expired, and not before", async () => {
    const ask = await serveOps(context);
    await signIn(ask, READER);
    clock.advance(6 * HOUR_MS);
    const headers = await signIn(ask, WRITER);
    clock.advance(6 * HOUR_MS + 1);
    await dropExpired(context, new AbortController().signal);
    expect(await sql`select name from ops_sessions`).toEqual([{ name: "hand" }]);
    expect((await ask("GET", "/api/status", { headers })).status).toBe(200);
  });

  test.each([
    ["is removed", []],
    ["has changed", [{ ...WRITER, token: "another token of hand" }]],
    ["has another name", [{ ...WRITER, name: "other" }]],
  ])("ends when its token %s", async (_, tokens) => {
    const headers = await signIn(await serveOps(context), WRITER);
    const restarted = await serveOps(context, [READER, ...tokens]);
    expect((await restarted("GET", "/api/status", { headers })).status).toBe(401);
  });

  test("may only read from the moment its token may only read", async () => {
    const headers = await signIn(await serveOps(context), WRITER);
    const restarted = await serveOps(context, [{ ...WRITER, role: "read" }]);
    expect((await restarted("GET", "/api/status", { headers })).status).toBe(200);
    expect((await restarted("POST", CHANGE, { headers })).status).toBe(403);
  });

  test("does not count beside a bearer token: a wrong token is refused all the same", async () => {
    const ask = await serveOps(context);
    const headers = { ...(await signIn(ask, WRITER)), authorization: "Bearer something else" };
    expect((await ask("GET", "/api/status", { headers })).status).toBe(401);
  });
});

describe("a change", () => {
  test("is done for a token that may write, sent in either way", async () => {
    const ask = await serveOps(context);
    for (const headers of [bearer(WRITER), await signIn(ask, WRITER)]) {
      expect((await ask("POST", CHANGE, { headers })).status).toBe(LET_THROUGH);
    }
  });

  const OWN = "127.0.0.1:3000";
  const FORGED: [what: string, headers: Record<string, string>][] = [
    ["of another site", { "sec-fetch-site": "cross-site" }],
    ["of a neighbour of this site", { "sec-fetch-site": "same-site" }],
    ["of another site that names our origin", { "sec-fetch-site": "cross-site", origin: `http://${OWN}` }],
    ["with another origin", { origin: "https://evil.example" }],
    ["with the origin of another port", { origin: "http://127.0.0.1:8080" }],
    ["with an opaque origin", { origin: "null" }],
    ["with an origin that is none", { origin: "%" }],
  ];
  const HONEST: [what: string, headers: Record<string, string>][] = [
    ["of an own page", { "sec-fetch-site": "same-origin" }],
    ["of an own page behind a proxy", { "sec-fetch-site": "same-origin", origin: "https://ops.example" }],
    ["typed by the visitor", { "sec-fetch-site": "none" }],
    ["of an own page of an old browser", { origin: `http://${OWN}` }],
  ];

  test.each(FORGED)("%s changes nothing with the visitor's cookie", async (_, said) => {
    const ask = await serveOps(context);
    const { cookie } = await signIn(ask, WRITER);
    const headers = { host: OWN, cookie, ...said };
    expect((await ask("POST", CHANGE, { headers })).status).toBe(403);
    expect((await ask("POST", "/sign-out", { headers })).status).toBe(403);
    expect((await ask("GET", "/api/status", { headers: { cookie } })).status).toBe(200);
  });

  test.each(FORGED)("%s changes nothing if no tokens are set", async (_, said) => {
    const ask = await serveOps(context, []);
    expect((await ask("POST", CHANGE, { headers: { host: OWN, ...said } })).status).toBe(403);
  });

  test.each(FORGED)("%s signs nobody in", async (_, said) => {
    const ask = await serveOps(context);
    const body = String(new URLSearchParams({ token: WRITER.token }));
    const answer = await ask("POST", "/sign-in", { headers: { host: OWN, ...FORM, ...said }, body });
    expect([answer.status, answer.headers["set-cookie"]]).toEqual([403, undefined]);
  });

  test.each(HONEST)("%s changes something with the visitor's cookie", async (_, said) => {
    const ask = await serveOps(context);
    const { cookie } = await signIn(ask, WRITER);
    const headers = { host: OWN, cookie, ...said };
    expect((await ask("POST", CHANGE, { headers })).status).toBe(LET_THROUGH);
  });

  test("with a cookie is refused if no header names its origin; a program sends a token", async () => {
    const ask = await serveOps(context);
    const { cookie } = await signIn(ask, WRITER);
    expect((await ask("POST", CHANGE, { headers: { cookie } })).status).toBe(403);
    expect((await ask("POST", CHANGE, { headers: bearer(WRITER) })).status).toBe(LET_THROUGH);
    const local = await serveOps(context, []);
    expect((await local("POST", CHANGE)).status).toBe(LET_THROUGH);
  });

  test("with a bearer token is done from any origin, because no page of another site has the token", async () => {
    const ask = await serveOps(context);
    const headers = { ...bearer(WRITER), origin: "https://ops.example", "sec-fetch-site": "cross-site" };
    expect((await ask("POST", CHANGE, { headers })).status).toBe(LET_THROUGH);
  });
});

describe("nobody can guess tokens", () => {
  const guess = (ask: AskRaw) => ask("GET", "/api/status", { headers: { authorization: "Bearer guessed" } });

  test("after ten failures in a minute wrong tokens must wait for its end, and right ones are accepted", async () => {
    const ask = await serveOps(context);
    for (let i = 0; i < 5; i += 1) {
      expect((await guess(ask)).status).toBe(401);
      expect((await typeToken(ask, "guessed")).status).toBe(401);
    }
    clock.advance(MINUTE_MS / 2);
    const guessed = await guess(ask);
    expect([guessed.status, guessed.headers["retry-after"]]).toEqual([429, "30"]);
    expect(guessed.json).toMatchObject({ status: 429, detail: expect.stringContaining("wait 30 s") });
    const typed = await typeToken(ask, "guessed");
    expect([typed.status, typed.headers["retry-after"]]).toEqual([429, "30"]);
    expect((await ask("GET", "/api/status", { headers: bearer(WRITER) })).status).toBe(200);
    expect((await typeToken(ask, WRITER.token)).headers["set-cookie"]).toBeDefined();
    clock.advance(MINUTE_MS / 2);
    expect((await guess(ask)).status).toBe(401);
  });

  /** No held answer gets its turn in the lifetime of a test. */
  const HOLDING = { signIns: { answerEveryMs: HOUR_MS } };

  test("at any number of connections: 300 of them get no answer, and right tokens get theirs, sent and typed", async () => {
    const ask = await serveOps(context, TOKENS, HOLDING);
    for (let i = 0; i < 10; i += 1) await guess(ask);
    const answered: number[] = [];
    for (const answer of [...Array.from({ length: 300 }, () => guess(ask)), typeToken(ask, "guessed")]) {
      // The end of the server cuts it off.
      answer.then(({ status }) => answered.push(status)).catch(() => {});
    }
    for (let i = 0; i < 10; i += 1) {
      expect((await ask("GET", "/api/status", { headers: bearer(READER) })).status).toBe(200);
      expect((await typeToken(ask, WRITER.token)).status).toBe(303);
    }
    expect(answered).toEqual([]);
  });

  test("held answers are sent one after the other", async () => {
    const ask = await serveOps(context, TOKENS, { signIns: { answerEveryMs: 1 } });
    for (let i = 0; i < 10; i += 1) await guess(ask);
    const answers = await Promise.all(Array.from({ length: 30 }, () => guess(ask)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([429]));
  });

  test("a held page is not answered by the limit of pages", async () => {
    const ask = await serveOps(context, TOKENS, { signIns: { answerEveryMs: 300 }, pageMs: 10 });
    for (let i = 0; i < 10; i += 1) await guess(ask);
    const headers = { authorization: "Bearer guessed", accept: "text/html" };
    expect((await ask("GET", "/report", { headers })).status).toBe(429);
  });

  test("a connection that sends many at once has one looked at after the other", async () => {
    await emptyTables(sql, ["audit_log"]);
    const settings = { host: "127.0.0.1", port: 0, tokens: TOKENS };
    const server = await startOpsServer(context, settings, async () => {}, HOLDING);
    onTestFinished(() => server.close());
    const change = (id: number, { token }: { readonly token: string }) =>
      `POST /api/backfills/${id}/cancel HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 0\r\n\r\n`;
    const open = () => connect(Number(new URL(server.url).port), "127.0.0.1");
    const send = async (text: string, answers: number) => {
      const socket = open();
      onTestFinished(() => void socket.destroy());
      let said = "";
      socket.on("data", (bytes) => {
        said += bytes;
      });
      socket.write(text);
      return await eventually("it is answered", () => {
        const statuses = Array.from(said.matchAll(/HTTP\/1.1 (\d+)/g), ([, status]) => Number(status));
        return statuses.length === answers && statuses;
      });
    };
    const wrong = { token: "guessed" };
    expect(await send(Array(10).fill(change(1, wrong)).join("") + change(2, WRITER), 11)).toEqual([
      ...Array(10).fill(401),
      LET_THROUGH,
    ]);
    const waiting = open();
    waiting.on("error", () => {});
    waiting.write(change(3, wrong) + change(4, WRITER));
    for (let id = 5; id < 25; id += 1) await send(change(id, WRITER), 1);
    const changed = await sql<{ id: string }[]>`select target::json->>'id' as id from audit_log`;
    expect(changed.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual([
      2,
      ...Array.from({ length: 20 }, (_, n) => n + 5),
    ]);
  });

  test("once a minute the log says how many answers were held", async () => {
    const lines: string[] = [];
    const log = pino({ level: "trace" }, { write: (line) => lines.push(line) });
    const signIns = { answerEveryMs: 1, reportEveryMs: 200 };
    const ask = await serveOps({ ...context, log }, TOKENS, { signIns });
    for (let i = 0; i < 10; i += 1) await guess(ask);
    await Promise.all(Array.from({ length: 20 }, () => guess(ask)));
    const counted = await eventually("it is said", () => {
      const said = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /refused slowly/.test(msg));
      const held = said.reduce((sum, { count }) => sum + count, 0);
      return held === 20 && said;
    });
    expect(counted.length).toBeLessThan(20);
    expect(lines.filter((line) => line.includes("had a token"))).toHaveLength(10);
  });

  test("meanwhile users with a session work on, and requests without a token are asked for one", async () => {
    const ask = await serveOps(context);
    const headers = await signIn(ask, WRITER);
    for (let i = 0; i < 11; i += 1) await guess(ask);
    expect((await ask("GET", "/api/status", { headers })).status).toBe(200);
    expect((await ask("GET", "/api/status")).status).toBe(401);
    expect((await ask("GET", "/healthz")).status).toBe(200);
  });

  test("right tokens, and requests without a token, are no failures", async () => {
    const ask = await serveOps(context);
    for (let i = 0; i < 12; i += 1) {
      await ask("GET", "/api/status", { headers: bearer(READER) });
      await ask("GET", "/api/status");
      await ask("GET", "/api/status", { headers: { cookie: "recon_session=gone" } });
    }
    expect((await ask("GET", "/api/status", { headers: bearer(READER) })).status).toBe(200);
  });

  test("the sign-in accepts no bearer token, so that nobody can guess there", async () => {
    const ask = await serveOps(context);
    const headers = { accept: "text/html", ...bearer(WRITER) };
    expect((await ask("GET", "/sign-in", { headers })).status).toBe(200);
    for (let i = 0; i < 10; i += 1) await guess(ask);
    expect((await ask("GET", "/sign-in", { headers })).status).toBe(200);
  });

  test("the log has each failure with its address, and never the attempted token", async () => {
    const lines: string[] = [];
    const log = pino({ level: "trace" }, { write: (line) => lines.push(line) });
    const ask = await serveOps({ ...context, log });
    await guess(ask);
    await typeToken(ask, "guessed too");
    const logged = lines.filter((line) => line.includes("not in OPS_TOKENS"));
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([
      { address: "127.0.0.1", path: "/api/status" },
      { address: "127.0.0.1", path: "/sign-in" },
    ]);
    expect(lines.join("")).not.toContain("guessed");
  });
});
