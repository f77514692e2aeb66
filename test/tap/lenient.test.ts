/** Messages that strict recipients refuse and lenient ones accept, each followed by plain callbacks on the same connection. */

import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { codesIn, converse, idOf, LENGTH, startTarget, withHead } from "./lenient-target.ts";
import { answer, call, PLACEMENT, post, SUCCESS, startSocketServer, startTapped } from "./tapped.ts";

const CHUNKED = `${LENGTH.toString(16)}\r\n${SUCCESS}\r\n0\r\n\r\n`;
const FOLLOWING = ["request-2", "request-3"].map((id) => post("/placeBets", idOf(id)));

describe("an answer that a lenient recipient may read is recorded, and so are later ones", () => {
  test.each([
    [
      "a length and a transfer coding, which overrides it",
      withHead(`Transfer-Encoding: chunked\r\nContent-Length: 5`, CHUNKED),
    ],
    ["a folded header line", withHead(`X-Note: one\r\n two\r\nContent-Length: ${LENGTH}`)],
    ["a folded length", withHead(`Content-Length:\r\n ${LENGTH}`)],
    [
      "a folded line behind its first line",
      `HTTP/1.1 200 OK\r\n Content-Length: 5\r\nContent-Length: ${LENGTH}\r\n\r\n${SUCCESS}`,
    ],
    ["a space behind a header's name", withHead(`Content-Length : ${LENGTH}`)],
    ["its length twice", withHead(`Content-Length: ${LENGTH}\r\nContent-Length: ${LENGTH}`)],
    ["its length twice in one line", withHead(`Content-Length: ${LENGTH}, ${LENGTH}`)],
    ["line feeds alone", withHead(`Content-Length: ${LENGTH}`).replaceAll("\r\n", "\n")],
    ["two spaces in its first line", `HTTP/1.1  200  OK\r\nContent-Length: ${LENGTH}\r\n\r\n${SUCCESS}`],
  ])("%s", async (_, first) => {
    const { port, recorded, tally } = await startTarget(first);
    const { sent, text } = await converse(port, [post("/placeBets", PLACEMENT), ...FOLLOWING]);
    expect(sent).toBe(3);
    expect(text()).toBe(first + answer(SUCCESS) + answer(SUCCESS));
    expect((await recorded()).map(({ request, response }) => [JSON.parse(request).id, response])).toEqual([
      ["request-1", SUCCESS],
      ["request-2", SUCCESS],
      ["request-3", SUCCESS],
    ]);
    expect(tally).toMatchObject({ recorded: 3, lost: { unreadable: 0 } });
  });
});

