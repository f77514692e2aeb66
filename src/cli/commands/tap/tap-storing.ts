/** Runs the thread that stores the tap's journal, and starts it again if it ends. */

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../../clock.ts";
import { describeError } from "../../../errors.ts";
import type { StoringOrder, StoringState } from "../../../flows/tap/store-tapped.ts";
import type { Log } from "../../../log.ts";
import { standardError } from "../../../standard-error.ts";
import type { StoredCounts } from "../../../tap/store-journal.ts";

/** What has been stored since the start, and how it goes. */
type StoredSoFar = Omit<StoringState, "torn" | "lines" | "stored"> & {
  readonly stored: StoredCounts;
  readonly torn: number;
};

export interface Storing {
  state(): StoredSoFar;
  /** Stores the rest of the journal, to which nothing is written any more. */
  close(): Promise<void>;
}

const AGAIN_MS = 1_000;
/** In the package the program's files are compiled. */
const THREAD = new URL(`./tap-thread${extname(import.meta.filename)}`, import.meta.url);

export function startStoring(order: StoringOrder, log: Log): Storing {
  let state: StoredSoFar = {
    stored: { added: 0, known: 0, changed: 0, skipped: 0, rejected: 0 },
    torn: 0,
    storedTo: null,
    isCaughtUp: false,
    problem: null,
    aheadMs: null,
  };
  let isClosing = false;
  let thread = begin();

  function begin(): Worker {
    const started = new Worker(THREAD, { workerData: order });
    started.on("message", (news: StoringState | { readonly line: string }) => {
      if ("line" in news) {
        standardError.write(news.line);
        return;
      }
      const { stored, torn, storedTo } = state;
      const sum = (name: keyof StoredCounts) => stored[name] + news.stored[name];
      state = {
        ...news,
        storedTo: news.storedTo ?? storedTo,
        torn: torn + news.torn,
        stored: {
          added: sum("added"),
          known: sum("known"),
          changed: sum("changed"),
          skipped: sum("skipped"),
          rejected: sum("rejected"),
        },
      };
    });
    started.on("error", (error) => {
      log.error({ error: describeError(error) }, "storing the tap's journal broke off; it begins again");
    });
    started.once("exit", async () => {
      if (isClosing) return;
      state = { ...state, isCaughtUp: false, problem: "it broke off and begins again" };
      await systemClock.sleep(AGAIN_MS);
      if (!isClosing) thread = begin();
    });
    return started;
  }

  return {
    state: () => state,
    close: async () => {
      isClosing = true;
      const ended = new Promise((resolve) => thread.once("exit", resolve));
      thread.postMessage("finish");
      await ended;
    },
  };
}
