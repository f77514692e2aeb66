import { describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { openDatabase } from "../../../src/db/client.ts";
import { closeTransfer } from "../../../src/flows/verify/operate-transfers.ts";
import { openVerifyRunner, verifyDue } from "../../../src/flows/verify/verify-due.ts";
import { useDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";
import { HOUR_MS, MINUTE_MS } from "../../support/examples.ts";
import { CREDENTIALS } from "../../support/http-provider.ts";
import {
  bookedAs,
  type Reply,
  replyWith,
  transferAnswer,
  useVerifyProvider,
} from "../../support/verify-provider.ts";
import { deposit, SECOND_MS } from "../../verify/sent.ts";
import { DAY_MS, useVerifyWorld } from "./verify-world.ts";

const { sql, url } = useDatabase();
const provider = useVerifyProvider();
const world = useVerifyWorld(sql, provider);
const CLOSE = { by: "mary", note: "found in their statement" };
const REF_1 = { ref: "ref-1", kind: null, productId: null, username: null };

const drop: Reply = (response) => response.socket?.destroy();

describe("a transfer", () => {
  test("that the provider has booked as it was sent is accepted, and no question follows", async () => {
    provider.answer((question) => bookedAs(question));
    await world.hand();
    await world.verifyAt(9_999);
    expect(provider.questions).toEqual([]);
    await world.liveUntil(7 * DAY_MS);
    expect(provider.questions).toEqual([
      {
        path: "/verifyDepositWithdraw",
        body: { username: "anna", productId: "P1", transactionRef: "ref-1", type: "DEPOSIT" },
      },
    ]);
    expect(await world.story()).toMatchObject({
      status: "accepted",
      attempts: 1,
      nextVerifyAt: null,
      decidedAt: "2026-11-20T12:00:10.000Z",
      answers: [
        { attempt: 1, says: "booked", code: null, isDecisive: true, raw: expect.stringContaining('"10.00"') },
      ],
    });
    expect(await world.mismatches()).toEqual([]);
  });

  test.each<[what: string, reply: Reply, code: string]>([
    [
      "a code that is not 0",
      replyWith({ reqId: "r", code: 99, message: "busy", data: null }),
      "provider-rejected",
    ],
    ["HTTP 500", replyWith("{}", 500), "provider-server-error"],
    ["HTTP 404", replyWith("{}", 404), "provider-bad-status"],
    ["garbage", replyWith("<html>"), "provider-not-json"],
    ["an answer without its fields", transferAnswer(true), "provider-bad-envelope"],
    ["a dropped connection", drop, "provider-dropped"],
  ])(
    "stays undecided by %s: the question is repeated by the delays, and the answer kept",
    async (_, reply, code) => {
      provider.answer(() => reply);
      await world.hand();
      await world.liveUntil(5 * MINUTE_MS);
      const { status, answers, nextVerifyAt } = await world.story();
      expect([status, nextVerifyAt]).toEqual(["pending", "2026-11-20T12:10:00.000Z"]);
      expect(answers.map((one) => [one.askedAt, one.says, one.code])).toEqual(
        ["12:00:10", "12:00:30", "12:02:00"].map((time) => [`2026-11-20T${time}.000Z`, "nothing", code]),
      );
    },
  );

  test("stays undecided by an answer about another transfer", async () => {
    provider.answer((question) => bookedAs(question, { transactionRef: "ref-2" }));
    await world.hand();
    await world.verifyAt(MINUTE_MS);
    expect(await world.story()).toMatchObject({ status: "pending", answers: [{ says: "nothing" }] });
  });

  test("stays undecided by an answer that never comes", async () => {
    provider.answer(() => () => {});
    await world.hand();
    await world.verifyAt(MINUTE_MS, world.context({ requestTimeoutMs: 100 }));
    expect(await world.story()).toMatchObject({ status: "pending", answers: [{ code: "provider-timeout" }] });
  });

  test("without a certain answer for a day is a mismatch, which a later success resolves", async () => {
    provider.answer(() => replyWith("<html>"));
    await world.hand();
    await world.liveUntil(DAY_MS + 3 * HOUR_MS + 30 * MINUTE_MS);
    expect(await world.story()).toMatchObject({ status: "inconclusive", attempts: 28 + 3 });
    expect(await world.mismatches()).toEqual(["transfer-inconclusive open 10"]);
    provider.answer((question) => bookedAs(question));
    await world.liveUntil(2 * DAY_MS);
    expect(await world.story()).toMatchObject({ status: "accepted" });
    expect(await world.mismatches()).toEqual(["transfer-inconclusive resolved 10"]);
  });

  test("that fails repeatedly is rejected, which is no mismatch; booked later, it is a mismatch that stays", async () => {
    await world.hand();
    await world.liveUntil(20 * MINUTE_MS);
    expect(await world.story()).toMatchObject({ status: "rejected", decidedAt: "2026-11-20T12:15:00.000Z" });
    expect(await world.mismatches()).toEqual([]);
    provider.answer((question) => bookedAs(question));
    await world.liveUntil(7 * DAY_MS);
    expect(await world.story()).toMatchObject({ status: "accepted", nextVerifyAt: null, attempts: 3 });
    expect(await world.mismatches()).toEqual(["transfer-late-success open 10"]);
  });

  test("that was rejected is rechecked an hour and a day later, and then left alone", async () => {
    await world.hand();
    await world.liveUntil(7 * DAY_MS);
    const { answers } = await world.story();
    expect(answers.map(({ askedAt }) => askedAt)).toEqual([
      "2026-11-20T12:00:10.000Z",
      "2026-11-20T12:15:00.000Z",
      "2026-11-20T13:15:00.000Z",
      "2026-11-21T12:15:00.000Z",
    ]);
  });

  test("that was booked with another amount is a mismatch of the difference at once, until an answer agrees", async () => {
    provider.answer((question) => bookedAs(question, { amount: "12.50" }));
    await world.hand();
    await world.verifyAt(10 * SECOND_MS);
    expect(await world.story()).toMatchObject({ status: "inconclusive", mismatchKind: "transfer-differs" });
    expect(await world.mismatches()).toEqual(["transfer-differs open 2.5"]);
    provider.answer((question) => bookedAs(question));
    await world.liveUntil(2 * HOUR_MS);
    expect(await world.mismatches()).toEqual(["transfer-differs resolved 2.5"]);
  });

  test.each([
    [deposit(), { beforeBalance: "90.00", afterBalance: "100.00" }, null],
    [deposit(), { beforeBalance: "100.00", afterBalance: "100.00" }, "transfer-differs open 10"],
    [deposit(), { beforeBalance: "110.00", afterBalance: "100.00" }, "transfer-differs open 20"],
    [deposit({ type: "WITHDRAW" }), { beforeBalance: "110", afterBalance: "100.00" }, null],
    [
      deposit({ type: "WITHDRAW" }),
      { beforeBalance: "100", afterBalance: "110.00" },
      "transfer-differs open 20",
    ],
  ])('is judged by its balances only with verify.balances "check": %#', async (sent, balances, mismatch) => {
    const context = (how: "check" | "ignore") => {
      const verify = { ...world.config.verify, balances: how };
      return world.context({ config: { ...world.config, verify } });
    };
    provider.answer((question) => bookedAs(question, balances));
    await world.hand(sent);
    await world.verifyAt(10 * SECOND_MS, context("check"));
    expect(await world.mismatches()).toEqual(mismatch === null ? [] : [mismatch]);
    expect((await world.story()).status).toBe(mismatch === null ? "accepted" : "inconclusive");
    await world.verifyAt(2 * HOUR_MS, context("ignore"));
    expect((await world.story()).status).toBe("accepted");
  });

  test.each([{}, { beforeBalance: "90.00" }, { afterBalance: "100.00" }])(
    'is not accepted with verify.balances "check" while a balance is unknown: %o',
    async (balances) => {
      const context = (how: "check" | "ignore") => {
        const verify = { ...world.config.verify, balances: how };
        return world.context({ config: { ...world.config, verify } });
      };
      const unknown = { beforeBalance: null, afterBalance: null, ...balances };
      provider.answer((question) => bookedAs(question, unknown));
      await world.hand();
      await world.verifyAt(10 * SECOND_MS, context("check"));
      expect(await world.story()).toMatchObject({
        status: "pending",
        answers: [
          { says: "nothing", message: expect.stringMatching(/does not have both beforeBalance and/) },
        ],
      });
      provider.answer((question) => bookedAs(question, { ...unknown, currency: "USD" }));
      await world.verifyAt(MINUTE_MS, context("check"));
      expect(await world.mismatches()).toEqual(["transfer-differs open 10"]);
      provider.answer((question) => bookedAs(question, unknown));
      await world.verifyAt(2 * HOUR_MS, context("ignore"));
      expect((await world.story()).status).toBe("accepted");
    },
  );

  test("that was unknown and turns out different changes the kind of its mismatch in one step", async () => {
    provider.answer(() => replyWith("<html>"));
    await world.hand();
    await world.liveUntil(DAY_MS);
    provider.answer((question) => bookedAs(question, { username: "bob" }));
    await world.liveUntil(DAY_MS + HOUR_MS);
    expect(await world.mismatches()).toEqual([
      "transfer-inconclusive resolved 10",
      "transfer-differs open 10",
    ]);
  });

  test("can be settled by an answer with text that the database cannot store, or with very much text", async () => {
    provider.answer((question) => bookedAs(question, { username: `\u0000\ud800${"x".repeat(9_000)}` }));
    await world.hand();
    await world.verifyAt(MINUTE_MS);
    const { status, answers } = await world.story();
    expect(status).toBe("inconclusive");
    expect(answers[0]?.raw?.length).toBeLessThan(5_000);
    expect(await world.mismatches()).toEqual(["transfer-differs open 10"]);
  });

  test("keeps no credentials that the provider repeats", async () => {
    provider.answer(() => replyWith(`no entry for ${CREDENTIALS.password}`, 500));
    await world.hand();
    await world.verifyAt(MINUTE_MS);
    expect(JSON.stringify(await world.story())).not.toContain(CREDENTIALS.password);
  });
});

describe("a transfer that a user closes", () => {
  test("stays inconclusive, no question follows, and its mismatch is resolved for good in the person's name", async () => {
    provider.answer(() => replyWith("<html>"));
    await world.hand();
    await world.liveUntil(DAY_MS);
    await closeTransfer(world.context(), REF_1, CLOSE);
    const asked = provider.questions.length;
    await world.liveUntil(30 * DAY_MS);
    expect(provider.questions).toHaveLength(asked);
    expect(await world.story()).toMatchObject({
      status: "inconclusive",
      decidedAt: "2026-11-21T12:00:00.000Z",
      nextVerifyAt: null,
      closedBy: "mary",
      note: CLOSE.note,
    });
    const [row] = await sql`select status, resolved_by as by, note from mismatches`;
    expect(row).toEqual({ status: "resolved", by: "mary", note: CLOSE.note });
  });

  test.each([
    [
      "that it is booked",
      { reply: (question: Parameters<typeof bookedAs>[0]) => bookedAs(question) },
      "transfer-inconclusive open 10",
      /^mary closed the deposit of 10\.00 THB at .*, and a later answer says that it is booked$/,
    ],
    [
      "that it is booked with another amount",
      { reply: (question: Parameters<typeof bookedAs>[0]) => bookedAs(question, { amount: "12.50" }) },
      "transfer-differs open 2.5",
      /^mary closed .* otherwise: .*12\.5 instead of 10/,
    ],
    [
      "nothing certain",
      { reply: () => replyWith("<html>") },
      "transfer-inconclusive resolved 10",
      /no certain answer/,
    ],
  ])("keeps an answer that was under way; one that says %s %#", async (_, { reply }, mismatch, reason) => {
    provider.answer(() => replyWith("<html>"));
    await world.hand();
    await world.liveUntil(DAY_MS);
    provider.answer(async (question) => {
      await closeTransfer(world.context(), REF_1, CLOSE);
      return reply(question);
    });
    const { attempts } = await world.story();
    await world.verifyAt(DAY_MS + HOUR_MS + MINUTE_MS);
    const story = await world.story();
    expect(story).toMatchObject({ status: "inconclusive", closedBy: "mary", attempts: attempts + 1 });
    expect(story.answers.at(-1)).toMatchObject({ attempt: attempts + 1, status: "inconclusive" });
    expect(await world.mismatches()).toContain(mismatch);
    const [last] = await sql<{ reason: string }[]>`
      select reason from mismatches where kind = ${mismatch.split(" ")[0] ?? ""} order by id desc limit 1`;
    expect(last?.reason).toMatch(reason);
  });

  test("must be inconclusive, and can be closed only once", async () => {
    await world.hand();
    const close = () => closeTransfer(world.context(), REF_1, CLOSE);
    await expect(close()).rejects.toMatchObject({
      code: "conflict",
      message:
        'transfer "ref-1" cannot be closed: it is pending, and only an inconclusive transfer can be closed',
    });
    provider.answer(() => replyWith("<html>"));
    await world.liveUntil(DAY_MS);
    await close();
    await expect(close()).rejects.toMatchObject({
      code: "conflict",
      message: 'transfer "ref-1" cannot be closed: mary closed it at 2026-11-21T12:00:00.000Z',
    });
  });
});

describe("many transfers and several workers", () => {
  const HUNDRED = Array.from({ length: 100 }, (_, index) => deposit({ transactionRef: `ref-${index + 1}` }));

  test("ask once for everything due, up to the configured number at the same time", async () => {
    const waiting: (() => void)[] = [];
    provider.answer(async (question) => {
      const answered = new Promise<void>((resolve) => waiting.push(resolve));
      if (waiting.length === 3 || provider.questions.length === 100) for (const go of waiting.splice(0)) go();
      await answered;
      return bookedAs(question);
    });
    await world.hand(...HUNDRED);
    const config = parseConfig({ products: [{ productId: "P1" }], verify: { concurrency: 3 } });
    const { settled } = await world.verifyAt(MINUTE_MS, world.context({ config }));
    expect(settled).toBe(100);
    expect(new Set(provider.questions.map(({ body }) => body["transactionRef"])).size).toBe(100);
    expect(provider.questions).toHaveLength(100);
    expect(provider.mostAtOnce()).toBe(3);
  });

  test("are shared by two workers, each of which decides other transfers", async () => {
    const bothAsked = Promise.withResolvers<void>();
    provider.answer(async (question) => {
      // Each of them asks eight questions at once.
      if (provider.questions.length === 16) bothAsked.resolve();
      await bothAsked.promise;
      return bookedAs(question);
    });
    await world.hand(...HUNDRED);
    const second = openDatabase(url, 5);
    onTestFinished(() => second.end());
    const runs = await Promise.all([
      world.verifyAt(MINUTE_MS),
      world.verifyAt(MINUTE_MS, { ...world.context(), sql: second }),
    ]);
    expect(runs.map(({ settled }) => settled > 0)).toEqual([true, true]);
    expect(provider.questions).toHaveLength(100);
    const [row] = await sql`
      select (select count(*) from transfer_answers) as answers,
        (select count(*) from transfers where status = 'accepted' and attempts = 1) as accepted`;
    expect(row).toEqual({ answers: 100, accepted: 100 });
  });

  test("lose no time when a worker is asked to end: it releases its claims, and the next one asks at once", async () => {
    const ending = new AbortController();
    provider.answer(() => () => {});
    await world.hand(...HUNDRED);
    world.clock.advance(MINUTE_MS);
    const ended = verifyDue(world.context(), ending.signal);
    await eventually("all slots wait for an answer", () => provider.questions.length === 8);
    ending.abort();
    expect(await ended).toEqual({ settled: 0, refused: null });
    provider.answer((question) => bookedAs(question));
    expect(await world.verifyAt(MINUTE_MS)).toEqual({ settled: 100, refused: null });
  });

  test("repeat a killed worker's questions once its leases are over", async () => {
    provider.answer((question) => bookedAs(question));
    await world.hand(...HUNDRED);
    await sql`
      update transfers set lease_token = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour'
      where id <= 40`;
    expect(await world.verifyAt(MINUTE_MS)).toMatchObject({ settled: 60 });
    await sql`update transfers set lease_until = clock_timestamp()`;
    expect(await world.verifyAt(MINUTE_MS)).toMatchObject({ settled: 40 });
  });

  test("do not let a run with a slow answer delay what becomes due meanwhile", async () => {
    const slow = Promise.withResolvers<void>();
    provider.answer(async (question) => {
      if (question.body["transactionRef"] === "slow") await slow.promise;
      return bookedAs(question);
    });
    await world.hand(deposit({ transactionRef: "slow" }));
    world.clock.advance(MINUTE_MS);
    const run = openVerifyRunner(world.context());
    const { signal } = new AbortController();
    const first = run(signal);
    await eventually("the slow one is asked for", () => provider.questions.length === 1);
    await world.hand(...HUNDRED);
    expect(await run(signal)).toMatchObject({ settled: 100 });
    slow.resolve();
    expect(await first).toMatchObject({ settled: 1 });
  });

  test("stop at refused credentials: the other questions wait", async () => {
    provider.answer(() => replyWith("{}", 401));
    await world.hand(...HUNDRED);
    const { settled, refused } = await world.verifyAt(MINUTE_MS);
    expect(refused).toMatchObject({ code: "provider-refused" });
    expect(provider.questions.length).toBe(settled);
    expect(settled).toBeLessThan(40);
    provider.answer((question) => bookedAs(question));
    expect(await world.verifyAt(MINUTE_MS)).toEqual({ settled: 100 - settled, refused: null });
  });

  test("settle the others if one cannot be settled", async () => {
    provider.answer((question) => bookedAs(question));
    await world.hand(...HUNDRED.slice(0, 20));
    const context = world.context();
    const broken = new Error("broken");
    const ask: typeof context.ask = async (sent, signal) => {
      if (sent.transactionRef === "ref-1") throw broken;
      return await context.ask(sent, signal);
    };
    await expect(world.verifyAt(MINUTE_MS, { ...context, ask })).rejects.toBe(broken);
    await world.verifyAt(MINUTE_MS, { ...context, ask });
    const [row] = await sql`select count(*) as accepted from transfers where status = 'accepted'`;
    expect(row?.["accepted"]).toBe(19);
    expect((await world.story()).status).toBe("pending");
  });

  test("send the provider only questions about outcomes", async () => {
    await world.hand(deposit(), deposit({ transactionRef: "ref-2", type: "WITHDRAW" }));
    await world.liveUntil(3 * DAY_MS);
    expect(new Set(provider.questions.map(({ path }) => path))).toEqual(new Set(["/verifyDepositWithdraw"]));
  });
});
