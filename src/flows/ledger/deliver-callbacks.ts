/** Plays the operator for the sandbox: writes the callbacks of its world to the ledger. */

import type { Instant } from "../../clock.ts";
import { appendEntries, readLedgerExtent } from "../../ledger/store.ts";
import type { World } from "../../sandbox/world/world.ts";
import { cutIntoPieces } from "../../window.ts";
import type { FlowContext } from "../context.ts";

const PIECE_MS = 10 * 60_000;

/**
 * Writes the callbacks that were received before `until` and are not in the ledger yet.
 * @param from where to begin if the ledger has no entries
 * @returns the number of new entries
 */
export async function deliverCallbacks(
  context: FlowContext,
  world: World,
  from: Instant,
  until: Instant,
): Promise<number> {
  const { lastReceivedAt } = await readLedgerExtent(context.sql);
  let added = 0;
  for (const piece of cutIntoPieces({ from: lastReceivedAt ?? from, to: until }, PIECE_MS)) {
    added += await appendEntries(context.sql, world.entriesReceived(piece));
  }
  return added;
}
