/**
 * The tap (docs/tap.md): stands in front of the operator's own callback endpoint, passes everything unchanged, and
 * records each callback with its answer.
 */

import { type Instant, systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import { type JournalSettings, openJournal } from "./journal.ts";
import { type ProxySettings, startProxy } from "./proxy.ts";
import { openTally, type Tally } from "./tally.ts";
import { openTapWatch } from "./watch.ts";

/** The folder of the journal exists, and no other tap uses it. */
export interface TapSettings extends ProxySettings, JournalSettings {}

export interface Tap {
  /** where it listens: "http://127.0.0.1:3001" */
  readonly url: string;
  readonly tally: Tally;
  /** the size of the journal, with files that are stored and not removed yet */
  readonly journalBytes: () => number;
  /** Waits at most `longestMs` for the answers of requests under way. Resolves when the journal has all of them. */
  close(longestMs: number): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;

/**
 * Starts to listen. `storeJournal` makes entries of what it records.
 * @param now says when a callback is received
 * @throws ReconError `listen-failed` where the port is taken
 */
export async function startTap(settings: TapSettings, log: Log, now: () => Instant): Promise<Tap> {
  const tally = openTally();
  const watch = openTapWatch(log, tally, systemClock.now);
  const journal = await openJournal(settings, tally, (error) => {
    watch.warn("the journal of the tap cannot be written; callbacks pass all the same", error);
  });
  const proxy = await startProxy(
    {
      now,
      tally,
      kept: { bytes: 0 },
      record: (answered) => journal.record(answered),
      onOther: watch.noteOther,
      onUnreadable: (reason) => watch.warn(`a message cannot be followed: ${reason}`),
      onUnreachable: (error) => watch.warn("the target cannot be reached; its caller got 502", error),
      onStranger: (address) =>
        watch.warn(
          "a connection was closed",
          new Error(`its address ${address ?? "(none)"} is not in CALLBACK_ALLOWED_IPS`),
        ),
      onTrouble: (error) => watch.warn("the tap could not take a connection", error),
    },
    settings,
  ).catch(async (error: unknown) => {
    await journal.close();
    throw error;
  });
  const timer = setInterval(watch.look, LOOK_EVERY_MS);
  return {
    url: proxy.url,
    tally,
    journalBytes: () => journal.bytes,
    close: async (longestMs) => {
      await proxy.close(longestMs);
      clearInterval(timer);
      await journal.close();
      watch.look();
    },
  };
}
