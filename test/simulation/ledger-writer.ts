/**
 * How the operator of a played world keeps its ledger: with this program's writer, or with a program of its own in plain SQL.
 */

import type { Instant } from "../../src/clock.ts";
import type { FlowContext } from "../../src/flows/context.ts";
import { deliverCallbacks } from "../../src/flows/ledger/deliver-callbacks.ts";
import { followLedger } from "../../src/flows/ledger/follow-ledger.ts";
import type { MismatchKind } from "../../src/mismatch.ts";
import { createRandom, hashText } from "../../src/sandbox/world/random.ts";
import type { World } from "../../src/sandbox/world/world.ts";
import { movesAnswered } from "./answered-moves.ts";
import { openImportWriter } from "./import-writer.ts";
import { OperatorLedger } from "./operator-ledger.ts";
import { TappedLedger } from "./tapped-ledger.ts";

/**
 * own: this program's writer; insert: plain SQL into callback_entries; relation: plain SQL into a table of the operator that
 * the worker follows; changing: the same, and some rows are wrong at first and corrected in place; import-entries,
 * import-callbacks: by files that overlap, with broken lines in between; tap: the operator has no ledger, and its
 * callbacks pass through the tap.
 */
export const LEDGERS = [
  "own",
  "insert",
  "relation",
  "changing",
  "import-entries",
  "import-callbacks",
  "tap",
] as const;
export type LedgerHabit = (typeof LEDGERS)[number];

/** The operator's own relation. */
const RELATION = "operator_ledger";

/** The settings that say how the ledger is read. */
export function ledgerSettings(habit: LedgerHabit): object {
  // A transaction may commit this long after its rows were received.
  const followed = { relation: RELATION, lookback: "PT1H" };
  if (habit === "relation") return followed;
  return habit === "changing" ? { ...followed, rowsChange: "replace" } : {};
}

/** Whether a mismatch of this kind can be seen: the answers' balances say what moved, and cannot differ from it. */
export function canShow(habit: LedgerHabit, kind: MismatchKind): boolean {
  return habit !== "tap" || kind !== "balance-differs";
}

export interface LedgerWriter {
  /**
   * Writes what was received before `now`, and lets the worker follow it if the setting says so.
   * @param isSoon whether the next call comes before callbackGrace is over: some rows may then wait for it
   */
  deliver(context: FlowContext, now: Instant, isSoon: boolean): Promise<void>;
  close(): Promise<void>;
}

/** @param begin of the world */
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
  if (habit === "tap") {
    const tapped = new TappedLedger(
      databaseUrl,
      movesAnswered(world.entriesReceived({ from: 0, to: world.quietAt() + 1 })),
    );
    await tapped.open();
    let passedTo = begin;
    return {
      deliver: async (_context, now) => {
        const entries = world.entriesReceived({ from: passedTo, to: now });
        passedTo = now;
        await tapped.write(entries);
      },
      close: () => tapped.close(),
    };
  }
  const random = createRandom(hashText(`${world.seed}|ledger`));
  if (habit === "import-entries" || habit === "import-callbacks") {
    const format = habit === "import-entries" ? "entries" : "callbacks";
    return { ...openImportWriter(format, world, begin, random), close: async () => {} };
  }
  const isFollowed = habit !== "insert";
  const ledger = new OperatorLedger(databaseUrl, isFollowed ? RELATION : "callback_entries", random);
  if (isFollowed) await ledger.create();
  let writtenTo = begin;
  return {
    deliver: async (context, now, isSoon) => {
      await ledger.catchUp();
      const entries = world.entriesReceived({ from: writtenTo, to: now });
      // The provider's record of an earlier bet may have been seen in the last call: its grace is over now.
      const since = isSoon ? writtenTo : Number.POSITIVE_INFINITY;
      writtenTo = now;
      await ledger.write(entries, { mayWaitSince: since, isCorrected: habit === "changing" });
      if (isFollowed) await followLedger(context, new AbortController().signal);
    },
    close: () => ledger.close(),
  };
}
