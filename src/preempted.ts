/**
 * The rule by which slow requests make way for others. It holds twice: among the slots of the request budget, which all
 * processes share (`provider/held-slots`), and among the queues of verification in one process (`verify/turns`).
 */

/** The reason with which a preempted request is aborted. The caller asks again, within the lower half of the slots. */
export class Preempted extends Error {}

/** A request that takes longer than this is slow. */
export const SLOW_MS = 2_000;

/** The number of slots that slow requests may keep while others wait: half of them, at least one. */
export function lowerHalf(slots: number): number {
  return Math.max(1, Math.floor(slots / 2));
}

/** Whether a preempted request is still ending: only one is preempted at a time. */
export function isOneEnding(requests: Iterable<{ readonly ending: AbortController }>): boolean {
  return [...requests].some(({ ending }) => ending.signal.aborted);
}

/**
 * Chooses the youngest, because older ones will time out sooner.
 * @param requests in the order of their beginnings
 */
export function youngestSlow<Request>(
  requests: Iterable<Request>,
  isSlow: (request: Request) => boolean,
): Request | undefined {
  return [...requests].filter(isSlow).at(-1);
}
