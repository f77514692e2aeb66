/** A day of a worker in simulated time: all its jobs at their ticks, PostgreSQL, and a provider over HTTP. */

import { pullJobsAtOnce, runDiffJob, runPullJob } from "../../../jobs/product-jobs.ts";
import { openAlertJob } from "../../../jobs/tick-jobs.ts";
import { tickJobs, type WorkerContext } from "../../../jobs/worker.ts";
import type { AlertChannel } from "../../../src/alerts/channel.ts";
import type { RequestUrgency } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import { keepBodies } from "../../../src/callbacks/body-store.ts";
import type { Clock, Instant } from "../../../src/clock.ts";
import { openDatabase } from "../../../src/db/client.ts";
import { openProgress } from "../../../src/flows/note-work.ts";
import { planBackfill, requestBackfill } from "../../../src/flows/pull/backfill.ts";
import { openFetchers } from "../../../src/flows/pull/fetchers.ts";
import { beginPullingAll } from "../../../src/flows/pull/plan-product.ts";
import { openAskOutcome } from "../../../src/flows/verify/ask-outcome.ts";
import { handOverTransfers } from "../../../src/flows/verify/operate-transfers.ts";
import { silentLog } from "../../../src/log.ts";
import { openBudget, withinBudget } from "../../../src/provider/budget.ts";
import { openProvider } from "../../../src/provider/client.ts";
import { startSandbox } from "../../../src/sandbox/server/server.ts";
import { createRandom } from "../../../src/sandbox/world/random.ts";
import { OperatorLedger } from "../../simulation/operator-ledger.ts";
import { watchedSql } from "../../support/watched-sql.ts";
import {
  BACKFILL_ASKED,
  BACKFILLED,
  BEGIN,
  BODY_AT,
  CREDENTIALS,
  configOf,
  FAULTS,
  HANDED_AT,
  HOUR_MS,
  inventBet,
  LATE_ROW_AT,
  LATE_ROW_FROM,
  type Load,
  MINUTE_MS,
  OUTSIDE_SINCE,
  RELATION,
  SINCE,
  transferOf,
  worldOf,
} from "./day-world.ts";
import { type Sight, see } from "./sight.ts";
import { createVirtualTime, type Ticking } from "./virtual-time.ts";

interface SentRequest {
  readonly at: Instant;
  readonly kind: RequestUrgency;
  readonly productId: string;
}

export interface PlayedDay {
  readonly load: Load;
  readonly end: Instant;
  readonly config: WorkerContext["config"];
  readonly sent: readonly SentRequest[];
  readonly sights: readonly Sight[];
  /** came to the ledger long after the time at which it says that it was received */
  readonly lateRow: CallbackEntry;
  /** ends a bet that the provider never had */
  readonly inventedRow: CallbackEntry;
}

