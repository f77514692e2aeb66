import { inspect } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallbackServer, startCallbackServer } from "../../src/callbacks/server.ts";
import { systemClock } from "../../src/clock.ts";
import { openDatabase, type Sql } from "../../src/db/client.ts";
import { silentLog } from "../../src/log.ts";
import { useDatabase } from "../support/database.ts";
import { NOON } from "../support/examples.ts";
import { keyOf, type Operation, statesAfter } from "./history-checker.ts";
import { ask, describeRequest, openRun } from "./modelled-wallet.ts";
import { CONFIG } from "./operator.ts";
import { step, toRequests } from "./random-callbacks.ts";
import { answerInModel, balanceKey, type ModelRequest, toSteps } from "./wallet-model.ts";

const { sql, url } = useDatabase();
/** Two processes in production; each has its own connections and its own queue of players. */
const SERVERS = 2;
const RUNS = Number(process.env["RECON_TEST_RUNS"] ?? 4);
const AT_ONCE = 4;
const STEPS = { minLength: 8, maxLength: 24, size: "max" } as const;

const servers: CallbackServer[] = [];
const pools: Sql[] = [];
beforeAll(async () => {
  for (let index = 0; index < SERVERS; index += 1) {
    const pool = openDatabase(url, 4);
    pools.push(pool);
    const context = { sql: pool, config: CONFIG, clock: systemClock, log: silentLog };
    const settings = { host: "127.0.0.1", port: 0, basePath: "", signatureKey: null, allowedIps: [] };
    servers.push(await startCallbackServer(context, settings));
  }
});
afterAll(async () => {
  for (const server of servers) await server.close();
  for (const pool of pools) await pool.end({ timeout: 5 });
});

/** Sends requests concurrently, some twice, and disconnects from some. */
async function play(
  requests: readonly ModelRequest[],
  hangsUp: (place: number) => boolean,
): Promise<Operation[]> {
  let moment = 0;
  const operations: Operation[] = [];
  let next = 0;
  const send = async () => {
    for (let place = next++; place < requests.length; place = next++) {
      const request = requests[place] as ModelRequest;
      const server = servers[place % SERVERS] as CallbackServer;
      const sentAt = ++moment;
      const signal = hangsUp(place) ? AbortSignal.timeout(2) : undefined;
      const answer = await ask(server.url, request, NOON + place, signal).catch(() => null);
      operations.push({ request, sentAt, answered: answer === null ? null : { at: ++moment, answer } });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  return operations;
}

test("the answers of two servers to simultaneous, repeated and abandoned callbacks are strictly serialisable", async () => {
  const steps = fc.array(step, STEPS);
  const abandoned = fc.uniqueArray(fc.nat(STEPS.maxLength), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(steps, abandoned, async (given, left) => {
      const { run, state } = await openRun(sql, "history");
      const history = await play(toRequests(given, run), (place) => left.includes(place));
      // Abandoned requests are applied or refused by now.
      await expect.poll(() => countBusy()).toBe(0);
      const ends = statesAfter(state, history);
      const balances = await readBalances(run);
      const fits = ends.some((end) => keyOf({ ...end, balances }) === keyOf(end));
      if (!fits) throw new Error(describeHistory(history, ends.length));
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

async function readBalances(run: string): Promise<Record<string, bigint>> {
  const rows = await sql<{ username: string; currency: string; balance: string }[]>`
    select username, currency, balance from wallets where username like ${`${run}-%`}`;
  return Object.fromEntries(
    rows.map(({ username, currency, balance }) => [balanceKey(username, currency), toSteps(balance)]),
  );
}

async function countBusy(): Promise<number> {
  const [{ busy = 0 } = {}] = await sql<{ busy: number }[]>`
    select count(*)::int as busy from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
  return busy;
}

function describeHistory(history: readonly Operation[], ends: number): string {
  const lines = history
    .toSorted((a, b) => a.sentAt - b.sentAt)
    .map(
      ({ request, sentAt, answered }) =>
        `${sentAt}..${answered?.at ?? "?"} ${describeRequest(request)} -> ${inspect(answered?.answer)}`,
    );
  const what = ends === 0 ? "no order explains the answers" : "the balances fit no order";
  return `${what}:\n${lines.join("\n")}`;
}

describe("the checker", () => {
  const [first, second] = [0, 1].map(
    (index): ModelRequest => ({
      callback: "adjustBalance",
      requestId: `q-${index}`,
      productId: "P1",
      singleState: false,
      username: "anna",
      currency: "THB",
      items: [
        {
          id: `ref-${index}`,
          status: "DEBIT",
          roundId: "",
          betAmount: "10",
          payoutAmount: null,
          byRound: false,
          skip: false,
          isEndRound: true,
          settlementId: null,
          isSingleState: null,
          ownType: undefined,
        },
      ],
    }),
  ) as [ModelRequest, ModelRequest];
  const state = {
    balances: { "anna THB": 100n * 10n ** 40n },
    bets: {},
    tombstones: {},
    usedRefs: {},
    answered: {},
  };
  const after = answerInModel(state, first);
  const then = answerInModel(after.next, second);
  const stale = answerInModel(state, second);

  test("accepts answers in either order of requests that overlap", () => {
    const history = [
      { request: first, sentAt: 1, answered: { at: 4, answer: after.answer } },
      { request: second, sentAt: 2, answered: { at: 3, answer: then.answer } },
    ];
    expect(statesAfter(state, history)).toHaveLength(1);
  });

  test("refuses two debits that begin with the same balance", () => {
    const history = [
      { request: first, sentAt: 1, answered: { at: 4, answer: after.answer } },
      { request: second, sentAt: 2, answered: { at: 3, answer: stale.answer } },
    ];
    expect(statesAfter(state, history)).toEqual([]);
  });

  test("refuses an answer that ignores a request answered before it was sent", () => {
    const history = [
      { request: second, sentAt: 3, answered: { at: 4, answer: stale.answer } },
      {
        request: first,
        sentAt: 1,
        answered: { at: 2, answer: answerInModel(stale.next, first).answer },
      },
    ];
    expect(statesAfter(state, history)).toEqual([]);
  });

  test("accepts that a request without an answer was applied or not", () => {
    expect(statesAfter(state, [{ request: first, sentAt: 1, answered: null }])).toHaveLength(2);
  });
});
