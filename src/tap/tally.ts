/**
 * The counts of the tap, for its metrics, and its log lines: a problem is logged when it begins, and every minute while it
 * lasts.
 */

import { type Instant, showDuration } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";

/** The reasons why an answered callback is not in the journal. */
export const LOSSES = [
  "journal-full",
  "disk-error",
  "disk-slow",
  "too-large",
  "unreadable",
  "unknown-path",
  "status-differs",
] as const;
export type Loss = (typeof LOSSES)[number];

/** The outcomes of the requests that reached the tap. */
export interface Tally {
  /** callbacks that were written to the journal with their answers */
  recorded: number;
  /** answered callbacks that are not in the journal, by reason */
  readonly lost: Record<Loss, number>;
  /** callbacks whose connection ended before the target answered; the caller got no answer */
  unanswered: number;
  /** callbacks that got an HTTP error without an answer of the interface, for example a gateway's error page */
  refused: number;
  /** requests that move no money: other paths, other methods, checkBalance */
  others: number;
  /** requests that were not passed on: CONNECT, not HTTP/1.1, more than 1,000 on one connection without answers */
  unpassed: number;
  /** connections for which the target could not be reached */
  unreachable: number;
  /** the number of open connections */
  connections: number;
}

export function openTally(): Tally {
  return {
    recorded: 0,
    lost: {
      "journal-full": 0,
      "disk-error": 0,
      "disk-slow": 0,
      "too-large": 0,
      unreadable: 0,
      "unknown-path": 0,
      "status-differs": 0,
    },
    unanswered: 0,
    refused: 0,
    others: 0,
    unpassed: 0,
    unreachable: 0,
    connections: 0,
  };
}

export function sumOfLost({ lost }: Tally): number {
  return Object.values(lost).reduce((sum, count) => sum + count, 0);
}

const AGAIN_MS = 60_000;
const MOST_OTHER_PATHS = 20;

const WHY: Readonly<Record<Loss, string>> = {
  "journal-full":
    "the journal has reached its limit. Make PostgreSQL available again, or increase --journal-mb",
  "disk-error": "the journal cannot be written. Free space on its disk, or repair the disk",
  "disk-slow": "the journal's disk does not respond. Repair or replace it",
  "too-large": "a body is larger than 1 MiB, or all bodies in flight are larger than 128 MiB together",
  unreadable:
    "the tap could not read one of their messages; another log line says why. Fix the caller or your endpoint",
  "unknown-path":
    "their path names no known callback, but the answer says that money moved. If it is a new callback, upgrade wallet-recon",
  "status-differs":
    "their HTTP status says failure (such as 500), but the answer's statusCode is 0. Find out whether your endpoint moved the money",
};

interface TapWatch {
  /** Logs a problem that is not about a single callback; each text at most once a minute. */
  warn(what: string, error?: unknown): void;
  /** Logs the path of a request that is not recorded, cleaned by `showTarget`; each path once. */
  noteOther(path: string): void;
  /** Logs callbacks that were not recorded since the last call. Call it about every second. */
  check(): void;
}

export function openTapWatch(log: Log, tally: Tally, now: () => Instant): TapWatch {
  const warnedAt = new Map<string, Instant>();
  const others = new Set<string>();
  const reported = { ...tally.lost };
  let reportedAt = Number.NEGATIVE_INFINITY;
  let losingSince: Instant | null = null;
  return {
    warn: (what, error) => {
      if (now() - (warnedAt.get(what) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
      warnedAt.set(what, now());
      log.warn(error === undefined ? {} : { error: describeError(error) }, what);
    },
    noteOther: (path) => {
      if (others.size === MOST_OTHER_PATHS || others.has(path)) return;
      others.add(path);
      log.warn(
        { path },
        "requests to this path are passed on but not recorded: only POST requests to the path of a known callback are recorded",
      );
    },
    check: () => {
      const fresh = LOSSES.filter((loss) => tally.lost[loss] > reported[loss]);
      if (fresh.length === 0) {
        if (losingSince === null || now() - reportedAt < AGAIN_MS) return;
        log.warn(
          { unrecorded: sumOfLost(tally) },
          `callbacks are recorded again. Some callbacks of the last ${showDuration(now() - losingSince)} were not recorded: import them from your own log (recon ledger import)`,
        );
        losingSince = null;
        return;
      }
      losingSince ??= now();
      if (now() - reportedAt < AGAIN_MS) return;
      reportedAt = now();
      for (const loss of fresh) {
        const count = tally.lost[loss] - reported[loss];
        reported[loss] = tally.lost[loss];
        log.error(
          { reason: loss, count, unrecorded: sumOfLost(tally) },
          `callbacks were answered and not recorded: ${WHY[loss]}. Their bets will look missing in the ledger: import them from your own log (recon ledger import)`,
        );
      }
    },
  };
}
