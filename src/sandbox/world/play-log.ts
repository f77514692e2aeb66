/** Stores the periods of play, so that the world of a try-out continues at the next start. */

import { randomInt } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Clock, formatInstant, type Instant, parseInstant } from "../../clock.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { TimeRange } from "../../window.ts";

export interface PlayLog {
  readonly seed: number;
  /** a live view, which grows with every `extend` */
  readonly periods: readonly TimeRange[];
  /**
   * Commits the next seconds of play before clients can see them. After a kill, the world has exactly the committed
   * play. Must be called at least twice per `leadMs`; writes only when less than half of `leadMs` is left.
   */
  extend(): void;
}

export interface PlayLogOptions {
  readonly path: string;
  readonly clock: Clock;
  /** the length of the play before the first start */
  readonly historyMs: number;
  /** the seed of the first start; default: random. A later start must use the same seed, or none. */
  readonly seed?: number;
  /** the time between now and the end of the committed play */
  readonly leadMs?: number;
}

const DEFAULT_LEAD_MS = 10_000;

/**
 * Opens or begins the play log. Players play from now on.
 * @throws ReconError `embedded-failed` if the file is damaged, unreadable, or of another seed
 */
export function openPlayLog({
  path,
  clock,
  historyMs,
  seed,
  leadMs = DEFAULT_LEAD_MS,
}: PlayLogOptions): PlayLog {
  const now = clock.now();
  const playLog = readPlayLog(path) ?? {
    seed: seed ?? randomInt(2 ** 32),
    periods: [{ from: now - historyMs, to: now }],
  };
  if (seed !== undefined && seed !== playLog.seed) throw anotherSeed(path, playLog.seed, seed);
  const extend = () => {
    const changed = extendPeriods(playLog.periods, clock.now(), leadMs);
    if (changed === null) return;
    writePlayLog(path, { seed: playLog.seed, periods: changed });
    playLog.periods.splice(0, playLog.periods.length, ...changed);
  };
  extend();
  return { seed: playLog.seed, periods: playLog.periods, extend };
}

interface Pages {
  readonly seed: number;
  readonly periods: TimeRange[];
}

/**
 * Continues a period that reaches beyond now. After an ended period a new one begins now, because clients may have
 * read the past already.
 * @returns null: enough is committed
 */
function extendPeriods(periods: readonly TimeRange[], now: Instant, leadMs: number): TimeRange[] | null {
  const last = periods.at(-1);
  const to = now + leadMs;
  if (last === undefined || last.to < now) return [...periods, { from: now, to }];
  if (last.to - now >= leadMs / 2) return null;
  return [...periods.slice(0, -1), { from: last.from, to }];
}

function readPlayLog(path: string): Pages | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new ReconError("embedded-failed", `${path} cannot be read: ${describeError(cause)}`, { cause });
  }
  try {
    return parsePages(text);
  } catch (cause) {
    throw new ReconError(
      "embedded-failed",
      `${path}, the sandbox's play log, is damaged (${describeError(cause)}): delete it, and the sandbox begins a new world`,
      { cause },
    );
  }
}

function parsePages(text: string): Pages {
  const { seed, periods }: { seed: unknown; periods: unknown } = JSON.parse(text);
  if (!Number.isSafeInteger(seed) || (seed as number) < 0) throw new Error("seed must be a whole number");
  if (!Array.isArray(periods) || periods.length === 0) throw new Error("periods must be a list");
  let end = Number.NEGATIVE_INFINITY;
  const ranges = periods.map((period, index) => {
    const from = parseInstant(String(period?.from), `periods[${index}].from`);
    const to = parseInstant(String(period?.to), `periods[${index}].to`);
    if (from < end || to < from) throw new Error(`periods[${index}] must come after the one before it`);
    end = to;
    return { from, to };
  });
  return { seed: seed as number, periods: ranges };
}

function anotherSeed(path: string, begun: number, given: number): ReconError {
  return new ReconError(
    "embedded-failed",
    `${path}, the sandbox's play log, was begun with seed ${begun}, not ${given}: give that one, or delete the file to begin a new world`,
  );
}

/** Writes a second file and renames it, so that a kill at any instant leaves a whole file. */
function writePlayLog(path: string, { seed, periods }: Pages): void {
  const shown = periods.map(({ from, to }) => ({ from: formatInstant(from), to: formatInstant(to) }));
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.new`, `${JSON.stringify({ seed, periods: shown }, null, 2)}\n`, {
      flush: true,
      mode: 0o600,
    });
    renameSync(`${path}.new`, path);
  } catch (cause) {
    throw new ReconError(
      "embedded-failed",
      `${path}, the sandbox's play log, cannot be written (${describeError(cause)}): start it in a folder that it may write to`,
      { cause },
    );
  }
}
