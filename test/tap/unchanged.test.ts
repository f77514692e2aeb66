import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { answer, call, PLACEMENT, post, SUCCESS, startSocketServer, startTapped } from "./tapped.ts";

/** A target that keeps the bytes that it receives, and answers with these bytes once it has received a number of them. */
async function startScripted(script: { awaited: number; answer: Buffer; cuts: readonly number[] }) {
  const got: Buffer[] = [];
  const { url } = await startSocketServer((socket) => {
    let left = script.awaited;
    socket.on("data", (chunk) => {
      got.push(chunk);
      const isWhole = left > 0 && left <= chunk.length;
      left -= chunk.length;
      if (!isWhole) return;
      for (const part of cutAt(script.answer, script.cuts)) socket.write(part);
      socket.end();
    });
  });
  return { url, got: () => Buffer.concat(got) };
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

const name = fc
  .stringMatching(/^[A-Za-z][A-Za-z0-9_.!~-]{0,20}$/)
  .filter((text) => !/^(?:content-length|transfer-encoding|content-encoding|upgrade)$/i.test(text));
/** Any value of a field: bytes beyond ASCII, spaces around it, or empty. */
const value = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 40,
});
const fields = fc
  .array(fc.tuple(name, fc.constantFrom(":", ": ", ":\t", ":   "), value), { maxLength: 12 })
  .map((all) => all.map((parts) => `${parts.join("")}\r\n`).join(""));
const body = fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes));
const cuts = fc.array(fc.nat(), { maxLength: 6 });

/** A body as it goes over the wire: with its length, or in chunks with extensions and trailers. */
const framed = fc.oneof(
  body.map((bytes) => ({ head: `CoNtEnT-LeNgTh: ${bytes.length}\r\n`, bytes })),
  fc
    .tuple(
      fc.array(
        body.filter((part) => part.length > 0),
        { maxLength: 4 },
      ),
      fc.boolean(),
    )
    .map(([parts, isDecorated]) => ({
      head: "transfer-ENCODING: chunked\r\n",
      bytes: Buffer.concat([
        ...parts.map((part) =>
          Buffer.concat([
            Buffer.from(
              `${isDecorated ? "00" : ""}${part.length.toString(16).toUpperCase()}${isDecorated ? ';a="b"' : ""}\r\n`,
            ),
            part,
            Buffer.from("\r\n"),
          ]),
        ),
        Buffer.from(isDecorated ? "0\r\nX-Checksum: 1\r\nx-checksum: 2\r\n\r\n" : "0\r\n\r\n"),
      ]),
    })),
);
const method = fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "MADE-UP");
const path = fc.constantFrom(
  "/placeBets",
  "/a//b/../c?x=%41&y=%zz&z",
  "/%E0%B8%81?",
  "/sexy/settleBets#",
  "*",
  "http://x/y",
  "/",
);
const request = fc
  .tuple(method, path, fields, framed)
  .map(([verb, target, head, { head: framing, bytes }]) =>
    Buffer.concat([Buffer.from(`${verb} ${target} HTTP/1.1\r\n${head}${framing}\r\n`, "latin1"), bytes]),
  );
const reply = fc
  .tuple(
    fc.constantFrom("200 OK", "200", "418 I'm  a teapot", "500 ", "299 \xe9"),
    fields,
    framed,
    fc.boolean(),
  )
  .map(([status, head, { head: framing, bytes }, isInterim]) =>
    Buffer.concat([
      Buffer.from(
        `${isInterim ? "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" : ""}HTTP/1.1 ${status}\r\n${head}${framing}\r\n`,
        "latin1",
      ),
      bytes,
    ]),
  );

describe("the tap passes everything through unchanged", () => {
  test("for random requests and answers, cut into random packets", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(request, fc.option(reply, { nil: Buffer.alloc(0) })), {
          minLength: 1,
          maxLength: 4,
        }),
        cuts,
        cuts,
        async (exchanges, sentCuts, answeredCuts) => {
          const sent = Buffer.concat(exchanges.map(([one]) => one));
          const answered = Buffer.concat(exchanges.map(([, one]) => one));
          const target = await startScripted({ awaited: sent.length, answer: answered, cuts: answeredCuts });
          const tapped = await startTapped(target.url);
          const caller = await call(tapped.port);
          for (const part of cutAt(sent, sentCuts)) caller.socket.write(part);
          expect(await caller.ended).toBe("end");
          caller.socket.end();
          expect(caller.text()).toBe(answered.toString("latin1"));
          expect(target.got().toString("latin1")).toBe(sent.toString("latin1"));
          await tapped.close(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("except that the target's own path is put before each request's path", async () => {
    const requests = [
      post("/placeBets?x=1", PLACEMENT),
      "GET * HTTP/1.1\r\n\r\n",
      post("/sexy/settleBets", PLACEMENT),
    ];
    const expected = requests.join("").replaceAll("POST /", "POST /api/callbacks/");
    const target = await startScripted({
      awaited: expected.length,
      answer: Buffer.from("HTTP/1.1 200 OK\r\n\r\n"),
      cuts: [],
    });
    const tapped = await startTapped(`${target.url}/api/callbacks/`);
    const caller = await call(tapped.port);
    // Byte by byte, so a path never arrives together with the bytes before it.
    for (const byte of Buffer.from(requests.join(""))) caller.socket.write(Buffer.of(byte));
    expect(await caller.ended).toBe("end");
    expect(target.got().toString()).toBe(expected);
  });

  test("including a body of 40 MB each way, which is not kept", async () => {
    const size = 40 * 1024 * 1024;
    let got = 0;
    const { url } = await startSocketServer((socket) => {
      socket.on("data", (chunk) => {
        got += chunk.length;
        if (got < size) return;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
        socket.end(Buffer.alloc(size, "b"));
      });
    });
    const tapped = await startTapped(url);
    const caller = await call(tapped.port);
    caller.socket.write(`POST /placeBets HTTP/1.1\r\nContent-Length: ${size}\r\n\r\n`);
    caller.socket.write(Buffer.alloc(size, "a"));
    await caller.ended;
    expect(caller.text().length).toBeGreaterThan(size);
    expect(caller.text().endsWith("b".repeat(1000))).toBe(true);
    expect(await tapped.recorded()).toEqual([]);
    expect(tapped.tally.lost["too-large"]).toBe(1);
  });

  test("for many callbacks on one connection, each with its own answer", async () => {
    const { url } = await startSocketServer((socket) => {
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        for (let at = text.indexOf("]}"); at >= 0; at = text.indexOf("]}")) {
          const id = /"id":"([^"]*)"/.exec(text)?.[1] ?? "";
          text = text.slice(at + 2);
          socket.write(answer(SUCCESS.replace("request-1", id)));
        }
      });
    });
    const tapped = await startTapped(url);
    const caller = await call(tapped.port);
    const ids = Array.from({ length: 50 }, (_, index) => `request-${index + 100}`);
    caller.socket.write(ids.map((id) => post("/placeBets", PLACEMENT.replace("request-1", id))).join(""));
    await eventually("all are answered", () => caller.text().split("HTTP/1.1 200").length === ids.length + 1);
    const recorded = await tapped.recorded();
    expect(recorded.map(({ request }) => JSON.parse(request).id)).toEqual(ids);
    expect(recorded.map(({ response }) => JSON.parse(response).id)).toEqual(ids);
  });
});
