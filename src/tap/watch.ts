/** Says in the log what goes wrong with the tap, once when it begins and every minute while it lasts. */

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
  "too-large": "their bodies, or too many at once, are larger than a callback's can be",
  unreadable:
    "what passed on their connections is not HTTP/1.1 as it must be. Look at who sends and answers there",
};

export interface TapWatch {
  /** a problem that is no callback's: each text once in a minute */
  warn(what: string, error: unknown): void;
  /** the path of a request that is no callback, each once */
  noteOther(path: string): void;
  /** Reports what was lost since the last time; to be called every second or so. */
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
      log.warn({ error: describeError(error) }, what);
    },
    noteOther: (path) => {
      if (others.size === MOST_OTHER_PATHS || others.has(path)) return;
      others.add(path);
      log.warn(
        { path: path.slice(0, 200) },
        "requests to this path pass, and are not recorded: it names no callback",
      );
    },
    look: () => {
      const fresh = LOSSES.filter((loss) => tally.lost[loss] > reported[loss]);
      if (fresh.length === 0) {
        if (losingSince === null || now() - reportedAt < AGAIN_MS) return;
        log.warn(
          { unrecorded: sumOfLost(tally) },
          `callbacks are recorded again; those of ${showDuration(now() - losingSince)} before may miss. Import them (recon ledger import)`,
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
          `callbacks were answered and not recorded: ${WHY[loss]}. Their bets will look as if they were missing in the ledger: import them (recon ledger import)`,
        );
      }
    },
  };
}
