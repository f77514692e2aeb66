/**
 * Fetches the planned windows of all products: live windows in one group of fetchers, all others in a second group.
 * Products take turns.
 */

import { describeError, ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { LeasedWindow } from "../../sync/leased-window-store.ts";
import { ensureTurns, type FetcherGroup, leaseInTurn, restWindow } from "../../sync/turn-store.ts";
import type { WindowKind } from "../../sync/window-store.ts";
import { type PullContext, pulledProducts } from "../context.ts";
import { fetchLeasedWindow } from "./fetch-leased-window.ts";
import { planNextStep } from "./plan-product.ts";

/** The most windows of a fetcher in one run, so that no job lasts for ever. The next run fetches the rest. */
const MOST_WINDOWS_PER_FETCHER = 500;
/**
 * The most leased windows of all processes, for each slot of the request budget. More leased windows would wait for
 * slots out of turn; the windows of a dead worker count until their leases end.
 */
const LEASED_PER_SLOT = 2;
const KINDS: Readonly<Record<FetcherGroup, readonly WindowKind[]>> = {
  live: ["live"],
  rest: ["confirm", "resweep"],
};

/**
 * Fetches until nothing more is due. Runs may overlap. `log` names the run in its lines; the default is the context's
 * log.
 */
export type RunFetchers = (signal: AbortSignal, log?: Log) => Promise<void>;

/**
 * All runs of one process together fetch at most `pull.concurrency` live windows at once, and as many other windows.
 * Each group has its own fetchers, and the request budget serves live windows first. A failure of one product is
 * logged and does not affect others. A run rejects where the database does not answer.
 */
export function openFetchers(context: PullContext): RunFetchers {
  const { concurrency } = context.config.pull;
  const runLive = openFetchersOf(context, "live", concurrency);
  const runRest = openFetchersOf(context, "rest", concurrency);
  return async (signal, log = context.log) => {
    const live = runLive(signal, log);
    // Windows that had to wait for live windows continue afterwards.
    const afterwards = live.then((hasFetched) => hasFetched && runRest(signal, log));
    const ended = await Promise.allSettled([live, runRest(signal, log), afterwards]);
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  };
}

function openFetchersOf(context: PullContext, group: FetcherGroup, size: number) {
  const { sql, clock, config } = context;
  const products = pulledProducts(config);
  let free = size;
  let ensured = false;
  let leasing: Promise<unknown> = Promise.resolve();

  const lease = async () => {
    if (!ensured) await ensureTurns(sql, group, products);
    ensured = true;
    return await leaseInTurn(sql, group, products, KINDS[group], LEASED_PER_SLOT * size, clock.now());
  };
  /** Leases one after the other: two at once would skip each other's products. */
  const leaseNext = (): Promise<LeasedWindow | null> => {
    const leased = leasing.then(lease);
    leasing = leased.catch(() => {});
    return leased;
  };

  const fetchOne = async (window: LeasedWindow, signal: AbortSignal, log: Log) => {
    const { productId, kind } = window;
    try {
      const { outcome } = await fetchLeasedWindow({ ...context, log }, window, signal);
      // Pulling also continues after a gap.
      if (kind === "live" && (outcome === "done" || outcome === "gap"))
        await planNextStep(context, productId);
    } catch (error) {
      if (signal.aborted) return;
      logFailure(log, productId, error);
      if (!(error instanceof ReconError)) await restWindow(sql, window, clock.now() + config.pull.every);
    }
  };

  const runFetcher = async (first: LeasedWindow, signal: AbortSignal, log: Log) => {
    let window: LeasedWindow | null = first;
    for (let count = 0; window !== null && count < MOST_WINDOWS_PER_FETCHER; count++) {
      await fetchOne(window, signal, log);
      window = signal.aborted || count + 1 === MOST_WINDOWS_PER_FETCHER ? null : await leaseNext();
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
  /** @returns whether the run fetched anything. Where another run is starting fetchers, that run checks once more. */
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
    log.error({ productId, err: error }, "a window could not be fetched; it is tried again later");
    return;
  }
  const message = describeError(error);
  if (error.code === "lease-lost") log.info({ productId, code: error.code }, message);
  else log.error({ productId, code: error.code }, message);
}
