/** Compares both sides of a world bet by bet, and shares nothing with the code that plants the faults. */

import Big from "big.js";
import type { BetRecord } from "../../../src/bet.ts";
import type { CallbackEntry } from "../../../src/callback.ts";
import type { StyleName } from "../../simulation/oddities/odd-plan.ts";

export interface AuditedDifference {
  readonly kind: string;
  readonly productId: string;
  readonly username: string;
  readonly betId: string | null;
  readonly transactionId: string | null;
  readonly roundId: string;
  readonly amountAtRisk: string;
}

interface AuditedSums {
  status: "open" | "settled" | "void";
  stake: Big;
  payout: Big;
  moved: Big;
  roundId: string;
  username: string;
}

/** The sums of the entries of one bet. */
function addUp(entries: readonly CallbackEntry[]): AuditedSums {
  const [first] = entries;
  if (first === undefined) throw new Error("a bet has entries");
  const bet: AuditedSums = {
    status: "open",
    stake: Big("0"),
    payout: Big("0"),
    moved: Big("0"),
    roundId: String(first.roundId),
    username: first.username,
  };
  for (const entry of entries) {
    bet.moved = bet.moved.plus(entry.moved ?? "NaN");
    if (entry.callback === "placeBets" || entry.callback === "adjustBets") {
      bet.stake = Big(entry.betAmount ?? "NaN");
    }
    if (entry.callback === "settleBets" || entry.callback === "winRewards") {
      bet.payout = bet.payout.plus(entry.payoutAmount ?? "NaN");
      bet.status = "settled";
    }
    if (entry.callback === "cancelBets") bet.status = "void";
  }
  return bet;
}

/** Every difference between the two sides of one product, in no particular order. */
export function audit(
  style: StyleName,
  productId: string,
  records: readonly BetRecord[],
  entries: readonly CallbackEntry[],
): AuditedDifference[] {
  const bets = new Map(
    [...Map.groupBy(entries, ({ txnId }) => txnId)].map(([txnId, of]) => [txnId, addUp(of)]),
  );
  const recordOf = new Map(records.map((record) => [style === "sport" ? record.id : record.betId, record]));
  return [...new Set([...bets.keys(), ...recordOf.keys()])].flatMap((txnId) => {
    const [bet, record] = [bets.get(txnId), recordOf.get(txnId)];
    const kind = kindOf(bet, record);
    if (kind === null) return [];
    const expected = record?.betStatus === "SETTLED" ? record.payout.minus(record.stake) : Big("0");
    return {
      kind,
      productId,
      username: bet?.username ?? record?.username ?? "",
      betId: record?.betId ?? null,
      transactionId: bet === undefined ? null : txnId,
      roundId: bet?.roundId ?? record?.roundId ?? "",
      amountAtRisk: (bet?.moved ?? Big("0")).minus(expected).abs().toFixed(),
    };
  });
}

function kindOf(bet: AuditedSums | undefined, record: BetRecord | undefined): string | null {
  if (bet === undefined) return "missing-in-ledger";
  if (record === undefined) return "missing-at-provider";
  const status = { OPEN: "open", UNSETTLED: "open", SETTLED: "settled", VOID: "void" }[record.betStatus];
  if (bet.status === "open" && status !== "open") return "missing-settlement";
  if (bet.status !== status) return "status-differs";
  if (bet.username !== record.username || bet.roundId !== record.roundId) return "someone-else's";
  if (status === "void") return bet.moved.eq("0") ? null : "net-differs";
  if (!bet.stake.eq(record.stake)) return "stake-differs";
  if (!bet.payout.eq(record.payout)) return "payout-differs";
  return bet.moved.eq(record.payout.minus(record.stake)) ? null : "net-differs";
}

/** Whether a player's round can pass as agreed: ended on both sides, with equal sums of all that is not void. */
export function roundAgrees(records: readonly BetRecord[], entries: readonly CallbackEntry[]): boolean {
  const bets = [...Map.groupBy(entries, ({ txnId }) => txnId).values()].map(addUp);
  if (bets.length === 0 || records.length === 0) return false;
  const isRunning =
    bets.some(({ status }) => status === "open") || records.some((record) => record.betStatus === "OPEN");
  if (isRunning) return false;
  const sum = (amounts: Big[]) => amounts.reduce((total, amount) => total.plus(amount), Big("0"));
  const counted = bets.filter(({ status }) => status !== "void");
  const shown = records.filter(({ betStatus }) => betStatus !== "VOID");
  return (
    sum(counted.map(({ stake }) => stake)).eq(sum(shown.map(({ stake }) => stake))) &&
    sum(counted.map(({ payout }) => payout)).eq(sum(shown.map(({ payout }) => payout)))
  );
}
