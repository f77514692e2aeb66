/** How the two sides of one written round are, throughout the round. */

import type { Offset } from "../../../src/sandbox/world/provider-side.ts";
import type { Random } from "../../../src/sandbox/world/random.ts";

export interface ScriptStyle {
  readonly txnIdIs: "betId" | "id";
  readonly offset: Offset;
  /** callbacks arrive in the order in which they occurred */
  readonly inOrder: boolean;
  /** the ledger does not say what was moved: it was what the items ask for */
  readonly silentWallet: boolean;
  readonly latestReport: boolean;
  readonly prompt: boolean;
  /** what an item says that acts on one transaction: what its line says, the older word for it, or nothing */
  readonly ownType: "as written" | "BY_BET" | "nothing";
  /** a settle of a bet that was placed says that it is not single-state */
  readonly flagsPlaced: boolean;
}

export function drawStyle(random: Random): ScriptStyle {
  return {
    txnIdIs: random.pick(["betId", "id"]),
    offset: random.pick<Offset>(["+07:00", "+07:00", "+07:00", "Z", "+00:00", "-05:00", "+05:30"]),
    inOrder: !random.oneIn(8),
    silentWallet: random.oneIn(4),
    latestReport: random.oneIn(10),
    prompt: false,
    ownType: random.pick(["as written", "as written", "BY_BET", "nothing"]),
    flagsPlaced: random.oneIn(3),
  };
}
