/** Who asks next: the lines take turns at the lanes, and one that hangs makes room for one that has none. */

import { clearTimeout, setTimeout } from "node:timers";

export interface Turns {
  /**
   * Does the work of a line as soon as it is its turn. Settles as the work does.
   * @param work its signal aborts where it has taken long and its line has to make room; `isCrowding`: the line had to
   *   make room, and has answered nothing quickly since
   */
  take<Result>(
    line: string,
    work: (signal: AbortSignal, isCrowding: boolean) => Promise<Result>,
  ): Promise<Result>;
}

/** Why a question was given up: it is asked again when it is the line's turn. */
export class TurnOver extends Error {}

/** So long a question may take before others need not wait for it. */
const SLOW_MS = 2_000;

interface AtWork {
  isSlow: boolean;
  readonly ending: AbortController;
}

interface Line {
  /** it had to make room, and has answered nothing quickly since: it keeps to half of the lanes */
  isCrowding: boolean;
  /** counts the turns of all; the smaller, the longer ago it had one */
  lastTurn: number;
  readonly waiting: (() => void)[];
  /** in the order in which they began */
  readonly atWork: Set<AtWork>;
}

/**
 * A line is what may hang by itself: an endpoint and a product. The next turn is of the line with the fewest questions
 * under way, of these the one whose last turn is the longest ago. Where all lanes are taken and a line has none, a line
 * that has several gives up a slow one, and keeps to half of the lanes until it answers quickly again.
 * @param lanes questions side by side
 */
export function openTurns(lanes: number, slowMs = SLOW_MS): Turns {
  const lines = new Map<string, Line>();
  let taken = 0;
  let turns = 0;

  const begin = (line: Line) => {
    taken += 1;
    turns += 1;
    line.lastTurn = turns;
    line.waiting.shift()?.();
  };

  const half = Math.max(1, Math.floor(lanes / 2));
  const fill = () => {
    while (taken < lanes) {
      const line = nextOf([...lines.values()].filter((one) => !one.isCrowding || one.atWork.size < half));
      if (line === null) return;
      begin(line);
    }
    const hasNone = [...lines.values()].some(
      ({ waiting, atWork }) => waiting.length > 0 && atWork.size === 0,
    );
    if (hasNone) makeRoom(lines.values());
  };

  return {
    take: async (name, work) => {
      const line = lines.get(name) ?? newLine();
      lines.set(name, line);
      const own: AtWork = { isSlow: false, ending: new AbortController() };
      await new Promise<void>((resolve) => {
        line.waiting.push(() => {
          line.atWork.add(own);
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
        return await work(own.ending.signal, line.isCrowding);
      } catch (error) {
        // Room may have to be made elsewhere too: at the places of the request budget.
        if (error instanceof TurnOver) line.isCrowding = true;
        throw error;
      } finally {
        clearTimeout(timer);
        if (!own.isSlow) line.isCrowding = false;
        line.atWork.delete(own);
        taken -= 1;
        if (line.atWork.size === 0 && line.waiting.length === 0 && !line.isCrowding) lines.delete(name);
        fill();
      }
    },
  };
}

function newLine(): Line {
  return { isCrowding: false, lastTurn: 0, waiting: [], atWork: new Set() };
}

function nextOf(lines: Iterable<Line>): Line | null {
  let best: Line | null = null;
  for (const line of lines) {
    if (line.waiting.length === 0) continue;
    const isSooner =
      best === null ||
      line.atWork.size < best.atWork.size ||
      (line.atWork.size === best.atWork.size && line.lastTurn < best.lastTurn);
    if (isSooner) best = line;
  }
  return best;
}

/** The line with the most gives up its youngest slow question: the older ones end by themselves sooner. One at a time. */
function makeRoom(lines: Iterable<Line>): void {
  const crowded = [...lines]
    .filter(({ atWork }) => atWork.size > 1)
    .sort((a, b) => b.atWork.size - a.atWork.size);
  if (crowded.some(({ atWork }) => [...atWork].some(({ ending }) => ending.signal.aborted))) return;
  for (const line of crowded) {
    const slow = [...line.atWork].filter(({ isSlow }) => isSlow).at(-1);
    if (slow === undefined) continue;
    line.isCrowding = true;
    slow.ending.abort(new TurnOver("it makes room for others"));
    return;
  }
}
