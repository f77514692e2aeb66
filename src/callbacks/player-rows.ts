/** Reads the rows that were found for a request. */

import type { LedgerStatus } from "../bet.ts";
import type { TextRow } from "../db/pipelined-connection.ts";
import type { BetState } from "../ledger/bet-state.ts";
import { type Amount, parseAmount } from "../money.ts";
import type { PlayerState } from "./judge.ts";

export interface LockedPlayer {
  readonly state: PlayerState;
  /** the number of this request, higher than the numbers of the player's earlier requests */
  readonly number: string;
  /** the callback to which the signature was sent before; null: none, or not asked */
  readonly signedFor: string | null;
  /** has the time of the reading (`CLOCK`) */
  readonly row: TextRow;
}

/** The rows that were found for one request. */
export interface FoundRows {
  /** of the request's currency */
  readonly wallet: TextRow | undefined;
  /** of the request itself */
  readonly first: TextRow;
  /** of its items */
  readonly own: readonly TextRow[];
  readonly inRounds: readonly TextRow[];
  readonly taken: readonly TextRow[];
}

export function playerOf({ wallet, first, own, inRounds, taken }: FoundRows): LockedPlayer {
  const bets = new Map<number, TextRow>();
  for (const row of [...own, ...inRounds]) if (row["rowId"] != null) bets.set(Number(row["rowId"]), row);
  const refsIn = (column: string) => new Set(own.flatMap((row) => row[column] ?? []));
  return {
    number: textOf(first, "number"),
    signedFor: first["signedFor"] ?? null,
    row: first,
    state: {
      balance: wallet === undefined ? null : amountOf(wallet, "balance"),
      earlier: earlierOf(first),
      bets: [...bets].sort(([a], [b]) => a - b).map(([, row]) => betOf(row)),
      tombstones: { bets: refsIn("betTombstone"), rounds: refsIn("roundTombstone") },
      takenRefs: new Set(taken.map((row) => textOf(row, "ref"))),
      deleted: {
        before: first["deletedBefore"] == null ? null : Number(first["deletedBefore"]),
        txnIds: refsIn("deletedTxnId"),
      },
    },
  };
}

function earlierOf(row: TextRow): PlayerState["earlier"] {
  const { digest = null } = row;
  if (digest === null) return null;
  return {
    digest,
    answeredAt: row["answeredAt"] == null ? null : Number(row["answeredAt"]),
    balanceBefore: amountOf(row, "balanceBefore"),
    balanceAfter: amountOf(row, "balanceAfter"),
  };
}

function betOf(row: TextRow): BetState {
  return {
    txnId: textOf(row, "txnId"),
    currency: textOf(row, "currency"),
    roundId: row["roundId"] ?? null,
    status: textOf(row, "status") as LedgerStatus,
    stake: amountOf(row, "stake"),
    debited: amountOf(row, "debited"),
    wasDebited: flagOf(row, "wasDebited"),
    settlement: amountOf(row, "settlement"),
    reward: amountOf(row, "reward"),
    placed: flagOf(row, "placed"),
    waiting: flagOf(row, "waiting"),
    tip: flagOf(row, "tip"),
    rewardOnly: flagOf(row, "rewardOnly"),
    endRound: flagOf(row, "endRound"),
    payoutReturned: flagOf(row, "payoutReturned"),
    said: JSON.parse(textOf(row, "said")) as string[],
  };
}

export function textOf(row: TextRow, column: string): string {
  const text = row[column];
  if (text == null) throw new Error(`${column} is missing`);
  return text;
}

function amountOf(row: TextRow, column: string): Amount {
  return parseAmount(textOf(row, column), column);
}

function flagOf(row: TextRow, column: string): boolean {
  return textOf(row, column) === "t";
}