/** @param databaseUrl a migrated, empty database */
export async function playDay(
  load: Load,
  databaseUrl: string,
  channels: readonly AlertChannel[],
): Promise<PlayedDay> {
  const time = createVirtualTime(OUTSIDE_SINCE, 1);
  const { clock } = time;
  const world = worldOf(load, BEGIN + load.hours * HOUR_MS);
  const sandbox = await startSandbox({
    ...CREDENTIALS,
    world,
    clock,
    host: "127.0.0.1",
    port: 0,
    pageSize: 100,
    faults: FAULTS,
  });
  const config = configOf(load);
  const plain = openDatabase(databaseUrl, 6);
  const sql = watchedSql(plain, (run) => time.during(run()));
  const limits = { requestTimeoutMs: config.pull.requestTimeout, connections: 8, production: false };
  const provider = openProvider({ baseUrl: sandbox.url, ...CREDENTIALS }, limits, clock);
  const operator = new OperatorLedger(databaseUrl, RELATION, createRandom(1));
  try {
    await operator.create();
    const sent: SentRequest[] = [];
    const context = workerOf();
    const ticks = ticksOf(context, load, channels.map(stopping));
    const early = world.entriesReceived({ from: LATE_ROW_FROM, to: BEGIN + HOUR_MS });
    const [lateRow] = early;
    if (lateRow === undefined) throw new Error("no entry of the world can come late");
    const [placed, inventedRow] = inventBet(early);
    await beginEarly();

    const sights: Sight[] = [];
    const end = BEGIN + load.hours * HOUR_MS;
    const look = async () => void sights.push(await see(plain, clock.now(), lateRow));
    await time.play([...ticks, ...operatorTicks(context, lateRow), observing(look)], end);
    return { load, end, config, sent, sights, lateRow, inventedRow };

    function workerOf(): WorkerContext {
      const wait = <Answer>(request: () => Promise<Answer>) =>
        clock.sleep(load.requestMs).then(() => time.during(request()));
      // Waiters of this process are woken; only other processes make it necessary to ask again soon.
      const patient: Clock = {
        now: clock.now,
        sleep: (ms, signal) => clock.sleep(ms + 5 * MINUTE_MS, signal),
      };
      const budget = openBudget(
        sql,
        { concurrency: config.pull.concurrency, minIntervalMs: 0 },
        config.pull.requestTimeout,
        patient,
      );
      const fetchPage = withinBudget(async (request, signal) => {
        const page = await wait(() => provider.fetchBetPage(request, signal));
        return { ...page, tookMs: load.requestMs };
      }, budget);
      const api = {
        verifyDepositWithdraw: (...given: Parameters<typeof provider.verifyDepositWithdraw>) => {
          sent.push({ at: clock.now(), kind: "verify", productId: "WALLET" });
          return wait(() => provider.verifyDepositWithdraw(...given));
        },
        verifyTopUp: provider.verifyTopUp,
      };
      const base = { sql, config, clock, log: silentLog };
      return {
        ...base,
        fetchPage: (request, signal, kind = "live") =>
          fetchPage(
            {
              ...request,
              beforeSending: () => {
                request.beforeSending?.();
                sent.push({ at: clock.now(), kind, productId: request.productId });
              },
            },
            signal,
            kind,
          ),
        ask: openAskOutcome(api, budget, base),
      };
    }

    function stopping(channel: AlertChannel): AlertChannel {
      return { ...channel, send: (...given) => time.during(channel.send(...given)) };
    }

    /** A day before, the worker saw money of a product that is not in the settings. It was off since then. */
    async function beginEarly(): Promise<void> {
      await beginPullingAll(context);
      const [any] = world.entriesReceived({ from: SINCE, to: BEGIN });
      if (any === undefined) throw new Error("the world has no entries");
      const foreign = {
        ...any,
        entryId: "foreign",
        productId: "GONE",
        occurredAt: OUTSIDE_SINCE,
        receivedAt: OUTSIDE_SINCE,
      };
      await operator.write([foreign], AT_ONCE);
      for (const queue of ["ledger", "alerts"]) {
        for (const tick of ticks) if (tick.queue === queue) await runOnce(tick);
      }
      time.set(BEGIN);
      await operator.write(world.entriesReceived({ from: SINCE, to: BEGIN }), AT_ONCE);
      const body = { callback: "placeBets", productId: "P1", requestId: null, statusCode: 0 as const };
      const { text, values } = keepBodies([{ ...body, body: "old", receivedAt: BODY_AT }]);
      await plain.unsafe(text, [...values]);
      sandbox.books.book({ ...transferOf("booked"), type: "DEPOSIT", productId: "WALLET" }, BEGIN);
    }

    function operatorTicks(own: WorkerContext, late: CallbackEntry): Ticking[] {
      let writtenTo = BEGIN;
      const done = new Set<string>();
      const once = async (name: string, at: Instant, act: () => Promise<unknown>) => {
        if (clock.now() < at || done.has(name)) return;
        done.add(name);
        await act();
      };
      const run = async () => {
        const now = clock.now();
        const received = [...world.entriesReceived({ from: writtenTo, to: now }), placed, inventedRow].filter(
          ({ receivedAt }) => receivedAt >= writtenTo && receivedAt < now,
        );
        writtenTo = now;
        await time.during(
          operator.write(
            received.filter(({ entryId }) => entryId !== late.entryId),
            AT_ONCE,
          ),
        );
        await once("late row", LATE_ROW_AT, () => time.during(operator.write([late], AT_ONCE)));
        await once("transfers", HANDED_AT, () =>
          handOverTransfers(
            own,
            ["booked", "silent", "unknown"].map((ref) => ({
              label: "",
              transfer: {
                ...transferOf(ref),
                type: "DEPOSIT",
                productId: "WALLET",
                currency: "THB",
                sentAt: now,
              },
            })),
          ),
        );
        await once("backfill", BACKFILL_ASKED, async () =>
          requestBackfill(own, await planBackfill(own, { productId: "P1", ...BACKFILLED })),
        );
      };
      return [{ queue: "operator", places: 1, everyMs: Math.max(MINUTE_MS, load.slowestTickMs), run }];
    }

    function observing(look: () => Promise<void>): Ticking {
      const run = () => time.during(look());
      return { queue: "observer", places: 1, everyMs: Math.max(MINUTE_MS, load.slowestTickMs), run };
    }
  } finally {
    await operator.close();
    await plain.end({ timeout: 5 });
    provider.close();
    await sandbox.close();
  }
}

const AT_ONCE = { mayWaitSince: Number.POSITIVE_INFINITY, isCorrected: false };

/** The jobs of a worker. The queues only say when: a job that asks for another one gets it at its next tick. */
function ticksOf(context: WorkerContext, load: Load, channels: readonly AlertChannel[]): Ticking[] {
  const { config, log } = context;
  const atMost = (everyMs: number) => Math.max(everyMs, load.slowestTickMs);
  const onProgress = openProgress(context);
  const runFetchers = openFetchers(context);
  const noQueue = { add: async () => {}, getDeduplicationJobId: async () => null } as never;
  const products = config.products.filter(({ walletMode }) => walletMode === "seamless");
  const perProduct = products.flatMap(({ productId }): Ticking[] => [
    {
      queue: "pull",
      everyMs: atMost(config.pull.every),
      places: pullJobsAtOnce(context),
      run: (signal) => runPullJob(context, { productId }, runFetchers, signal),
    },
    {
      queue: "diff",
      everyMs: atMost(config.diff.every),
      places: config.pull.concurrency,
      run: (signal) =>
        runDiffJob(context, { productId }, { pull: noQueue, diff: noQueue }, signal, onProgress),
    },
  ]);
  const whole = tickJobs(context, runFetchers, openAlertJob(context, channels), onProgress).map(
    ({ queue, everyMs, concurrency, run }): Ticking => ({
      queue,
      everyMs: atMost(everyMs),
      places: concurrency,
      run: (signal) => run(signal, log),
    }),
  );
  return [...perProduct, ...whole];
}

async function runOnce({ run }: Ticking): Promise<void> {
  await run(new AbortController().signal);
}
