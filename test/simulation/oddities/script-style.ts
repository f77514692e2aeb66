/** The habits of both sides, which stay the same throughout a written round. */

import type { Offset } from "../../../src/sandbox/world/provider-side.ts";
import type { Random } from "../../../src/sandbox/world/random.ts";
import { oneIn } from "./catalogue.ts";

export interface ScriptStyle {
  readonly txnIdIs: "betId" | "id";
  readonly offset: Offset;
  /** callbacks arrive in their order */
  readonly inOrder: boolean;
  /** the ledger does not say `moved`, because the wallet moved the items' amounts */
  readonly silentWallet: boolean;
  readonly latestReport: boolean;
  readonly prompt: boolean;
  /** the transactionType of an item for one transaction: that of its line, the older word, or nothing */
  readonly ownType: "as written" | "BY_BET" | "nothing";
  /** the ledger keeps whole seconds, and its ids are in no order */
  readonly wholeSeconds: boolean;
  /** the settlement of a placed bet says that it is not single-state */
  readonly flagsPlaced: boolean;
}

export function drawStyle(random: Random): ScriptStyle {
  return {
    txnIdIs: random.pick(["betId", "id"]),
    offset: random.pick<Offset>(["+07:00", "+07:00", "+07:00", "Z", "+00:00", "-05:00", "+05:30"]),
    inOrder: !random.oneIn(oneIn("out-of-order")),
    silentWallet: random.oneIn(oneIn("silent-wallet")),
    latestReport: random.oneIn(oneIn("latest-report")),
    prompt: false,
    wholeSeconds: random.oneIn(oneIn("whole-seconds")),
    ownType: random.pick(["as written", "as written", "BY_BET", "nothing"]),
    flagsPlaced: random.oneIn(oneIn("flagged-placed")),
  };
}
