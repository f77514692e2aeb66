/** The caller gets an answer that the tap cannot pair with its callback: the callback is counted, and no later one passes. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readRecordedCallback } from "../../src/callbacks/entries-of-callback.ts";
import { listSegments } from "../../src/tap/journal.ts";
import { eventually } from "../support/eventually.ts";
import { codesIn, converse, idOf, LENGTH, startTarget, withHead } from "./lenient-target.ts";
import { answer, call, PLACEMENT, post, SUCCESS, startSocketServer, startTapped } from "./tapped.ts";

const FIRST = post("/placeBets", PLACEMENT);
const FOLLOWING = ["request-2", "request-3"].map((id) => post("/placeBets", idOf(id)));
const CHUNKED = `${LENGTH.toString(16)}\r\n${SUCCESS}\r\n0\r\n\r\n`;
const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n";

describe("an answer with an uncertain end is the last of its connection, and its callback is counted", () => {
  test.each([
    [
      "an unknown transfer coding and a length",
      withHead(`Transfer-Encoding: xchunked\r\nContent-Length: ${LENGTH}`),
    ],
    ["a transfer coding behind the chunks", withHead("Transfer-Encoding: chunked, identity", CHUNKED)],
    ["a vertical tab before its transfer coding", withHead("Transfer-Encoding: \x0bchunked", CHUNKED)],
    ["a name with a NUL", withHead(`Content-Length\0: 5\r\nContent-Length: ${LENGTH}`)],
    ["lines that end with CR alone", withHead(`Content-Length: ${LENGTH}`).replaceAll("\r\n", "\r")],
    ["a CR within a line", withHead(`X: a\rContent-Length: 5\r\nContent-Length: ${LENGTH}`)],
  ])("%s", async (_, first) => {
    const { port, recorded, taken, tally, logged } = await startTarget(first);
    const { sent, text, ended } = await converse(port, [FIRST, ...FOLLOWING]);
    expect(await ended).toBe("end");
    // The caller may send its next request before it sees the end of the connection.
    expect(sent).toBeLessThanOrEqual(2);
    expect(text()).toBe(first);
    expect(taken.length).toBe(1);
    expect(await recorded()).toEqual([]);
    expect(tally).toMatchObject({ unanswered: 0, lost: { unreadable: 1 } });
    expect(logged()).toContain("a message cannot be read");
  });

  test("all callbacks already sent are counted, because their answers pass after it", async () => {
    const { port, tally } = await startTarget(withHead("Transfer-Encoding: chunked, identity", CHUNKED));
    const caller = await call(port);
    caller.socket.write([FIRST, ...FOLLOWING].join(""));
    await eventually("the target's answers pass", () => codesIn(caller.text()).length === 3);
    caller.socket.destroy();
    await eventually("they are counted", () => tally.lost.unreadable === 3);
    expect(tally).toMatchObject({ recorded: 0, unanswered: 0 });
  });

  test("an answer without a length on a connection that stays open is recorded when the caller continues", async () => {
    const first = `HTTP/1.1 200 OK\r\n\r\n${SUCCESS}`;
    const { port, recorded, taken, tally } = await startTarget(first);
    const { sent, text, ended } = await converse(port, [FIRST, ...FOLLOWING]);
    expect(await ended).toBe("end");
    expect([sent, text(), taken.length]).toEqual([2, first, 1]);
    await eventually("it is recorded", () => tally.recorded === 1);
    expect(await recorded()).toMatchObject([{ request: PLACEMENT, response: SUCCESS }]);
    expect(tally).toMatchObject({ unanswered: 0, lost: { unreadable: 0 } });
  });

  test("an answer without a length, while other requests wait: their answers may be part of it, so all are counted", async () => {
    const { port, recorded, tally } = await startTarget(`HTTP/1.1 200 OK\r\n\r\n${SUCCESS}`);
    const caller = await call(port);
    caller.socket.write([FIRST, ...FOLLOWING].join(""));
    await eventually("the target's answers pass", () => codesIn(caller.text()).length === 3);
    caller.socket.end();
    await eventually("they are counted", () => tally.lost.unreadable === 3);
    expect(tally.unanswered).toBe(0);
    expect(await recorded()).toEqual([]);
  });
});

describe("a callback whose caller got an answer never counts as unanswered", () => {
  test.each([
    ["its length is longer than the answer", withHead(`Content-Length: ${LENGTH + 7}`)],
    ["its last chunk is missing", withHead("Transfer-Encoding: chunked", CHUNKED.slice(0, -5))],
    ["it has no head", SUCCESS],
    ["its head has no end", `HTTP/1.1 200 OK\r\nContent-Length: ${LENGTH}\r\n${SUCCESS}`],
  ])("the target ends its connection after the whole body, although %s", async (_, said) => {
    const { url } = await startSocketServer((socket) => {
      socket.once("data", () => socket.end(said));
    });
    const { port, tally } = await startTapped(url);
    const caller = await call(port);
    caller.socket.write(FIRST);
    expect(await caller.ended).toBe("end");
    expect(caller.text()).toBe(said);
    caller.socket.end();
    await eventually("it is counted", () => tally.unanswered + tally.lost.unreadable === 1);
    expect(tally.lost.unreadable).toBe(1);
  });

  test.each([
    ["unreadable", SUCCESS, "HTTP/1.1 200 OK", { refused: 0, lost: { unreadable: 1 } }],
    ["refused", "too large", "HTTP/1.1 413 Content Too Large", { refused: 1, lost: { unreadable: 0 } }],
  ])("its request was never complete: %s", async (_, said, status, counted) => {
    const { url } = await startSocketServer((socket) => {
      socket.once("data", () => socket.end(answer(said, status)));
    });
    const { port, tally } = await startTapped(url);
    const caller = await call(port);
    caller.socket.write(FIRST.slice(0, -9));
    expect(await caller.ended).toBe("end");
    caller.socket.destroy();
    await eventually("it is counted", () => tally.unanswered + tally.refused + tally.lost.unreadable === 1);
    expect(tally).toMatchObject({ unanswered: 0, ...counted });
  });
});

test("a request that hides another in its body: each success without a request is counted", async () => {
  const { port, tally } = await startTarget(answer(SUCCESS).repeat(3));
  const { ended } = await converse(port, [FIRST]);
  expect(await ended).toBe("end");
  expect(tally).toMatchObject({ recorded: 1, unanswered: 0, lost: { unreadable: 2 } });
});

describe("no connection becomes a tunnel", () => {
  test.each([
    ["that was not asked for", ""],
    ["that was asked for", "Upgrade: other\r\nConnection: upgrade\r\n"],
  ])("a 101 %s ends the connection: no callback passes after it", async (_, fields) => {
    const { port, taken, tally, logged } = await startTarget(SWITCHING);
    const caller = await call(port);
    caller.socket.write(post("/placeBets", PLACEMENT, fields));
    expect(await caller.ended).toBe("end");
    caller.socket.write(post("/api/placeBets", idOf("request-2")));
    expect(caller.text()).toBe(SWITCHING);
    expect(taken.length).toBe(1);
    expect(tally).toMatchObject({ recorded: 0, unanswered: 0, lost: { unreadable: 1 } });
    expect(logged()).toContain("switches to another protocol");
  });

  test("callbacks sent after the request are counted with it", async () => {
    const { port, tally } = await startTarget(SWITCHING);
    const caller = await call(port);
    caller.socket.write([post("/other", PLACEMENT, "Upgrade: other\r\n"), ...FOLLOWING].join(""));
    expect(await caller.ended).toBe("end");
    expect(tally).toMatchObject({ recorded: 0, unanswered: 0, lost: { unreadable: 2 } });
  });

  test("CONNECT and later bytes do not pass; the log says so, and it is counted", async () => {
    const { port, taken, recorded, tally, logged } = await startTarget();
    const caller = await call(port);
    caller.socket.write(
      `${FIRST}CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n${post("/api/placeBets", idOf("request-2"))}`,
    );
    expect(await caller.ended).toBe("end");
    expect(caller.text()).toBe(answer(SUCCESS));
    expect(taken.length).toBe(1);
    expect(await recorded()).toMatchObject([{ request: PLACEMENT }]);
    expect(tally).toMatchObject({ unanswered: 0, unpassed: 1 });
    expect(logged()).toContain("CONNECT");
  });
});

describe("an answer whose HTTP status says failure", () => {
  const refusal = '{"id":"request-1","statusCode":10002}';
  test.each([
    ["500 Internal Server Error", SUCCESS, "status-differs"],
    ["302 Found", SUCCESS, "status-differs"],
    ["500 Internal Server Error", refusal, "recorded"],
    ["500 Internal Server Error", '{"error":"out of memory"}', "refused"],
    ["502 Bad Gateway", "<p>{}", "refused"],
    ["500 Internal Server Error", `\xef\xbb\xbf${SUCCESS}`, "recorded"],
    ["500 Internal Server Error", `[${SUCCESS},{}`, "recorded"],
    ["201 Created", SUCCESS, "recorded"],
  ])("HTTP %s with %s is %s", async (status, said, outcome) => {
    const { port, recorded, tally } = await startTarget(answer(said, `HTTP/1.1 ${status}`));
    await converse(port, [FIRST, ...FOLLOWING]);
    await eventually(
      "all are recorded",
      () => tally.recorded + tally.refused + tally.lost["status-differs"] === 3,
    );
    expect(await recorded()).toHaveLength(outcome === "recorded" ? 3 : 2);
    expect(tally).toMatchObject({
      recorded: outcome === "recorded" ? 3 : 2,
      refused: outcome === "refused" ? 1 : 0,
      lost: { unreadable: 0, "status-differs": outcome === "status-differs" ? 1 : 0 },
    });
  });
});

test.each(["null", " null\n", "", "[]", '"null"', "true", "0"])(
  "HTTP 200 with %j makes no entry: it is kept, and rejected with the reason",
  async (said) => {
    const { url } = await startSocketServer((socket) => {
      socket.on("data", () => socket.write(answer(said)));
    });
    const { port, folder, tally } = await startTapped(url);
    const caller = await call(port);
    caller.socket.write(FIRST);
    await eventually("it is recorded", () => tally.recorded === 1);
    const [segment] = await listSegments(folder);
    const line = readFileSync(segment?.path ?? "", "utf8").trimEnd();
    expect(readRecordedCallback(line)).toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("response must be your answer"),
    });
  },
);

describe("a request of another method whose answer says that money moved is counted, and the log names its path", () => {
  test.each(["GET", "OPTIONS", "get", "PUT", "PATCH", "DELETE"])("%s", async (method) => {
    const { port, recorded, tally, logged } = await startTarget();
    await converse(port, [FIRST.replace("POST /placeBets", `${method} /sexy/placeBets?token=SECRET`)]);
    expect(await recorded()).toEqual([]);
    expect(tally).toMatchObject({ others: 1, lost: { "unknown-path": 1 } });
    expect(logged()).toContain(`"path":"${method.toUpperCase()} /sexy/placeBets"`);
    expect(logged()).not.toContain("SECRET");
  });

  test("a GET whose answer moves nothing is neither counted nor logged", async () => {
    const { port, tally, logged } = await startTarget(answer('{"statusCode":0,"ok":{"x":[1]}}'));
    await converse(port, [FIRST.replace("POST /placeBets", "GET /health")]);
    expect(tally).toMatchObject({ others: 1, lost: { "unknown-path": 0 } });
    expect(logged()).not.toContain("/health");
  });
});

describe("the log never shows part of a body as a path", () => {
  const secret = "SECRET-OF-ANNA";
  const unframed = (body: string) => `POST /placeBets HTTP/1.1\r\nHost: x\r\n\r\n${body}`;
  test.each([
    ["JSON", unframed(`{"sessionToken":"${secret}","txns":[{}]}`)],
    ["JSON with spaces", unframed(`{"sessionToken": "/${secret}", "txns": [{}]}`)],
    ["a form", unframed(`sessionToken=${secret}&x=]}`)],
    ["text", unframed(secret)],
    ["text with spaces", unframed(`token /x ${secret} `)],
    ["a parameter of the path", post(`/x;sessionToken=${secret}`, PLACEMENT)],
    ["a target without a path", post(`x?sessionToken=${secret}`, PLACEMENT)],
    ["a name and password", post(`http://anna:${secret}@wallet.example/x`, PLACEMENT)],
    ["a made-up method", post("/x", PLACEMENT).replace("POST", secret)],
  ])("%s", async (_, first) => {
    const { url } = await startSocketServer((socket) => {
      socket.on("data", () => socket.write(answer("{}")));
    });
    const { port, logged } = await startTapped(url);
    const caller = await call(port);
    caller.socket.write(first);
    await eventually("it is answered", () => caller.text().includes("{}"));
    caller.socket.write(post("/other", PLACEMENT));
    await eventually("something is logged", () => logged() !== "");
    expect(logged()).not.toContain(secret);
  });

  test("a long path is shortened", async () => {
    const { port, logged } = await startTarget();
    await converse(port, [post(`/x/${"y".repeat(5_000)}`, PLACEMENT)]);
    expect(logged()).toContain("/x/yyy");
    expect(logged().length).toBeLessThan(500);
  });
});
