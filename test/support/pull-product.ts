/** Pulls one product alone, as one tick of a worker does, on the clock of the test. */

import type { Instant } from "../../src/clock.ts";
import type { PullContext } from "../../src/flows/context.ts";
import { fetchWindow, type WindowOutcome } from "../../src/flows/pull/fetch-window.ts";
import { planNextStep, planProduct } from "../../src/flows/pull/plan-product.ts";

import type { WindowKind } from "../../src/sync/window-store.ts";
import { leaseNextWindow } from "./lease-window.ts";

/** More windows than this wait for the next run, so that no run lasts for ever. */
const MOST_WINDOWS_PER_RUN = 500;
const KINDS = ["live", "confirm", "resweep"] as const;

export interface PullResult {
  readonly windows: number;
  readonly records: number;
  readonly gaps: number;
}

/**
 * Plans what is due once, and fetches what is planned: live windows, each followed by a plan of the next step, then confirm
 * fetches, then resweeps. It waits for windows that are to be retried soon; a worker with other products serves them meanwhile
 * (`openFetchers`).
 * @throws ReconError `provider-refused` if the credentials are not accepted
 */
export async function pullProduct(
  context: PullContext,
  productId: string,
  signal: AbortSignal,
): Promise<PullResult> {
  const { clock } = context;
  const result = { windows: 0, records: 0, gaps: 0 };
  const retries: Instant[] = [];
  let dueBy = clock.now();
  if ((await planProduct(context, productId, dueBy)) === null) return result;
  while (result.windows < MOST_WINDOWS_PER_RUN && !signal.aborted) {
    const fetched = await fetchNextWindow(context, productId, KINDS, dueBy, signal);
    if (fetched === null) {
      const retryAt = retries.sort((a, b) => a - b).shift();
      if (retryAt === undefined) break;
      await clock.sleep(Math.max(0, retryAt - clock.now()), signal);
      dueBy = Math.max(dueBy, retryAt);
      continue;
    }
    if (fetched.outcome === "postponed") {
      retries.push(fetched.retryAt);
      continue;
    }
    result.windows += 1;
    if (fetched.outcome === "done") result.records += fetched.records;
    if (fetched.outcome === "gap") result.gaps += 1;
    const isEnded = fetched.outcome === "done" || fetched.outcome === "gap";
    if (fetched.kind === "live" && isEnded) await planNextStep(context, productId);
  }
  return result;
}

/**
 * @param kinds which windows to take, in the order of their urgency
 * @param now windows that are due by then
 * @returns null if nothing is due; otherwise the outcome of the window, and its kind
 * @throws ReconError `provider-refused` if the credentials are not accepted
 */
export async function fetchNextWindow(
  context: PullContext,
  productId: string,
  kinds: readonly WindowKind[],
  now: Instant,
  signal: AbortSignal,
): Promise<((WindowOutcome | { readonly outcome: "cut" }) & { readonly kind: WindowKind }) | null> {
  const window = await leaseNextWindow(context.sql, productId, now, kinds);
  return window === null ? null : { ...(await fetchWindow(context, window, signal)), kind: window.kind };
}
