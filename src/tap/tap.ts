/**
 * The tap (docs/tap.md): a proxy in front of the operator's own callback endpoint that passes everything on unchanged, and
 * records each callback with its answer.
 */

import { type Instant, systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import { type JournalSettings, openJournal } from "./journal.ts";
import { type ProxySettings, startProxy } from "./proxy.ts";
import { openTally, openTapWatch, type Tally } from "./tally.ts";

/** The journal's folder must exist, and no other tap may use it. */
export interface TapSettings extends ProxySettings, JournalSettings {}

export interface Tap {
  /** the address it listens on: "http://127.0.0.1:3001" */
  readonly url: string;
  readonly tally: Tally;
  /** the size of the journal, including files that are stored but not removed yet */
  readonly journalBytes: () => number;
  /** Waits at most `longestMs` for the answers of requests in flight. Resolves when the journal has all of them. */
  close(longestMs: number): Promise<void>;
}

const CHECK_EVERY_MS = 1_000;

/**
 * Starts to listen. `storeJournal` turns the recorded callbacks into entries.
 * @param now the clock for the time of receipt
 * @throws ReconError `listen-failed` if the port is in use
 */
export async function startTap(settings: TapSettings, log: Log, now: () => Instant): Promise<Tap> {
  const tally = openTally();
  const watch = openTapWatch(log, tally, systemClock.now);
  const journal = await openJournal(settings, tally, (error) => {
    watch.warn("the tap's journal cannot be written; callbacks are still passed on", error);
  });
  const proxy = await startProxy(
    {
      now,
      tally,
      kept: { bytes: 0 },
      record: (answered) => journal.record(answered),
      onOther: watch.noteOther,
      onUnreadable: (reason) => watch.warn(`a message cannot be read: ${reason}`),
      onUnreachable: (error) => watch.warn("the target cannot be reached; the caller got 502", error),
      onRefused: (address) =>
        watch.warn(
          "a connection was closed",
          new Error(`its address ${address ?? "(none)"} is not in CALLBACK_ALLOWED_IPS`),
        ),
      onTrouble: (error) => watch.warn("the tap could not accept a connection", error),
    },
    settings,
  ).catch(async (error: unknown) => {
    await journal.close();
    throw error;
  });
  const timer = setInterval(watch.check, CHECK_EVERY_MS);
  return {
    url: proxy.url,
    tally,
    journalBytes: () => journal.bytes,
    close: async (longestMs) => {
      await proxy.close(longestMs);
      clearInterval(timer);
      await journal.close();
      watch.check();
    },
  };
}
