/** Marks reopened mismatches for another comparison, because their differences may no longer exist. */

import type { Instant } from "../../clock.ts";
import type { Query } from "../../db/client.ts";
import { readBetIds } from "../../diff/session-store.ts";
import { type DiffMark, putMarks } from "../../diff/store.ts";
import { readTxnIds } from "../../ledger/store.ts";
import type { ChosenMismatch } from "../../mismatches/action-store.ts";

export async function markReopened(
  tx: Query,
  chosen: readonly ChosenMismatch[],
  dueAt: Instant,
): Promise<void> {
  for (const [productId, own] of Map.groupBy(chosen, (one) => one.productId)) {
    const marks: (DiffMark & { readonly dueAt: number })[] = [];
    for (const one of own) {
      const { username, roundId } = one;
      const betRef = roundId === null ? (one.transactionId ?? one.betId ?? (await refWithin(tx, one))) : null;
      if (roundId !== null || betRef !== null) marks.push({ username, roundId, betRef, dueAt });
    }
    await putMarks(tx, productId, marks);
  }
}

/** The first bet of a session, or of a request with several items, for the mark. */
async function refWithin(tx: Query, one: ChosenMismatch): Promise<string | null> {
  const { kind, productId, username, occurredAt } = one;
  if (kind !== "session-differs" && kind !== "balance-differs") return null;
  const moment = { from: occurredAt, to: occurredAt };
  const [txnId] = await readTxnIds(tx, productId, username, moment, 1);
  return txnId ?? (await readBetIds(tx, productId, username, moment))[0] ?? null;
}
