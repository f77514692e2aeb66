/** Logs what goes wrong with the tap: when it begins, and every minute while it lasts. */

import { type Instant, showDuration } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import { LOSSES, type Loss, sumOfLost, type Tally } from "./tally.ts";

const AGAIN_MS = 60_000;
const MOST_OTHER_PATHS = 20;

const WHY: Readonly<Record<Loss, string>> = {
  "journal-full": "the journal has reached its limit. Bring PostgreSQL back, or give --journal-mb more",
  "disk-error": "the journal cannot be written. Make room on its disk, or mend it",
  "disk-slow": "the disk of the journal stands still. Mend it",
  "too-large": "a body is larger than 1 MiB, or all bodies under way are larger than 128 MiB together",
  unreadable:
    "the tap could not read one of their messages; its own line says why. Mend the caller or your endpoint",
  "unknown-path":
    "their path names no callback, but the answer says that money moved. If it is a new callback, it needs a newer version",
  "status-differs":
    "their HTTP status says failure (such as 500), but the answer's statusCode is 0. Find out whether your endpoint moved the money",
};

export interface TapWatch {
  /** Logs a problem that concerns no single callback; each text at most once a minute. */
  warn(what: string, error?: unknown): void;
  /** Logs the path of a request that is not recorded, as `showTarget` has cleaned it; each path once. */
  noteOther(path: string): void;
  /** Logs what was not recorded since the last call; to be called about every second. */
  look(): void;
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
        "requests to this path pass, and are not recorded: only POST requests to the path of a known callback are",
      );
    },
    look: () => {
      const fresh = LOSSES.filter((loss) => tally.lost[loss] > reported[loss]);
      if (fresh.length === 0) {
        if (losingSince === null || now() - reportedAt < AGAIN_MS) return;
        log.warn(
          { unrecorded: sumOfLost(tally) },
          `callbacks are recorded again. Of the ${showDuration(now() - losingSince)} before, some were not: import them from your own log (recon ledger import)`,
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
          `callbacks were answered and not recorded: ${WHY[loss]}. Their bets will look as if they were missing in the ledger: import them from your own log (recon ledger import)`,
        );
      }
    },
  };
}
