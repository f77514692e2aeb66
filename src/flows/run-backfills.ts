/** Runs what backfills ask for: several windows side by side, the backfills taking turns. */

import { ReconError } from "../errors.ts";
import type { Log } from "../log.ts";
import {
  endBackfills,
  leaseBackfillWindow,
  listRunningBackfills,
  type RunningBackfill,
  startQueuedBackfills,
} from "../sync/backfill-store.ts";
import { doesLiveWait } from "../sync/turn-store.ts";
import { type PullContext, pulledProducts } from "./context.ts";
import { fetchLeasedWindow } from "./fetch-leased-window.ts";

/**
 * Starts what is queued and fetches until nothing is due. A run may begin while another one is under way.
 * `log` names the run in its lines; without it the context's.
 */
export type RunBackfills = (signal: AbortSignal, log?: Log) => Promise<void>;

/**
 * All runs of one runner together fetch at most `pull.concurrency` windows side by side; other processes have runners
 * of their own, and share the windows with it. While a live window waits for a fetcher none is begun: the next run goes on.
 * A run rejects with what stopped it, refused credentials for one, and then nothing runs for `pull.every`.
 */
export function openBackfillRunner(context: PullContext): RunBackfills {
  const { sql, clock } = context;
  const { pull } = context.config;
  const products = pulledProducts(context.config);
  /** whose windows may be due, by id; the first is served next, and goes to the end */
  const turns = new Map<number, RunningBackfill>();
  let freeFetchers = pull.concurrency;
  let restUntil = Number.NEGATIVE_INFINITY;

  const isResting = (signal: AbortSignal) => signal.aborted || clock.now() < restUntil;

  const fetchInTurn = async (signal: AbortSignal, log: Log) => {
    while (!isResting(signal)) {
      const [backfill] = turns.values();
      if (backfill === undefined) return;
      turns.delete(backfill.id);
      turns.set(backfill.id, backfill);
      if (await doesLiveWait(sql, products, clock.now())) return;
      const window = await leaseBackfillWindow(sql, backfill, clock.now(), pull.attempts);
      if (window === null) {
        turns.delete(backfill.id);
      } else {
        await fetchLeasedWindow({ ...context, log }, window, signal).catch(tolerateLostLease);
        // Its parts are due where it was split, although nothing was when another fetcher looked.
        if (!isResting(signal)) turns.set(backfill.id, backfill);
      }
    }
  };

  const runFetcher = async (signal: AbortSignal, log: Log) => {
    freeFetchers -= 1;
    try {
      await fetchInTurn(signal, log);
    } catch (error) {
      restUntil = clock.now() + pull.every;
      // Which of them may go on is asked again.
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

/** Whoever paused or cancelled the backfill took the lease; so did a worker that found this one silent. */
function tolerateLostLease(error: unknown): void {
  if (!(error instanceof ReconError && error.code === "lease-lost")) throw error;
}
