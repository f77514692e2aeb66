/** Fetches what is planned of all products: live windows side by side, and beside them what can wait; products take turns. */

import { describeError, ReconError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { LeasedWindow, WindowKind } from "../sync/store.ts";
import { ensureTurns, type FetcherGroup, leaseInTurn, restWindow } from "../sync/turn-store.ts";
import { type PullContext, pulledProducts } from "./context.ts";
import { fetchLeasedWindow } from "./fetch-leased-window.ts";
import { planNextStep } from "./plan-product.ts";

/** After so many windows a fetcher ends and leaves the rest to the next run, so that no job lasts for ever. */
const MOST_WINDOWS_PER_FETCHER = 500;
/**
 * Of all processes, for each place of the request budget: a window whose request waits for a place is out of turn, and
 * those of a worker that died count until their leases end.
 */
const LEASED_PER_SLOT = 2;
const KINDS: Readonly<Record<FetcherGroup, readonly WindowKind[]>> = {
  live: ["live"],
  rest: ["confirm", "resweep"],
};

/**
 * Fetches until nothing is due that another fetcher does not fetch already. A run may begin while another is under way.
 * `log` names the run in its lines; without it the context's.
 */
export type RunFetchers = (signal: AbortSignal, log?: Log) => Promise<void>;

/**
 * All runs of one process together fetch at most `pull.concurrency` live windows side by side, and as many of what can
 * wait: neither takes the other's fetchers, and the request budget lets the live ones through first. What fails for one
 * product is logged, and ends nothing of the others; a run rejects where the database cannot be asked.
 */
export function openFetchers(context: PullContext): RunFetchers {
  const { concurrency } = context.config.pull;
  const runLive = openFetchersOf(context, "live", concurrency);
  const runRest = openFetchersOf(context, "rest", concurrency);
  return async (signal, log = context.log) => {
    const live = runLive(signal, log);
    // What had to wait for live windows goes on when they are done.
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
  /** One after the other: two at once would pass over each other's products. */
  const leaseNext = (): Promise<LeasedWindow | null> => {
    const leased = leasing.then(lease);
    leasing = leased.catch(() => {});
    return leased;
  };

  const fetchOne = async (window: LeasedWindow, signal: AbortSignal, log: Log) => {
    const { productId, kind } = window;
    try {
      const { outcome } = await fetchLeasedWindow({ ...context, log }, window, signal);
      // Pulling goes on behind a gap too.
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
      // What stops a fetcher is met when all of them are waited for; until then it must not end the process.
      ended.catch(() => {});
      running.push(ended);
    }
  };

  let isStarting = false;
  let isAskedAgain = false;
  /** @returns whether it fetched anything; where another run looks for windows just now, that one looks once more */
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
