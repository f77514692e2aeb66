/** How the operator of a played world keeps its ledger: by our own writer, or by a program of its own with plain SQL. */

import type { Instant } from "../../src/clock.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { deliverCallbacks } from "../../src/flows/deliver-callbacks.ts";
import { followLedger } from "../../src/flows/follow-ledger.ts";
import { createRandom, hashText } from "../../src/sandbox/world/random.ts";
import type { World } from "../../src/sandbox/world/world.ts";
import { OperatorLedger } from "./operator-ledger.ts";

/**
 * own: by our writer; insert: plain SQL into callback_entries; relation: plain SQL into a table of the operator's own
 * that is followed; changing: the same, and some rows are wrong at first and corrected in place.
 */
export const LEDGERS = ["own", "insert", "relation", "changing"] as const;
export type LedgerHabit = (typeof LEDGERS)[number];

/** The relation of the operator's own. */
const RELATION = "operator_ledger";

/** What of the config file says how the ledger is read. */
export function ledgerSettings(habit: LedgerHabit): object {
  // A transaction may commit this long after its rows were received.
  const followed = { relation: RELATION, lookback: "PT1H" };
  if (habit === "relation") return followed;
  return habit === "changing" ? { ...followed, rowsChange: "replace" } : {};
}

export interface LedgerWriter {
  /**
   * Writes what was received before `now`, and has the worker read it where it must be followed.
   * @param isSoon whether the next time comes before callbackGrace is over: some may then come with it
   */
  deliver(context: FlowContext, now: Instant, isSoon: boolean): Promise<void>;
  close(): Promise<void>;
}

/** @param begin where the world begins */
export async function openLedgerWriter(
  habit: LedgerHabit,
  databaseUrl: string,
  world: World,
  begin: Instant,
): Promise<LedgerWriter> {
  if (habit === "own") {
    return {
      deliver: async (context, now) => {
        await deliverCallbacks(context, world, begin, now);
      },
      close: async () => {},
    };
  }
  const isFollowed = habit !== "insert";
  const random = createRandom(hashText(`${world.seed}|ledger`));
  const ledger = new OperatorLedger(databaseUrl, isFollowed ? RELATION : "callback_entries", random);
  if (isFollowed) await ledger.create();
  let writtenTo = begin;
  return {
    deliver: async (context, now, isSoon) => {
      await ledger.catchUp();
      const entries = world.entriesReceived({ from: writtenTo, to: now });
      // Of what occurred before, the provider's record may have been seen the last time: its grace is over now.
      const since = isSoon ? writtenTo : Number.POSITIVE_INFINITY;
      writtenTo = now;
      await ledger.write(entries, { mayWaitSince: since, isCorrected: habit === "changing" });
      if (isFollowed) await followLedger(context, new AbortController().signal);
    },
    close: () => ledger.close(),
  };
}
