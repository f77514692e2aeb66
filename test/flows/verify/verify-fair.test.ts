/** A product whose questions hang or are refused delays no other product. */

import { beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/clock.ts";
import { parseConfig } from "../../../src/config-file.ts";
import { openVerifyRunner } from "../../../src/flows/verify/verify-due.ts";
import { openBudget } from "../../../src/provider/budget.ts";
import type { Transfer } from "../../../src/transfer.ts";
import { useDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";
import { MINUTE_MS } from "../../support/examples.ts";
import {
  bookedAs,
  type Reply,
  replyWith,
  topUpAnswer,
  useVerifyProvider,
} from "../../support/verify-provider.ts";
import { deposit } from "../../verify/sent.ts";
import { useVerifyWorld } from "./verify-world.ts";

const { sql } = useDatabase();
const provider = useVerifyProvider();
const world = useVerifyWorld(sql, provider);
const config = parseConfig({
  products: [{ productId: "P1", topUpPath: "p1_seamless" }, { productId: "P2" }, { productId: "P3" }],
  verify: { concurrency: 4 },
});
const { signal } = new AbortController();

function transfersOf(productId: string, count: number): Transfer[] {
  return Array.from({ length: count }, (_, index) =>
    deposit({ productId, transactionRef: `${productId}-${index}` }),
  );
}
const askedOf = (productId: string) =>
  provider.questions.filter(({ body }) => body["productId"] === productId).length;
const acceptedOf = async (productId: string) => {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from transfers where status = 'accepted' and product_id = ${productId}`;
  return row?.count ?? 0;
};

describe("while the questions of one product hang", () => {
  test("all questions of other products that are due with them are asked, and so are its top-ups", async () => {
    const ending = new AbortController();
    provider.answer((question) => {
      if (question.path !== "/verifyDepositWithdraw") return topUpAnswer({ id: "top-up" });
      return question.body["productId"] === "P1" ? () => {} : bookedAs(question);
    });
    await world.hand(...transfersOf("P1", 300), ...transfersOf("P2", 60));
    await sql`
      insert into top_ups (transaction_ref, product_id, username, currency, type, amount, sent_at, handed_at, next_verify_at)
      select transaction_ref, product_id, username, currency, 'DEBIT', amount, sent_at, handed_at, next_verify_at
      from transfers where transaction_ref = 'P1-0'`;
    world.clock.advance(MINUTE_MS);
    const run = openVerifyRunner(world.context({ config }))(ending.signal);
    await eventually("P2 is verified", async () => (await acceptedOf("P2")) === 60);
    await eventually("the top-up is asked for", () =>
      provider.questions.some(({ path }) => path.includes("p1_seamless")),
    );
    expect(askedOf("P1")).toBeLessThanOrEqual(8);
    ending.abort();
    await run;
  });

  test("questions that become due later need not wait: a slow one frees its slot, and is repeated", async () => {
    const ending = new AbortController();
    const late = Promise.withResolvers<void>();
    provider.answer(async (question) => {
      if (question.body["productId"] === "P1") await late.promise;
      return bookedAs(question);
    });
    await world.hand(...transfersOf("P1", 20));
    world.clock.advance(MINUTE_MS);
    const context = world.context({ config, requestTimeoutMs: 60_000 });
    const runner = openVerifyRunner(context);
    const first = runner(ending.signal);
    await eventually("all slots are taken", () => askedOf("P1") === 4);
    await world.hand(...transfersOf("P2", 30));
    world.clock.advance(MINUTE_MS);
    const second = runner(ending.signal);
    await eventually("P2 is verified", async () => (await acceptedOf("P2")) === 30);
    late.resolve();
    await Promise.all([first, second]);
    await runner(ending.signal);
    expect(await acceptedOf("P1")).toBe(20);
    expect(askedOf("P1")).toBeGreaterThan(20);
  });
});

describe("while the provider pauses one product (429)", () => {
  const throttled: Reply = (response) => response.writeHead(429, { "retry-after": "600" }).end("{}");
  const waitingOf = async (productId: string) =>
    await sql<{ attempts: number; nextVerifyAt: number }[]>`
      select attempts, next_verify_at as "nextVerifyAt" from transfers
      where product_id = ${productId} and lease_token is null`;
  beforeEach(async () => {
    await sql`delete from request_pauses`;
    await sql`update request_budget set paused_until = 'epoch'`;
  });

  test("its questions wait without a slot, and none counts as asked", async () => {
    provider.answer((question) => (question.body["productId"] === "P1" ? throttled : bookedAs(question)));
    const context = world.context({ config });
    await world.hand(...transfersOf("P1", 1));
    await world.verifyAt(MINUTE_MS, context);
    expect(askedOf("P1")).toBe(1);
    const later = transfersOf("P1", 21).slice(1);
    await world.hand(...later, ...transfersOf("P2", 60));
    // The run ends, although the pause goes on.
    await world.verifyAt(2 * MINUTE_MS, context);
    expect(askedOf("P1")).toBe(1);
    expect(await acceptedOf("P2")).toBe(60);
    const waiting = (await waitingOf("P1")).filter(({ attempts }) => attempts === 0);
    expect(waiting).toHaveLength(20);
    // The next questions in turn. The pause began moments ago, by the database's clock.
    const pausedUntil = world.clock.now() + 5 * MINUTE_MS;
    expect(waiting.filter(({ nextVerifyAt }) => nextVerifyAt > pausedUntil).length).toBeGreaterThanOrEqual(4);
  });
});

test("with few slots, questions that hang delay neither live pulling nor other products, with two workers too", async () => {
  const few = { ...config, pull: { ...config.pull, concurrency: 2 } };
  const ending = new AbortController();
  provider.answer((question) => (question.body["productId"] === "P1" ? () => {} : bookedAs(question)));
  await world.hand(...transfersOf("P1", 20));
  world.clock.advance(MINUTE_MS);
  // A process that waits for a question to end waits longer than the test.
  const own = { config: few, places: 2, requestTimeoutMs: 600_000 };
  const runners = [openVerifyRunner(world.context(own)), openVerifyRunner(world.context(own))];
  const runs = runners.map((runner) => runner(ending.signal));
  await eventually("both places are taken", () => askedOf("P1") >= 2);
  const budget = openBudget(sql, { concurrency: 2, minIntervalMs: 0 }, 600_000, systemClock);
  for (const window of ["first", "second", "third"]) {
    expect(await budget.spend("live", async () => window, signal)).toBe(window);
  }
  await world.hand(...transfersOf("P2", 20));
  world.clock.advance(MINUTE_MS);
  runs.push(...runners.map((runner) => runner(ending.signal)));
  await eventually("P2 is verified", async () => (await acceptedOf("P2")) === 20);
  ending.abort();
  await Promise.all(runs);
});

test("credentials that are refused for one product leave the others running, and cause only their own alert", async () => {
  provider.answer((question) =>
    question.body["productId"] === "P1" ? replyWith("{}", 403) : bookedAs(question),
  );
  await world.hand(...transfersOf("P1", 50), ...transfersOf("P2", 50), ...transfersOf("P3", 50));
  const { refused } = await world.verifyAt(MINUTE_MS, world.context({ config }));
  expect(refused).toMatchObject({ code: "provider-refused" });
  expect([await acceptedOf("P2"), await acceptedOf("P3")]).toEqual([50, 50]);
  expect(askedOf("P1")).toBeLessThanOrEqual(4);
});

test("three products that are all behind take turns", async () => {
  provider.answer((question) => bookedAs(question));
  const order: string[] = [];
  const context = world.context({ config });
  const ask: typeof context.ask = (sent, given) => {
    order.push(sent.productId);
    return context.ask(sent, given);
  };
  // The first product has been waiting for longer, and has many more transfers.
  await world.hand(...transfersOf("P1", 200));
  world.clock.advance(1_000);
  await world.hand(...transfersOf("P2", 40), ...transfersOf("P3", 40));
  world.clock.advance(MINUTE_MS);
  await openVerifyRunner({ ...context, ask })(signal);
  const first = order.slice(0, 90);
  const counts = ["P1", "P2", "P3"].map((one) => first.filter((productId) => productId === one).length);
  expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(2);
  expect(order).toHaveLength(280);
});
