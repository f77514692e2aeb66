/**
 * Decides which question is sent next: that of the queue with the fewest running questions. One queue may use all slots
 * while no other waits. If another has none, a question that has taken two seconds is preempted, and its queue is throttled
 * to half of the slots until it gets a quick answer. Considered: fixed shares, which leave slots idle.
 */

import { clearTimeout, setTimeout } from "node:timers";
import { isOneEnding, lowerHalf, Preempted, SLOW_MS, youngestSlow } from "../preempted.ts";

export interface Turns {
  /**
   * Runs the work when its queue has a turn. Settles as the work does.
   * @param work its signal aborts if the work is slow and its queue is preempted. `isThrottled`: the queue was
   * preempted, and has had no quick answer since
   */
  take<Result>(
    queue: string,
    work: (signal: AbortSignal, isThrottled: boolean) => Promise<Result>,
  ): Promise<Result>;
}

interface RunningQuestion {
  isSlow: boolean;
  readonly ending: AbortController;
}

interface QuestionQueue {
  /** the queue was preempted and has had no quick answer since: it may use half of the slots */
  isThrottled: boolean;
  /** the number of the queue's last turn, counted over all queues */
  lastTurn: number;
  readonly waiting: (() => void)[];
  /** in the order of their beginnings */
  readonly running: Set<RunningQuestion>;
}

/**
 * Opens the turns of the queues. A queue has the questions of one endpoint and product, which may hang together. The
 * next turn goes to the queue with the fewest running questions, and among these to the one whose last turn is the
 * longest ago. If all slots are taken and a waiting queue has none, a queue with several gives up a slow question,
 * and may use half of the slots until it gets a quick answer.
 * @param atOnce the number of slots: questions that may run at once
 */
export function openTurns(atOnce: number, slowMs = SLOW_MS): Turns {
  const queues = new Map<string, QuestionQueue>();
  let taken = 0;
  let turns = 0;

  const begin = (queue: QuestionQueue) => {
    taken += 1;
    turns += 1;
    queue.lastTurn = turns;
    queue.waiting.shift()?.();
  };

  const half = lowerHalf(atOnce);
  const fill = () => {
    while (taken < atOnce) {
      const queue = nextOf([...queues.values()].filter((one) => !one.isThrottled || one.running.size < half));
      if (queue === null) return;
      begin(queue);
    }
    const hasNone = [...queues.values()].some(
      ({ waiting, running }) => waiting.length > 0 && running.size === 0,
    );
    if (hasNone) makeRoom(queues.values());
  };

  return {
    take: async (name, work) => {
      const queue = queues.get(name) ?? newQueue();
      queues.set(name, queue);
      const own: RunningQuestion = { isSlow: false, ending: new AbortController() };
      await new Promise<void>((resolve) => {
        queue.waiting.push(() => {
          queue.running.add(own);
          resolve();
        });
        // A microtask, so that all questions of this moment are in their queues before the first turn.
        queueMicrotask(fill);
      });
      const timer = setTimeout(() => {
        own.isSlow = true;
        fill();
      }, slowMs);
      try {
        return await work(own.ending.signal, queue.isThrottled);
      } catch (error) {
        // The request budget gives questions up with the same error.
        if (error instanceof Preempted) queue.isThrottled = true;
        throw error;
      } finally {
        clearTimeout(timer);
        if (!own.isSlow) queue.isThrottled = false;
        queue.running.delete(own);
        taken -= 1;
        if (queue.running.size === 0 && queue.waiting.length === 0 && !queue.isThrottled) queues.delete(name);
        fill();
      }
    },
  };
}

function newQueue(): QuestionQueue {
  return { isThrottled: false, lastTurn: 0, waiting: [], running: new Set() };
}

function nextOf(queues: Iterable<QuestionQueue>): QuestionQueue | null {
  let best: QuestionQueue | null = null;
  for (const queue of queues) {
    if (queue.waiting.length === 0) continue;
    const isSooner =
      best === null ||
      queue.running.size < best.running.size ||
      (queue.running.size === best.running.size && queue.lastTurn < best.lastTurn);
    if (isSooner) best = queue;
  }
  return best;
}

/** The queue with the most running questions gives up a slow one. */
function makeRoom(queues: Iterable<QuestionQueue>): void {
  const crowded = [...queues]
    .filter(({ running }) => running.size > 1)
    .sort((a, b) => b.running.size - a.running.size);
  if (isOneEnding(crowded.flatMap(({ running }) => [...running]))) return;
  for (const queue of crowded) {
    const slow = youngestSlow(queue.running, ({ isSlow }) => isSlow);
    if (slow === undefined) continue;
    queue.isThrottled = true;
    slow.ending.abort(new Preempted("the request was preempted by other queues"));
    return;
  }
}
