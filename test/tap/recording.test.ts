import { createHash } from "node:crypto";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { answer, call, PLACEMENT, post, SUCCESS, startSocketServer, startTapped } from "./tapped.ts";

/** A target that gives this answer to each request when its body is complete (it ends with "]}"). */
async function startTarget(bytes: string | Buffer) {
  return await startSocketServer((socket) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.endsWith("]}") && !text.endsWith("X-Sum: 1\r\n\r\n")) return;
      text = "";
      socket.write(bytes);
    });
    socket.on("end", () => socket.end());
  });
}

async function exchange(port: number, sent: string | Buffer, awaited: string) {
  const caller = await call(port);
  caller.socket.write(sent);
  await eventually("it is answered", () => caller.text().includes(awaited));
  return caller;
}

describe("the tap records", () => {
  test.each([
    ["/placeBets", "placeBets"],
    ["/sexy/settleBets?x=/winRewards", "settleBets"],
    ["/a/b/unsettleBets", "rollback"],
    ["http://wallet.example/rollbackBets", "rollback"],
    ["/adjustBalance", "adjustBalance"],
  ])(
    "POST %s as %s, to the last byte of both bodies, before the caller has the answer",
    async (path, callback) => {
      const { url } = await startTarget(answer(SUCCESS));
      const tapped = await startTapped(url);
      await exchange(tapped.port, post(path, PLACEMENT), SUCCESS);
      expect(await tapped.recorded()).toEqual([
        { callback, receivedAt: expect.stringMatching(/^\d{4}-.*Z$/), request: PLACEMENT, response: SUCCESS },
      ]);
      expect(tapped.tally).toMatchObject({ recorded: 1, others: 0 });
    },
  );

  test.each([
    ["GET /placeBets HTTP/1.1\r\nContent-Length: 2\r\n\r\n]}", "another method"],
    [post("/checkBalance", PLACEMENT), "a callback that moves nothing"],
    [post("/login", PLACEMENT), "another path"],
    [post("/placeBets/more", PLACEMENT), "a path in which a callback's name is not the last"],
  ])("nothing of %j: %s", async (request) => {
    const { url } = await startTarget(answer(SUCCESS));
    const tapped = await startTapped(url);
    await exchange(tapped.port, request, SUCCESS);
    expect(await tapped.recorded()).toEqual([]);
    expect(tapped.tally).toMatchObject({ recorded: 0, others: 1 });
  });

  test("chunked bodies, without interim answers before and trailers after them", async () => {
    const chunked = (body: string) =>
      `${(5).toString(16)};x=1\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\nX-Sum: 1\r\n\r\n`;
    const head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const { url } = await startTarget(`${head}${chunked(SUCCESS)}`);
    const tapped = await startTapped(url);
    await exchange(
      tapped.port,
      `POST /placeBets HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(PLACEMENT)}`,
      "X-Sum",
    );
    expect(await tapped.recorded()).toMatchObject([{ request: PLACEMENT, response: SUCCESS }]);
  });

  test("an answer that ends with its connection", async () => {
    const { url } = await startSocketServer((socket) => {
      socket.once("data", () => socket.end(`HTTP/1.0 200 OK\r\n\r\n${SUCCESS}`));
    });
    const tapped = await startTapped(url);
    const caller = await call(tapped.port);
    caller.socket.write(post("/placeBets", PLACEMENT));
    expect(await caller.ended).toBe("end");
    expect(await tapped.recorded()).toMatchObject([{ request: PLACEMENT, response: SUCCESS }]);
  });

  test.each([
    ["gzip", gzipSync(SUCCESS)],
    ["br", brotliCompressSync(SUCCESS)],
    ["deflate", deflateSync(SUCCESS)],
  ])("an answer packed with %s as its text", async (coding, packed) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${packed.length}\r\n\r\n`;
    const { url } = await startTarget(Buffer.concat([Buffer.from(head), packed]));
    const tapped = await startTapped(url);
    const caller = await exchange(tapped.port, post("/placeBets", PLACEMENT), "\r\n\r\n");
    await eventually("the rest comes", () => caller.text().length === head.length + packed.length);
    const received = Buffer.from(caller.text().slice(head.length), "latin1");
    const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
    expect(digest(received)).toBe(digest(packed));
    expect(await tapped.recorded()).toMatchObject([{ response: SUCCESS }]);
  });

  test.each(["sessionToken", "token", "Auth-Token"])("no %s, although it is passed on", async (name) => {
    const withToken = PLACEMENT.replace("{", `{"${name}":"secret-of-anna",`);
    const { url } = await startTarget(answer(SUCCESS));
    const tapped = await startTapped(url);
    await exchange(tapped.port, post("/placeBets", withToken), SUCCESS);
    const [line] = await tapped.recorded();
    expect(line?.request).toBe(PLACEMENT);
  });

  test("answers of failures too, but not a gateway's error page", async () => {
    const refusal = '{"id":"request-1","statusCode":10002}';
    const { url } = await startTarget(answer(refusal, "HTTP/1.1 400 Bad Request"));
    const tapped = await startTapped(url);
    await exchange(tapped.port, post("/placeBets", PLACEMENT), refusal);
    expect(await tapped.recorded()).toMatchObject([{ response: refusal }]);
    const gateway = await startTarget(answer("<html>", "HTTP/1.1 503 Service Unavailable"));
    const other = await startTapped(gateway.url);
    await exchange(other.port, post("/placeBets", PLACEMENT), "<html>");
    expect(await other.recorded()).toEqual([]);
    expect(other.tally).toMatchObject({ refused: 1, recorded: 0 });
  });

  test("an answer that comes before its request is complete, once the request is complete", async () => {
    const { url } = await startSocketServer((socket) => {
      socket.once("data", () => socket.write(answer(SUCCESS)));
    });
    const tapped = await startTapped(url);
    const request = post("/placeBets", PLACEMENT);
    const caller = await exchange(tapped.port, request.slice(0, -10), SUCCESS);
    expect(await tapped.recorded()).toEqual([]);
    caller.socket.write(request.slice(-10));
    await eventually("it is recorded", async () => (await tapped.recorded()).length === 1);
    expect(await tapped.recorded()).toMatchObject([{ request: PLACEMENT, response: SUCCESS }]);
  });

  test("what passes through each of two taps in front of one target", async () => {
    const { url } = await startTarget(answer(SUCCESS));
    const taps = await Promise.all([startTapped(url), startTapped(url)]);
    const bodies = ["bet-a", "bet-b"].map((id) => PLACEMENT.replace("bet-1", id));
    await Promise.all(
      taps.map(({ port }, index) => exchange(port, post("/placeBets", bodies[index] ?? ""), SUCCESS)),
    );
    expect(await taps[0].recorded()).toMatchObject([{ request: bodies[0] }]);
    expect(await taps[1].recorded()).toMatchObject([{ request: bodies[1] }]);
  });
});
