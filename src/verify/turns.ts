/**
 * Decides which question is asked next: queues take turns, and a hanging queue makes room for one without a running
 * question (110).
 */

import { clearTimeout, setTimeout } from "node:timers";

export interface Turns {
  /**
   * Does the work of a line as soon as it is its turn. Settles as the work does.
   * @param work its signal aborts where it has taken long and its line has to make room; `isCrowding`: the line had
   * to   make room, and has answered nothing quickly since
   */
  take<Result>(
    queue: string,
    work: (signal: AbortSignal, isCrowding: boolean) => Promise<Result>,
  ): Promise<Result>;
}

/** Why a question was given up: it is asked again when it is the line's turn. */
export class TurnOver extends Error {}

/** So long a question may take before others need not wait for it. */
const SLOW_MS = 2_000;

interface RunningQuestion {
  isSlow: boolean;
  readonly ending: AbortController;
}

interface QuestionQueue {
  /** it had to make room, and has answered nothing quickly since: it keeps to half of the lanes */
  isCrowding: boolean;
  /** counts the turns of all; the smaller, the longer ago it had one */
  lastTurn: number;
  readonly waiting: (() => void)[];
  /** in the order in which they began */
  readonly running: Set<RunningQuestion>;
}

/**
 * A line is what may hang by itself: an endpoint and a product. The next turn is of the line with the fewest
 * questions under way, of these the one whose last turn is the longest ago. Where all lanes are taken and a line has
 * none, a line that has several gives up a slow one, and keeps to half of the lanes until it answers quickly again.
 * @param atOnce questions side by side
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

  const half = Math.max(1, Math.floor(atOnce / 2));
  const fill = () => {
    while (taken < atOnce) {
      const queue = nextOf([...queues.values()].filter((one) => !one.isCrowding || one.running.size < half));
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
        // All that is asked for at once is in the queue before the first turn is given.
        queueMicrotask(fill);
      });
      const timer = setTimeout(() => {
        own.isSlow = true;
        fill();
      }, slowMs);
      try {
        return await work(own.ending.signal, queue.isCrowding);
      } catch (error) {
        // Room may have to be made elsewhere too: at the places of the request budget.
        if (error instanceof TurnOver) queue.isCrowding = true;
        throw error;
      } finally {
        clearTimeout(timer);
        if (!own.isSlow) queue.isCrowding = false;
        queue.running.delete(own);
        taken -= 1;
        if (queue.running.size === 0 && queue.waiting.length === 0 && !queue.isCrowding) queues.delete(name);
        fill();
      }
    },
  };
}

function newQueue(): QuestionQueue {
  return { isCrowding: false, lastTurn: 0, waiting: [], running: new Set() };
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

/**
 * The line with the most gives up its youngest slow question: the older ones end by themselves sooner. One at a time.
 */
function makeRoom(queues: Iterable<QuestionQueue>): void {
  const crowded = [...queues]
    .filter(({ running }) => running.size > 1)
    .sort((a, b) => b.running.size - a.running.size);
  if (crowded.some(({ running }) => [...running].some(({ ending }) => ending.signal.aborted))) return;
  for (const queue of crowded) {
    const slow = [...queue.running].filter(({ isSlow }) => isSlow).at(-1);
    if (slow === undefined) continue;
    queue.isCrowding = true;
    slow.ending.abort(new TurnOver("it makes room for others"));
    return;
  }
}
