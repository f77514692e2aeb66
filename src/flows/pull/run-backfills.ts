/**
 * Runs backfills: several windows at once, with turns between backfills. In one order of time over all backfills, a short one would wait
 * for a long one that reaches further back.
 */

import { ReconError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import {
  endBackfills,
  leaseBackfillWindow,
  listRunningBackfills,
  type RunningBackfill,
  startQueuedBackfills,
} from "../../sync/backfill-store.ts";
import { doesMoreUrgentWait } from "../../sync/turn-store.ts";
import { type PullContext, pulledProducts } from "../context.ts";
import { fetchWindow } from "./fetch-window.ts";
import { reservedFetchers, waitingForTurns } from "./fetchers.ts";

/**
 * Starts queued backfills, and fetches until nothing is due. Runs may overlap, and each uses the free fetchers of the process, so a long
 * window delays neither the other fetchers nor a new backfill. The lines of `log` name the run; the default is the context's log.
 */
type RunBackfills = (signal: AbortSignal, log?: Log) => Promise<void>;

/**
 * All runs of one runner together fetch at most `pull.concurrency` windows at once. The runners of other processes share the windows.
 * While a live window waits for a fetcher, only the reserved fetchers begin windows, and the next run continues. A run rejects with the
 * error that stopped it, such as refused credentials. Nothing runs then for `pull.every`.
 */
export function openBackfillRunner(context: PullContext): RunBackfills {
  const { sql, clock } = context;
  const { pull } = context.config;
  const products = pulledProducts(context.config);
  /** the backfills with due windows, by id; the first is served next and then goes to the end */
  const turns = new Map<number, RunningBackfill>();
  let freeFetchers = pull.concurrency;
  let underWay = 0;
  let restUntil = Number.NEGATIVE_INFINITY;

  const isResting = (signal: AbortSignal) => signal.aborted || clock.now() < restUntil;

  const fetchInTurn = async (signal: AbortSignal, log: Log) => {
    while (!isResting(signal)) {
      const [backfill] = turns.values();
      if (backfill === undefined) return;
      turns.delete(backfill.id);
      turns.set(backfill.id, backfill);
      const isReserved = underWay < reservedFetchers(pull.concurrency);
      if (!isReserved && (await doesMoreUrgentWait(sql, "backfill", products, clock.now()))) return;
      underWay += 1;
      try {
        await fetchNext(backfill, isReserved, signal, log);
      } finally {
        underWay -= 1;
      }
    }
  };

  const fetchNext = async (backfill: RunningBackfill, isReserved: boolean, signal: AbortSignal, log: Log) => {
    const window = await leaseBackfillWindow(sql, backfill, clock.now(), pull.attempts);
    if (window === null) {
      turns.delete(backfill.id);
      return;
    }
    const own = isReserved ? waitingForTurns(context, "backfill") : context;
    await fetchWindow({ ...own, log }, window, signal).catch(tolerateLostLease);
    // A split leaves parts that are due, although another fetcher may have found nothing due a moment before.
    if (!isResting(signal)) turns.set(backfill.id, backfill);
  };

  const runFetcher = async (signal: AbortSignal, log: Log) => {
    freeFetchers -= 1;
    try {
      await fetchInTurn(signal, log);
    } catch (error) {
      restUntil = clock.now() + pull.every;
      // Reads again which backfills may continue.
      turns.clear();
      throw error;
    } finally {
      freeFetchers += 1;
    }
  };

  return async (signal, log = context.log) => {
    if (isResting(signal)) return;
    await startQueuedBackfills(sql, clock.now());
    for (const backfill of await listRunningBackfills(sql, clock.now())) turns.set(backfill.id, backfill);
    const count = turns.size === 0 ? 0 : freeFetchers;
    const fetchers = await Promise.allSettled(Array.from({ length: count }, () => runFetcher(signal, log)));
    for (const { id, productId, status } of await endBackfills(sql, clock.now(), pull.attempts)) {
      log.info({ backfillId: id, productId, status }, "a backfill has ended");
    }
    for (const fetcher of fetchers) if (fetcher.status === "rejected") throw fetcher.reason;
  };
}

/** A lost lease is no error: pausing and cancelling withdraw leases, and another worker may acquire an expired one. */
function tolerateLostLease(error: unknown): void {
  if (!(error instanceof ReconError && error.code === "lease-lost")) throw error;
}
