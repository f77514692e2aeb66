/** `Idempotency-Key`: a repeated POST gets the first answer again, and does nothing. */

import { randomUUID } from "node:crypto";
import fastify from "fastify";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../src/config-file.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { dropExpired } from "../../src/flows/retention/drop-expired.ts";
import { silentLog } from "../../src/log.ts";
import type { Asker } from "../../src/ops/access/access.ts";
import { addIdempotency, keepWith } from "../../src/ops/http/idempotency.ts";
import { createTestClock } from "../support/clock.ts";
import { emptyTables, useDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { HOUR_MS, MINUTE_MS, NOON } from "../support/examples.ts";
import { openMismatches } from "../support/open-mismatches.ts";
import { problemJson } from "../support/ops-api.ts";
import { type AskRaw, bearer, serveOps, TOKENS, WRITER } from "../support/ops-browser.ts";

const { sql } = useDatabase();
const clock = createTestClock(NOON);
const config = parseConfig({ products: [{ productId: "P1" }] });
const context: FlowContext = { sql, clock, log: silentLog, config };
const RANGE = { productId: "P1", from: "2026-11-19T00:00:00Z", to: "2026-11-19T01:00:00Z" };

beforeEach(async () => {
  clock.set(NOON);
  await emptyTables(sql);
});

function post(ask: AskRaw, path: string, key: string | undefined, body: object, token = WRITER) {
  const named = key === undefined ? {} : { "idempotency-key": key };
  const headers = { ...bearer(token), ...named, "content-type": "application/json" };
  return ask("POST", path, { headers, body: JSON.stringify(body) });
}

async function countOf(table: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from ${sql(table)}`;
  return row?.count ?? -1;
}

describe("a request with a key", () => {
  test("that is sent 32 times at once creates one backfill, and each gets its answer", async () => {
    // Two workers behind one address.
    const workers = [await serveOps(context), await serveOps(context)] as const;
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, at) => post(workers[at % 2 ? 1 : 0], "/api/backfills", "k-1", RANGE)),
    );
    expect(await countOf("backfills")).toBe(1);
    const [first] = answers;
    for (const { status, text, headers } of answers) {
      expect([status, text, headers.location]).toEqual([201, first?.text, "/api/backfills/1"]);
      expect(headers["content-type"]).toMatch(/^application\/json/);
    }
    expect(answers.filter(({ headers }) => headers["idempotency-replayed"] === "true").length).toBe(31);
  });

  test("that is sent again with another body or query is refused, and does nothing", async () => {
    const ask = await serveOps(context);
    await post(ask, "/api/backfills", "k", RANGE);
    const other = await post(ask, "/api/backfills", "k", { ...RANGE, to: "2026-11-19T02:00:00Z" });
    expect(other).toMatchObject({
      status: 409,
      json: problemJson(409, expect.stringContaining('"k"'), "idempotency-key-reused"),
    });
    expect(await post(ask, "/api/backfills?x=1", "k", RANGE)).toMatchObject({ status: 409 });
    expect(await countOf("backfills")).toBe(1);
  });

  test("is another one for another token or path, and after 24 hours", async () => {
    const second = { name: "second", role: "write", token: "another token that writes" } as const;
    const ask = await serveOps(context, [...TOKENS, second]);
    await openMismatches(sql, config, NOON, [{}, { betId: "b-2", transactionId: "b-2", roundId: "r-2" }]);
    const comment = (id: string, token: typeof WRITER | typeof second = WRITER) =>
      post(ask, `/api/mismatches/${id}/comments`, "k", { note: "seen" }, token as typeof WRITER);
    const replayed = async (asked: ReturnType<typeof comment>) =>
      (await asked).headers["idempotency-replayed"] ?? "no";
    expect(await replayed(comment("1"))).toBe("no");
    expect(await replayed(comment("1", second))).toBe("no");
    expect(await replayed(comment("2"))).toBe("no");
    clock.set(NOON + 24 * HOUR_MS - 1);
    expect(await replayed(comment("1"))).toBe("true");
    expect(await countOf("comments")).toBe(3);
    clock.set(NOON + 24 * HOUR_MS + 1);
    expect(await replayed(comment("1"))).toBe("no");
    expect(await countOf("comments")).toBe(4);
    clock.set(NOON + 49 * HOUR_MS);
    await dropExpired(context, new AbortController().signal);
    expect(await countOf("idempotency_keys")).toBe(0);
  });

  test("that was refused gets the same refusal again", async () => {
    const ask = await serveOps(context);
    const once = await post(ask, "/api/backfills", "k", { ...RANGE, productId: "P9" });
    expect(once).toMatchObject({ status: 400, json: { code: "usage" } });
    const again = await post(ask, "/api/backfills", "k", { ...RANGE, productId: "P9" });
    expect([again.status, again.text, again.headers["content-type"]]).toEqual([
      400,
      once.text,
      once.headers["content-type"],
    ]);
  });

  test.each(["", "a b", "schlüssel", "x".repeat(256)])("that is %j is refused, and names it", async (key) => {
    const ask = await serveOps(context);
    const sent = Buffer.from(key, "utf8").toString("latin1");
    const answer = await post(ask, "/api/backfills", sent, RANGE);
    expect(answer).toMatchObject({ status: 400, json: { code: "usage" } });
    expect(answer.json.detail).toMatch(
      /^Idempotency-Key must be 1 to 255 printable ASCII characters without/,
    );
    expect(await countOf("backfills")).toBe(0);
  });
});

test("the document says of every POST that it takes a key, except of the one that only reads", async () => {
  const { json } = await (await serveOps(context))("GET", "/api/openapi.json", { headers: bearer(WRITER) });
  const posts = Object.values<Record<string, { operationId: string; parameters?: object[] }>>(
    json.paths,
  ).flatMap(({ post }) => post ?? []);
  expect(posts.length).toBeGreaterThan(15);
  const without = posts.filter(
    ({ parameters = [] }) => !JSON.stringify(parameters).includes('"idempotency-key"'),
  );
  expect(without.map(({ operationId }) => operationId)).toEqual(["checkInvoice"]);
});

describe("a crash", () => {
  const ASKER: Asker = { name: "hand", role: "write", by: "token" };

  /** @param work what a request does between the claim of its key and its answer */
  async function serveWork(
    work: (create: (answer: object) => Promise<void>) => Promise<object>,
    times: { readonly renewEveryMs?: number } = {},
  ) {
    const app = fastify();
    app.decorateRequest("asker");
    app.addHook("onRequest", async (request) => {
      request.asker = ASKER;
    });
    addIdempotency(app, context, { longestWaitMs: 300, ...times });
    app.post("/", async (request, reply) => {
      const create = (answer: object) =>
        sql.begin(async (tx) => {
          await tx`insert into comments (about, about_id, at, by, note) values ('mismatch', 1, ${NOON}, 'hand', 'x')`;
          await keepWith(tx, request, 201, answer);
        });
      return await reply.code(201).send(await work(create));
    });
    await app.ready();
    onTestFinished(() => app.close());
    const send = () =>
      app.inject({ method: "POST", url: "/", headers: { "idempotency-key": "k" }, payload: {} });
    return Object.assign(send, { listen: () => app.listen({ port: 0 }) });
  }

  test("of the caller alone leaves the key with its request for as long as that runs", async () => {
    const slow = Promise.withResolvers<void>();
    let tries = 0;
    const send = await serveWork(
      async (create) => {
        tries += 1;
        await slow.promise;
        await create({ tries });
        return { tries };
      },
      { renewEveryMs: 20 },
    );
    const leaving = new AbortController();
    const first = fetch(await send.listen(), {
      method: "POST",
      headers: { "idempotency-key": "k", "content-type": "application/json" },
      body: "{}",
      signal: leaving.signal,
    }).catch((error: unknown) => error);
    await eventually("the first request works", async () => (tries === 1 ? true : null));
    leaving.abort();
    expect(await first).toMatchObject({ name: "AbortError" });
    for (let minutes = 1.5; minutes < 8; minutes += 1.5) {
      clock.set(NOON + minutes * MINUTE_MS);
      await eventually("the claim is renewed", async () => {
        const [row] = await sql<
          { claimedAt: number }[]
        >`select claimed_at as "claimedAt" from idempotency_keys`;
        return row?.claimedAt === clock.now() ? true : null;
      });
    }
    expect((await send()).json().code).toBe("idempotency-key-in-use");
    slow.resolve();
    const again = await eventually("the answer is kept", async () => {
      const answer = await send();
      return answer.statusCode === 201 ? answer : null;
    });
    expect([again.json(), again.headers["idempotency-replayed"]]).toEqual([{ tries: 1 }, "true"]);
    expect([tries, await countOf("comments")]).toEqual([1, 1]);
  });

  test("after the commit loses no answer, and creates nothing twice", async () => {
    const send = await serveWork(async (create) => {
      await create({ made: "first" });
      throw new Error("killed after the commit");
    });
    expect((await send()).statusCode).toBe(500);
    const again = await send();
    expect([again.statusCode, again.json(), again.headers["idempotency-replayed"]]).toEqual([
      201,
      { made: "first" },
      "true",
    ]);
    expect(await countOf("comments")).toBe(1);
  });

  test("before the commit lets the next request do the work; a 5xx answer is not kept", async () => {
    let tries = 0;
    const send = await serveWork(async (create) => {
      tries += 1;
      if (tries === 1) throw new Error("the database was away");
      await create({ tries });
      return { tries };
    });
    expect((await send()).statusCode).toBe(500);
    expect((await send()).json()).toEqual({ tries: 2 });
    expect(await countOf("comments")).toBe(1);
  });

  test("of a process keeps the key for two minutes; if the process only stalled, it creates nothing", async () => {
    const slow = Promise.withResolvers<void>();
    let tries = 0;
    const send = await serveWork(async (create) => {
      tries += 1;
      const own = { tries };
      if (tries === 1) await slow.promise;
      await create(own);
      return own;
    });
    // Without `then`, the request would not have begun.
    const first = send().then((answer) => answer);
    await eventually("the first request works", async () => (tries === 1 ? true : null));
    const meanwhile = await send();
    expect([meanwhile.json().code, meanwhile.headers["retry-after"]]).toEqual([
      "idempotency-key-in-use",
      "1",
    ]);
    clock.set(NOON + 2 * MINUTE_MS + 1);
    expect((await send()).json()).toEqual({ tries: 2 });
    slow.resolve();
    expect((await first).statusCode).toBe(500);
    expect((await send()).json()).toEqual({ tries: 2 });
    expect(await countOf("comments")).toBe(1);
  });
});

test("keys of any printable characters work", async () => {
  const ask = await serveOps(context);
  const keys = [randomUUID(), `!"#$%&'()*+,-./:;<=>?@[]^_\`{|}~`, "x".repeat(255)];
  for (const key of keys) {
    await post(ask, "/api/backfills", key, RANGE);
    expect((await post(ask, "/api/backfills", key, RANGE)).headers["idempotency-replayed"]).toBe("true");
  }
  expect(await countOf("backfills")).toBe(keys.length);
});
