/**
 * Gathers waiting requests into batches. No request waits for a batch to fill: the next batch is the requests that arrive while
 * the batches before it are under way. A batch takes two round trips, like a single request. Considered: `commit_delay`,
 * which saves only the flush and delays every request.
 */

import type { Deadline } from "../db/deadline.ts";

export interface BatchLimits {
  /** the most batches under way */
  readonly atOnce: number;
  /** the most requests of one batch; a single request may exceed items and bytes */
  readonly requests: number;
  readonly items: number;
  readonly bytes: number;
}

/** The size of a request. */
interface Size {
  readonly items: number;
  readonly bytes: number;
}

interface Waiting<Request, Outcome> extends PromiseWithResolvers<Outcome> {
  readonly request: Request;
  readonly size: Size;
  readonly deadline: Deadline;
}

/**
 * @param serve is called with the requests of a batch in order of arrival, and returns their outcomes in that order. If
 * it rejects, each request whose deadline is not over is served alone.
 * @returns adds a request; rejects with the reason of the deadline if that is over before the batch begins
 */
export function openBatches<Request, Outcome>(
  limits: BatchLimits,
  serve: (requests: readonly Request[]) => Promise<readonly Outcome[]>,
): (request: Request, size: Size, deadline: Deadline) => Promise<Outcome> {
  const line = new Set<Waiting<Request, Outcome>>();
  let underWay = 0;
  let isPlanned = false;

  const begin = () => {
    isPlanned = false;
    while (underWay < limits.atOnce && line.size > 0) {
      const batch = takeBatch(line, limits);
      underWay += 1;
      void settle(batch, serve).finally(() => {
        underWay -= 1;
        plan();
      });
    }
  };
  // Node reads requests that arrive together one by one. setImmediate begins the batch after the last of them.
  const plan = () => {
    if (isPlanned || underWay >= limits.atOnce || line.size === 0) return;
    isPlanned = true;
    setImmediate(begin);
  };
  return (request, size, deadline) => {
    const one = { request, size, deadline, ...Promise.withResolvers<Outcome>() };
    line.add(one);
    deadline.over.catch((reason: unknown) => {
      if (line.delete(one)) one.reject(reason);
    });
    plan();
    return one.promise;
  };
}

/** Takes as many of the first requests as the limits allow, but at least one. */
function takeBatch<Waits extends { readonly size: Size }>(line: Set<Waits>, limits: BatchLimits): Waits[] {
  const batch: Waits[] = [];
  let { requests, items, bytes } = limits;
  for (const one of line) {
    requests -= 1;
    items -= one.size.items;
    bytes -= one.size.bytes;
    if (batch.length > 0 && (requests < 0 || items < 0 || bytes < 0)) break;
    batch.push(one);
    line.delete(one);
  }
  return batch;
}

async function settle<Request, Outcome>(
  batch: readonly Waiting<Request, Outcome>[],
  serve: (requests: readonly Request[]) => Promise<readonly Outcome[]>,
): Promise<void> {
  try {
    const outcomes = await serve(batch.map(({ request }) => request));
    for (const [place, one] of batch.entries()) one.resolve(outcomes[place] as Outcome);
  } catch (error) {
    const [only] = batch;
    if (batch.length === 1) only?.reject(error);
    else for (const one of batch) await settleAlone(one, serve);
  }
}

async function settleAlone<Request, Outcome>(
  one: Waiting<Request, Outcome>,
  serve: (requests: readonly Request[]) => Promise<readonly Outcome[]>,
): Promise<void> {
  try {
    one.deadline.check();
  } catch (error) {
    one.reject(error);
    return;
  }
  await settle([one], serve);
}
