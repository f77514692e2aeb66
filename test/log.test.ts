import got from "got";
import { describe, expect, test } from "vitest";
import { ReconError } from "../src/errors.ts";
import { createLog, type Log } from "../src/log.ts";

/** The lines that a log has written. */
function listen(secrets: readonly string[] = []): { log: Log; text: () => string; last: () => unknown } {
  const lines: string[] = [];
  const log = createLog("trace", secrets, { write: (line: string) => lines.push(line) });
  return { log, text: () => lines.join(""), last: () => JSON.parse(lines.at(-1) ?? "") };
}

test("a line is JSON with its time in UTC, its message, and the ids of what it is about", () => {
  const { log, last } = listen();
  log.child({ jobId: "7" }).child({ windowId: 3 }).warn({ productId: "P1" }, "too slow");
  expect(last()).toEqual({
    level: 40,
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    jobId: "7",
    windowId: 3,
    productId: "P1",
    msg: "too slow",
  });
});

describe("a secret is not shown", () => {
  const SECRET = 'a "secret"/of+ours';

  test.each([
    ["the words", (log: Log) => log.info(`connects with ${SECRET}`)],
    ["a field, however deep", (log: Log) => log.info({ a: { b: { c: [SECRET] } } }, "connects")],
    ["the name of a field", (log: Log) => log.info({ [SECRET]: 1 }, "connects")],
    ["a URL", (log: Log) => log.info({ url: `redis://:${encodeURIComponent(SECRET)}@redis` }, "connects")],
    ["an error", (log: Log) => log.error({ err: new Error(`${SECRET} is wrong`) }, "fails")],
    [
      "the fields that a child writes in every line",
      (log: Log) => log.child({ of: SECRET }).info("connects"),
    ],
  ])("in %s", (_, tell) => {
    const { log, text, last } = listen([SECRET]);
    tell(log);
    expect(last()).toBeTypeOf("object");
    expect(text()).toContain("(hidden)");
    for (const form of [SECRET, JSON.stringify(SECRET).slice(1, -1), encodeURIComponent(SECRET)]) {
      expect(text()).not.toContain(form);
    }
  });

  test("in part, if one secret is the beginning of another", () => {
    const { log, text } = listen(["secret-of-ours", "secret-of-ours-too"]);
    log.info("secret-of-ours-too, secret-of-ours");
    expect(text()).toContain('"msg":"(hidden), (hidden)"');
  });

  test("but a secret as short as a word is not searched for in lines", () => {
    const { log, text } = listen(["test", ""]);
    log.info("a test");
    expect(text()).toContain('"msg":"a test"');
  });

  test.each(["password", "authorization", "cookie", "sessionToken"])(
    "in a field that is called %s",
    (field) => {
      const { log, text } = listen();
      const hidden = "a text that the log does not know as a secret";
      log.info({ [field]: hidden, request: { [field]: hidden, headers: { [field]: hidden } } }, "a request");
      expect(text()).not.toContain(hidden);
      expect(text()).toContain('"msg":"a request"');
    },
  );
});

describe("an error is logged with its name, code, message, stack and cause", () => {
  test("and without anything else that it carries: a provider's answer, the options of a request", async () => {
    const { log, text, last } = listen();
    const answer = { status: 500, code: null, message: null, raw: "a page for programmers" };
    const asked = got("http://127.0.0.1:1", {
      username: "agent",
      password: "unheard of",
      retry: { limit: 0 },
    });
    const cause = await asked.then(
      () => null,
      (error: unknown) => error,
    );
    const error = new ReconError("provider-unreachable", "it cannot be reached", { cause, answer });
    log.error({ err: error }, "fails");
    expect(last()).toMatchObject({
      err: {
        type: "ReconError",
        code: "provider-unreachable",
        message: "it cannot be reached",
        stack: expect.stringContaining("log.test.ts"),
        cause: { type: "RequestError", code: "ECONNREFUSED" },
      },
    });
    expect(text()).not.toMatch(/programmers|unheard of/);
  });

  test("even if its causes form a circle, or the thrown value is no error", () => {
    const { log, last } = listen();
    const error = new Error("first");
    error.cause = new Error("second", { cause: error });
    log.error({ err: error }, "fails");
    expect(last()).toMatchObject({ err: { message: "first", cause: { message: "second" } } });
    log.error({ err: "just words" }, "fails");
    expect(last()).toMatchObject({ err: "just words" });
  });
});
