import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { ownPort } from "../support/own-port.ts";
import { answer, call, PLACEMENT, post, SUCCESS, startSocketServer, startTapped } from "./tapped.ts";

describe("if the target cannot be reached", () => {
  test.each(["POST", "HEAD"])("the tap answers %s with 502, its only answer of its own", async (method) => {
    const tapped = await startTapped(`http://127.0.0.1:${await ownPort()}/callbacks`);
    const caller = await call(tapped.port);
    caller.socket.write(post("/placeBets", PLACEMENT).replace("POST", method));
    expect(await caller.ended).toBe("end");
    const [head = "", body] = caller.text().split("\r\n\r\n");
    expect(head.split("\r\n")[0]).toBe("HTTP/1.1 502 Bad Gateway");
    expect(body === "").toBe(method === "HEAD");
    expect(tapped.tally).toMatchObject({ unreachable: 1, recorded: 0, unanswered: 0 });
    expect(await tapped.recorded()).toEqual([]);
  });

  test("callbacks pass again as soon as it is back", async () => {
    const port = await ownPort();
    const tapped = await startTapped(`http://127.0.0.1:${port}`);
    const first = await call(tapped.port);
    first.socket.write(post("/placeBets", PLACEMENT));
    await first.ended;
    const { server } = await startSocketServer((socket) =>
      socket.once("data", () => socket.write(answer(SUCCESS))),
    );
    const target = await startTapped(`http://127.0.0.1:${(server.address() as { port: number }).port}`, {
      port,
    });
    expect(target.port).toBe(port);
    const second = await call(tapped.port);
    second.socket.write(post("/placeBets", PLACEMENT));
    await eventually("it is answered", () => second.text() === answer(SUCCESS));
  });

  test("a connection on which nothing is sent does not reach the target", async () => {
    let reached = 0;
    const { url } = await startSocketServer(() => {
      reached += 1;
    });
    const tapped = await startTapped(url);
    const probe = await call(tapped.port);
    probe.socket.end();
    expect(await probe.ended).toBe("end");
    expect(reached).toBe(0);
  });
});

describe("a connection that is cut", () => {
  test("by the target within its answer is cut for the caller at the same byte, and nothing is recorded", async () => {
    const { url } = await startSocketServer((socket) => {
      socket.once("data", () => socket.write(answer(SUCCESS).slice(0, -5), () => socket.end()));
    });
    const tapped = await startTapped(url);
    const caller = await call(tapped.port);
    caller.socket.write(post("/placeBets", PLACEMENT));
    expect(await caller.ended).toBe("end");
    expect(caller.text()).toBe(answer(SUCCESS).slice(0, -5));
    caller.socket.end();
    await eventually("it is counted", () => tapped.tally.unanswered === 1);
    expect(await tapped.recorded()).toEqual([]);
  });

  test("by the target without an answer is reset for the caller", async () => {
    const { url } = await startSocketServer((socket) => {
      socket.once("data", () => socket.resetAndDestroy());
    });
    const tapped = await startTapped(url);
    const caller = await call(tapped.port);
    caller.socket.write(post("/placeBets", PLACEMENT));
    expect(await caller.ended).toBe("ECONNRESET");
    await eventually("it is counted", () => tapped.tally.unanswered === 1);
  });

  test("by the caller within its request ends for the target", async () => {
    const heard: string[] = [];
    const { url } = await startSocketServer((socket) => {
      socket.on("data", (chunk) => heard.push(chunk.toString()));
      socket.on("end", () => heard.push("END"));
    });
    const tapped = await startTapped(url);
    const caller = await call(tapped.port);
    caller.socket.write(post("/placeBets", PLACEMENT).slice(0, -7));
    await eventually("the target has it", () => heard.length > 0);
    caller.socket.resetAndDestroy();
    await eventually("the target hears of it", () => heard.at(-1) === "END");
    expect(heard.slice(0, -1).join("")).toBe(post("/placeBets", PLACEMENT).slice(0, -7));
    expect(await tapped.recorded()).toEqual([]);
  });

  test.each(["disconnects", "ends its side and listens"])(
    "by a caller that %s before its answer: the target is notified, and its later answer is still recorded",
    async (how) => {
      let reply = () => {};
      let isEnded = false;
      const { url } = await startSocketServer((socket) => {
        socket.once("data", () => {
          reply = () => socket.end(answer(SUCCESS));
        });
        socket.once("end", () => {
          isEnded = true;
        });
      });
      const tapped = await startTapped(url);
      const caller = await call(tapped.port);
      caller.socket.write(post("/placeBets", PLACEMENT));
      const before = reply;
      await eventually("the target has it", () => reply !== before);
      if (how === "hangs up") caller.socket.resetAndDestroy();
      else caller.socket.end();
      await eventually("the target hears of it", () => isEnded);
      reply();
      await eventually("it is recorded", () => tapped.tally.recorded === 1);
      expect(await tapped.recorded()).toMatchObject([{ request: PLACEMENT, response: SUCCESS }]);
      if (how !== "hangs up") await eventually("it is answered", () => caller.text() === answer(SUCCESS));
    },
  );
});

describe("a tap that closes", () => {
  test("passes on the answers in flight, and closes idle connections", async () => {
    let reply = () => {};
    const { url } = await startSocketServer((socket) => {
      socket.once("data", () => {
        reply = () => socket.write(answer(SUCCESS));
      });
    });
    const tapped = await startTapped(url);
    const [waiting, idle] = [await call(tapped.port), await call(tapped.port)];
    waiting.socket.write(post("/placeBets", PLACEMENT));
    const before = reply;
    await eventually("the target has it", () => reply !== before);
    const closed = tapped.close(60_000);
    expect(await idle.ended).toBe("end");
    reply();
    expect(await waiting.ended).toBe("end");
    expect(waiting.text()).toBe(answer(SUCCESS));
    waiting.socket.end();
    idle.socket.end();
    await closed;
    expect(await tapped.recorded()).toMatchObject([{ request: PLACEMENT }]);
  });

  test("accepts no connection from an address that is not allowed", async () => {
    const { url } = await startSocketServer((socket) =>
      socket.once("data", () => socket.write(answer(SUCCESS))),
    );
    const tapped = await startTapped(url, { isAllowed: () => false });
    const caller = await call(tapped.port);
    caller.socket.write(post("/placeBets", PLACEMENT));
    await caller.ended;
    expect(caller.text()).toBe("");
  });
});