describe("an answer that ends with its head, regardless of its fields, is read correctly", () => {
  const head = (status: string) =>
    `HTTP/1.1 ${status}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const hello = post("/hello", "x]}");
  test.each([
    ["to HEAD", hello.replace("POST", "HEAD"), head("200 OK")],
    ["204", hello, head("204 No Content")],
    ["304", hello, head("304 Not Modified")],
    ["100, before another", hello, head("100 Continue") + answer("{}")],
  ])("%s", async (_, first, said) => {
    const { port, recorded } = await startTarget(said);
    const caller = await call(port);
    caller.socket.write(first);
    await eventually("it is answered", () => caller.text() === said);
    caller.socket.write(FOLLOWING.join(""));
    await eventually("all are answered", () => caller.text() === said + answer(SUCCESS) + answer(SUCCESS));
    expect((await recorded()).map(({ request }) => JSON.parse(request).id)).toEqual([
      "request-2",
      "request-3",
    ]);
  });
});

describe("a request that a lenient recipient may read is recorded and gets the target's path, and so do later ones", () => {
  const fields = "Host: wallet.example\r\n";
  const size = Buffer.byteLength(PLACEMENT);
  test.each([
    ["a folded header line", post("/placeBets", PLACEMENT, "X-Note: one\r\n\ttwo\r\n")],
    ["its length twice", post("/placeBets", PLACEMENT, `Content-Length: ${size}\r\n`)],
    ["line feeds alone", post("/placeBets", PLACEMENT).replaceAll("\r\n", "\n")],
    ["its target in absolute form", post("http://wallet.example/placeBets?x=1", PLACEMENT)],
    [
      "spaces and tabs in its first line",
      post("/placeBets", PLACEMENT).replace("POST /placeBets", "POST \t /placeBets "),
    ],
    ["a head of 100 KiB", post("/placeBets", PLACEMENT, `X: ${"a".repeat(1_000)}\r\n`.repeat(100))],
    [
      "a chunk with an extension of 100 KiB",
      `POST /placeBets HTTP/1.1\r\n${fields}Transfer-Encoding: chunked\r\n\r\n${size.toString(16)};${"x".repeat(100_000)}\r\n${PLACEMENT}\r\n0\r\n\r\n`,
    ],
  ])("%s", async (_, first) => {
    const { port, recorded, taken, tally } = await startTarget();
    const { text } = await converse(port, [first, ...FOLLOWING]);
    expect(codesIn(text())).toEqual(["200", "200", "200"]);
    expect(taken.join("")).toBe([first, ...FOLLOWING].join("").replaceAll("/placeBets", "/api/placeBets"));
    expect((await recorded()).map(({ request }) => JSON.parse(request).id)).toEqual([
      "request-1",
      "request-2",
      "request-3",
    ]);
    expect(tally.lost.unreadable).toBe(0);
  });

  test("a length and a transfer coding: it is recorded, and the connection ends after it", async () => {
    const first = `POST /placeBets HTTP/1.1\r\nContent-Length: ${size}\r\nTransfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${PLACEMENT}\r\n0\r\n\r\n`;
    const { port, recorded, taken } = await startTarget();
    const { text, ended } = await converse(port, [first + FOLLOWING.join("")]);
    expect(await ended).toBe("end");
    expect(text()).toBe(answer(SUCCESS));
    expect(taken).toEqual([first.replace("/placeBets", "/api/placeBets")]);
    expect(await recorded()).toMatchObject([{ request: PLACEMENT }]);
  });
});

const size = Buffer.byteLength(PLACEMENT);

describe("after a message with an uncertain end the connection ends; its callback is counted, and nothing passes unseen", () => {
  test.each([
    ["an answer with a signed length", withHead(`Content-Length: +${LENGTH}`)],
    ["an answer with a header line without a name", withHead(`garbage\r\nContent-Length: ${LENGTH}`)],
  ])("%s: at its likely end", async (_, first) => {
    const { port, recorded, taken, tally } = await startTarget(first);
    const { text, ended } = await converse(port, [post("/placeBets", PLACEMENT)]);
    expect(await ended).toBe("end");
    expect(text()).toBe(first);
    expect(taken.length).toBe(1);
    expect(await recorded()).toEqual([]);
    expect(tally.lost.unreadable).toBe(1);
  });

  test.each([
    ["two lengths that differ", withHead(`Content-Length: 5\r\nContent-Length: ${LENGTH}`)],
    ["a chunk without a size", withHead("Transfer-Encoding: chunked", `zz\r\n${SUCCESS}`)],
    ["a chunk that is longer than its size", withHead("Transfer-Encoding: chunked", `5\r\n${SUCCESS}`)],
    ["no status", `HTTP/1.1 fine\r\nContent-Length: ${LENGTH}\r\n\r\n${SUCCESS}`],
    ["a head of more than 128 KiB", withHead(`X: ${"a".repeat(300_000)}\r\nContent-Length: ${LENGTH}`)],
  ])("an answer with %s: when the caller continues, and its bytes do not pass", async (_, first) => {
    const { port, recorded, taken, tally } = await startTarget(first);
    const { sent, text, ended } = await converse(port, [post("/placeBets", PLACEMENT), ...FOLLOWING]);
    expect(await ended).toBe("end");
    expect(sent).toBe(2);
    expect(text()).toBe(first);
    expect(taken.length).toBe(1);
    expect(await recorded()).toEqual([]);
    expect(tally.lost.unreadable).toBe(1);
  });

  test.each([
    ["a signed length", post("/placeBets", PLACEMENT).replace("Length: ", "Length: +")],
    ["two lengths that differ", post("/placeBets", PLACEMENT, "Content-Length: 5\r\n")],
    ["a space behind a header's name", post("/placeBets", PLACEMENT).replace("Length:", "Length :")],
    ["a header line without a name", post("/placeBets", PLACEMENT, "garbage\r\n")],
    ["a CR within a line", post("/placeBets", PLACEMENT, "X: a\rTransfer-Encoding: chunked\r\n")],
    ["a folded first line", post("/placeBets", PLACEMENT).replace("\r\n", "\r\n Content-Length: 0\r\n")],
    [
      "a CR within a chunk's extension",
      `POST /placeBets HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${size.toString(16)};a\r0\r\n${PLACEMENT}\r\n0\r\n\r\n`,
    ],
    ["an unknown transfer coding", post("/placeBets", PLACEMENT, "Transfer-Encoding: gzip\r\n")],
    ["a head of more than 128 KiB", post("/placeBets", PLACEMENT, `X: ${"a".repeat(300_000)}\r\n`)],
  ])("a request with %s: after its answer", async (_, first) => {
    const { port, recorded, taken, tally } = await startTarget();
    const { text, ended } = await converse(port, [first]);
    expect(await ended).toBe("end");
    expect(text()).toBe(answer(SUCCESS));
    expect(taken).toEqual([first.replace("/placeBets", "/api/placeBets")]);
    expect(await recorded()).toEqual([]);
    expect(tally.lost.unreadable).toBe(1);
  });

  test("if the target refuses such a request, it counts as refused, not lost", async () => {
    const { port, tally } = await startTarget(answer("refused", "HTTP/1.1 400 Bad Request"));
    const { ended } = await converse(port, [post("/placeBets", PLACEMENT).replace("Length: ", "Length: +")]);
    expect(await ended).toBe("end");
    expect(tally).toMatchObject({ refused: 1, lost: { unreadable: 0 } });
  });

  test("requests already sent after it are answered and recorded, and no further one passes", async () => {
    const { port, recorded, taken, tally } = await startTarget(withHead(`Content-Length: +${LENGTH}`));
    const { text, ended } = await converse(port, [[post("/placeBets", PLACEMENT), ...FOLLOWING].join("")]);
    expect(await ended).toBe("end");
    expect(codesIn(text())).toEqual(["200", "200", "200"]);
    expect(taken.length).toBe(3);
    expect((await recorded()).map(({ request }) => JSON.parse(request).id)).toEqual([
      "request-2",
      "request-3",
    ]);
    expect(tally.lost.unreadable).toBe(1);
  });

  test("each callback is counted whose answer may be in the unreadable bytes, not each connection", async () => {
    const { port, tally } = await startTarget(withHead("Transfer-Encoding: chunked", `zz\r\n${SUCCESS}`));
    const caller = await call(port);
    caller.socket.write([post("/placeBets", PLACEMENT), ...FOLLOWING].join(""));
    await eventually("the target's answers pass", () => codesIn(caller.text()).length === 3);
    caller.socket.write(post("/placeBets", PLACEMENT));
    expect(await caller.ended).toBe("end");
    expect(tally).toMatchObject({ recorded: 0, unanswered: 0, lost: { unreadable: 3 } });
  });
});

describe("bytes that are not HTTP/1.1 do not reach the target", () => {
  test.each([
    ["another protocol", "\x16\x03\x01 hello\r\n\r\n"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["HTTP/0.9", "POST /placeBets\r\n\r\n"],
    ["lines that end with CR alone", post("/placeBets", PLACEMENT).replaceAll("\r\n", "\r")],
  ])("%s", async (_, bytes) => {
    const { port, taken, tally } = await startTarget();
    const caller = await call(port);
    caller.socket.write(bytes);
    expect(await caller.ended).toBe("end");
    expect(caller.text()).toBe("");
    expect(tally.unpassed).toBe(1);
    expect(taken).toEqual([]);
  });

  test("the offer to switch to HTTP/2 is removed, so the connection stays readable", async () => {
    const { port, taken, recorded } = await startTarget();
    const fields = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    await converse(port, [post("/placeBets", PLACEMENT, fields)]);
    expect(taken).toEqual([post("/api/placeBets", PLACEMENT, fields.replace("Upgrade: h2c\r\n", ""))]);
    expect(await recorded()).toMatchObject([{ request: PLACEMENT }]);
  });
});

describe("an answer without a request", () => {
  /** A target that sends further bytes of its own after its answer. */
  const startSpeaking = async (unasked: string) => {
    const { url } = await startSocketServer((socket: Socket) => {
      socket.once("data", () =>
        socket.write(answer(SUCCESS), () => setTimeout(() => socket.write(unasked), 20)),
      );
    });
    return await startTapped(url);
  };

  test("from a server that closes an idle connection passes, and is not counted", async () => {
    const unasked = answer("", "HTTP/1.1 408 Request Timeout");
    const { port, tally } = await startSpeaking(unasked);
    const { ended, text } = await converse(port, [post("/placeBets", PLACEMENT)]);
    expect(await ended).toBe("end");
    expect(text()).toBe(answer(SUCCESS) + unasked);
    expect(tally).toMatchObject({ recorded: 1, lost: { unreadable: 0 } });
  });

  test("of success counts as an unseen callback", async () => {
    const { port, tally } = await startSpeaking(answer(SUCCESS));
    const { ended } = await converse(port, [post("/placeBets", PLACEMENT)]);
    expect(await ended).toBe("end");
    expect(tally).toMatchObject({ recorded: 1, lost: { unreadable: 1 } });
  });
});

describe("a callback is recognised by its path, as lenient servers do", () => {
  test.each([
    ["/placeBets/", "placeBets"],
    ["/placebets", "placeBets"],
    ["/PLACEBETS//?x=1", "placeBets"],
    ["/placeBets;a=b", "placeBets"],
    ["/x;y=z/settleBets;a=b;c/?q", "settleBets"],
    ["/place%42ets", "placeBets"],
    ["/sexy%2FunsettleBets", "rollback"],
    ["/placeBets%3Bv=1", "placeBets"],
    ["/placeBets%20", "placeBets"],
    ["/x/../winRewards/.", "winRewards"],
    ["\\placeBets", "placeBets"],
    ["http://wallet.example/sexy/placebets/", "placeBets"],
    ["placeBets", "placeBets"],
  ])("POST %s", async (path, callback) => {
    const { url } = await startSocketServer((socket) => {
      socket.on("data", () => socket.write(answer(SUCCESS)));
    });
    const { port, recorded } = await startTapped(url);
    await converse(port, [post(path, PLACEMENT)]);
    expect(await recorded()).toMatchObject([{ callback, request: PLACEMENT }]);
  });

  test.each([
    ["/place%2542ets", SUCCESS, 1],
    ["/placeBets.php", SUCCESS, 1],
    ["/payBonus", SUCCESS, 1],
    ["/payBonus", `${SUCCESS.slice(0, -1)},"x":"${"x".repeat(20_000)}"}`, 0],
    ["/login", '{"statusCode":0}', 0],
    ["/payBonus", SUCCESS.replace('"statusCode":0', '"statusCode":10002'), 0],
    ["/payBonus", SUCCESS.replace("99.70", "100"), 0],
  ])(
    "POST %s, answered with %s, is not recorded, and counts %i times as a callback that moved money",
    async (path, said, count) => {
      const { url } = await startSocketServer((socket) => {
        socket.on("data", () => socket.write(answer(said)));
      });
      const { port, recorded, tally } = await startTapped(url);
      await converse(port, [post(path, PLACEMENT)]);
      expect(await recorded()).toEqual([]);
      expect(tally.lost["unknown-path"]).toBe(count);
      expect(tally.others).toBe(1);
    },
  );
});
