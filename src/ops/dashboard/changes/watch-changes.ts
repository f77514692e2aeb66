/** Looks for changes of the topics while pages are open: one check serves all of them. */

import { setInterval } from "node:timers";
import { type Instant, systemClock } from "../../../clock.ts";
import { describeError } from "../../../errors.ts";
import type { FlowContext } from "../../../flows/context.ts";
import type { LiveTopic } from "../../http/layout.ts";
import { readChangeMarks } from "./change-store.ts";
import { findChanged, type KnownMarks, LIVE_TOPICS, type Marks } from "./what-changed.ts";

const CHECK_EVERY_MS = 1_000;

/** A check takes milliseconds. After this, the database counts as unreadable. */
const LONGEST_CHECK_MS = 10_000;

/** A page does without marks that take longer: it then refreshes once more. */
const LONGEST_WAIT_MS = 500;

interface Listener {
  onChanged(changed: ReadonlySet<LiveTopic>): void;
  /** The database can be read again, or no longer. */
  onReadable(): void;
}

/** Checks for changes while there are listeners. What the last check found stays known afterwards. */
export function watchChanges({ sql, clock, log }: FlowContext) {
  const listeners = new Set<Listener>();
  let known: KnownMarks | null = null;
  let knownAt: Instant = 0;
  let looking: { readonly ended: Promise<void>; readonly since: Instant } | null = null;
  let isFailing = false;
  let wasReadable = true;
  const checkOnce = async () => {
    try {
      const wasBlind = known === null && isFailing;
      const marks = await readChangeMarks(sql, clock.now());
      // The interval uses real time.
      knownAt = systemClock.now();
      const found = findChanged(known, marks, knownAt);
      known = found.known;
      isFailing = false;
      const changed = wasBlind ? new Set(LIVE_TOPICS) : found.changed;
      if (changed.size > 0) for (const { onChanged } of listeners) onChanged(changed);
    } catch (error) {
      // Pages stay open and get changes again when the database is back.
      if (!isFailing) log.warn(`open pages cannot be notified of changes: ${describeError(error)}`);
      isFailing = true;
    }
  };
  const check = () => {
    looking ??= {
      ended: checkOnce().finally(() => {
        looking = null;
        reportReadable();
      }),
      since: systemClock.now(),
    };
    return looking.ended;
  };
  const lookedFor = () => (looking === null ? 0 : systemClock.now() - looking.since);
  // A frozen database fails no check: the check does not end.
  const canRead = () => !isFailing && lookedFor() < LONGEST_CHECK_MS;
  const reportReadable = () => {
    if (canRead() === wasReadable) return;
    wasReadable = canRead();
    for (const { onReadable } of listeners) onReadable();
  };
  let timer: NodeJS.Timeout | null = null;
  const rest = () => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  // Each later change is found by the timer's next check.
  const isKnown = () => known !== null && (timer !== null || systemClock.now() - knownAt < CHECK_EVERY_MS);
  return {
    end: rest,
    /** Whether the last check read the database, and the present one is not overdue. */
    canRead,
    /** Resolves when the baseline is read: listeners that are added afterwards get every later change. */
    begin: async () => {
      if (!isKnown()) await check();
    },
    /**
     * Marks that hold no change that a reading begun afterwards could lack. They may lack changes.
     * @returns null: the database has not answered yet
     */
    readMarks: async (): Promise<Marks | null> => {
      // A check that is overdue delays no further page.
      if (!isKnown() && lookedFor() < LONGEST_WAIT_MS) {
        const limit = new AbortController();
        await Promise.race([check(), systemClock.sleep(LONGEST_WAIT_MS, limit.signal)]);
        limit.abort();
      }
      return known?.marks ?? null;
    },
    /** The marks after which listeners get every change; null: not known */
    marks: (): Marks | null => known?.marks ?? null,
    add(listener: Listener): () => void {
      listeners.add(listener);
      timer ??= setInterval(() => {
        void check();
        reportReadable();
      }, CHECK_EVERY_MS);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) rest();
      };
    },
  };
}
