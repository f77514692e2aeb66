/**
 * Fetches the planned windows of all products, each kind with fetchers of its own. Products take turns. Live windows come before confirm
 * fetches, and confirm fetches before resweeps, but each kind keeps a share of the requests (decision 267).
 */

import { describeError, ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { LeasedWindow } from "../../sync/leased-window-store.ts";
import {
  delayWindow,
  doesMoreUrgentWait,
  ensureTurns,
  LANES,
  type Lane,
  leaseInTurn,
} from "../../sync/turn-store.ts";
import { type PullContext, pulledProducts } from "../context.ts";
import { fetchWindow } from "./fetch-window.ts";
import { planNextStep } from "./plan-product.ts";

/** The most windows of a fetcher in one run, so no job lasts for ever. The next run fetches the rest. */
const MOST_WINDOWS_PER_FETCHER = 500;
/**
 * How many windows may be leased over all processes, for each slot of the request budget. More would wait for slots out of turn. The
 * windows of a dead worker count until their leases end.
 */
const LEASED_PER_SLOT = 2;

/** The number of fetchers of one kind that work in this process while more urgent windows wait: enough for a tenth of the slots. */
export function reservedFetchers(concurrency: number): number {
  return Math.ceil(concurrency / 10);
}

/**
 * Fetches until nothing more is due. Runs may overlap. The lines of `log` name the run; the default is the context's log.
 */
export type RunFetchers = (signal: AbortSignal, log?: Log) => Promise<void>;

/**
 * All runs of one process together fetch at most `pull.concurrency` windows of each kind at once. The request budget
 * serves live windows first. A failure of one product is logged and does not affect others. A run rejects if the database
 * does not answer.
 */
export function openFetchers(context: PullContext): RunFetchers {
  const { concurrency } = context.config.pull;
  const runLive = openFetchersOf(context, "live", concurrency);
  const runConfirm = openFetchersOf(context, "confirm", concurrency);
  const runResweep = openFetchersOf(context, "resweep", concurrency);
  return async (signal, log = context.log) => {
    const runOthers = () => Promise.all([runConfirm(signal, log), runResweep(signal, log)]);
    const live = runLive(signal, log);
    // Windows that had to wait for live windows continue afterwards.
    const afterwards = live.then(async (hasFetched) => {
      if (hasFetched) await runOthers();
    });
    const ended = await Promise.allSettled([live, runOthers(), afterwards]);
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  };
}

interface Leased {
  readonly window: LeasedWindow;
  /** leased although more urgent windows may wait */
  readonly isReserved: boolean;
}

/** While more urgent windows wait, the requests of the returned context take only the slots of their share (decision 267). */
export function waitingForTurns(context: PullContext, kind: Lane | "backfill"): PullContext {
  const { sql, clock, config } = context;
  const waitsForTurn = () => doesMoreUrgentWait(sql, kind, pulledProducts(config), clock.now());
  return {
    ...context,
    fetchPage: (request, signal, urgency) => context.fetchPage({ ...request, waitsForTurn }, signal, urgency),
  };
}

function openFetchersOf(context: PullContext, lane: Lane, size: number) {
  const { sql, clock, config } = context;
  const products = pulledProducts(config);
  const reserved = lane === "live" ? 0 : reservedFetchers(size);
  let free = size;
  let underWay = 0;
  let ensured = false;
  let leasing: Promise<unknown> = Promise.resolve();

  const lease = async (): Promise<Leased | null> => {
    // The turns of all lanes, because each lane checks whether a more urgent one waits.
    if (!ensured) for (const one of LANES) await ensureTurns(sql, one, products);
    ensured = true;
    const isReserved = underWay < reserved;
    const window = await leaseInTurn(sql, lane, products, LEASED_PER_SLOT * size, clock.now(), isReserved);
    if (window === null) return null;
    underWay += 1;
    return { window, isReserved };
  };
  /** Leases windows one after the other: two leases at once would skip each other's products. */
  const leaseNext = (): Promise<Leased | null> => {
    const leased = leasing.then(lease);
    leasing = leased.catch(() => {});
    return leased;
  };

  const fetchOne = async ({ window, isReserved }: Leased, signal: AbortSignal, log: Log) => {
    const { productId, kind } = window;
    const own = isReserved ? waitingForTurns(context, lane) : context;
    try {
      const { outcome } = await fetchWindow({ ...own, log }, window, signal);
      // Pulling also continues after a gap.
      if (kind === "live" && (outcome === "done" || outcome === "gap"))
        await planNextStep(context, productId);
    } catch (error) {
      if (signal.aborted) return;
      logFailure(log, productId, error);
      if (!(error instanceof ReconError)) await delayWindow(sql, window, clock.now() + config.pull.every);
    } finally {
      underWay -= 1;
    }
  };

  const runFetcher = async (first: Leased, signal: AbortSignal, log: Log) => {
    let leased: Leased | null = first;
    for (let count = 0; leased !== null && count < MOST_WINDOWS_PER_FETCHER; count++) {
      await fetchOne(leased, signal, log);
      leased = signal.aborted || count + 1 === MOST_WINDOWS_PER_FETCHER ? null : await leaseNext();
    }
  };

  const startFetchers = async (signal: AbortSignal, log: Log, running: Promise<void>[]) => {
    while (free > 0 && !signal.aborted) {
      const first = await leaseNext();
      if (first === null) return;
      free -= 1;
      const ended = runFetcher(first, signal, log).finally(() => {
        free += 1;
      });
      // The wait for all fetchers reports this error; until then it must not end the process.
      ended.catch(() => {});
      running.push(ended);
    }
  };

  let isStarting = false;
  let isAskedAgain = false;
  /** @returns whether the run fetched anything. If another run is starting fetchers at the moment, that run checks once more instead. */
  return async (signal: AbortSignal, log: Log): Promise<boolean> => {
    if (isStarting) {
      isAskedAgain = true;
      return false;
    }
    const running: Promise<void>[] = [];
    isStarting = true;
    try {
      do {
        isAskedAgain = false;
        await startFetchers(signal, log, running);
      } while (isAskedAgain && free > 0 && !signal.aborted);
    } finally {
      isStarting = false;
      await Promise.all(running);
    }
    return running.length > 0;
  };
}

function logFailure(log: Log, productId: string, error: unknown): void {
  if (!(error instanceof ReconError)) {
    log.error({ productId, err: error }, "a window could not be fetched; it will be retried later");
    return;
  }
  const message = describeError(error);
  if (error.code === "lease-lost") log.info({ productId, code: error.code }, message);
  else log.error({ productId, code: error.code }, message);
}
