import cookie from "@fastify/cookie";
import fastify, { type FastifyInstance } from "fastify";
import { beforeAll, expect, test } from "vitest";
import { type StepNotice, setNotice, takeNotice } from "../../src/ops/dashboard/parts/notice.ts";

const STEP = "0b6f3a52-3a0e-4b1e-9d0c-6f3f2a1f9a10";
let app: FastifyInstance;
let next: StepNotice;

beforeAll(async () => {
  app = fastify();
  await app.register(cookie);
  app.get("/set", (_request, reply) => {
    setNotice(reply, next);
    return reply.send("");
  });
  app.get("/take", (request, reply) => {
    const notice = takeNotice(request, reply);
    return reply.send({ notice: notice && { ...notice, undo: String(notice.undo ?? "") } });
  });
});

const set = async (notice: StepNotice) => {
  next = notice;
  return [(await app.inject("/set")).headers["set-cookie"] ?? ""].flat()[0] ?? "";
};
const take = async (cookies: string, headers: Record<string, string> = {}, url = "/take") => {
  const answer = await app.inject({ url, headers: { cookie: cookies.split(";")[0] ?? "", ...headers } });
  return { notice: answer.json().notice, set: answer.headers["set-cookie"] };
};

test("a notice appears once, on the next page, with an undo that leads back to that page", async () => {
  const cookies = await set({ tone: "good", text: "3 mismatches acknowledged.", undo: STEP });
  expect(cookies).toMatch(/; Max-Age=60; Path=\/; HttpOnly; SameSite=Strict$/);
  const { notice, set: cleared } = await take(cookies, {}, "/take?kind=a&b=%3C");
  expect(notice).toMatchObject({ tone: "good", text: "3 mismatches acknowledged." });
  expect(notice.undo).toContain(`name="step" value="${STEP}"`);
  expect(notice.undo).toContain('name="back" value="/take?kind=a&amp;b=%3C"');
  expect(cleared).toContain("recon_notice=; Max-Age=0");
});

test("a page that only refreshes itself does not take the notice", async () => {
  const cookies = await set({ tone: "good", text: "done" });
  expect(await take(cookies, { "x-refresh": "1" })).toEqual({ notice: null, set: undefined });
  expect((await take(cookies)).notice).toMatchObject({ text: "done", undo: "" });
});

test("a notice too long for a cookie is cut between characters", async () => {
  const cookies = await set({ tone: "bad", text: "ü€😀".repeat(2_000) });
  expect(cookies.length).toBeLessThan(4_000);
  expect((await take(cookies)).notice.text).toMatch(/^(ü€😀)+ü?€?…$/u);
});

const packed = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

test.each([
  "",
  "x",
  packed(null),
  packed("text"),
  packed({ tone: "evil", text: "x" }),
  packed({ tone: "good" }),
])("a malformed cookie is no notice: %j", async (value) => {
  expect((await take(`recon_notice=${value}`)).notice).toBeNull();
});

test("a notice offers no undo if its undo is malformed", async () => {
  const value = packed({ tone: "good", text: "x", undo: '"><script>alert(1)</script>' });
  expect((await take(`recon_notice=${value}`)).notice).toEqual({ tone: "good", text: "x", undo: "" });
});
