/**
 * What the oracle is given, and its arithmetic. It takes its rules from design.md and docs/ alone and imports nothing of the
 * program: a second opinion, not a copy.
 */

type Word =
  | "entry_id"
  | "callback"
  | "request_id"
  | "product_id"
  | "username"
  | "currency"
  | "txn_id"
  | "status";
type Amount = "bet_amount" | "payout_amount" | "moved" | "balance_before" | "balance_after";

/** A row of the ledger as the operator wrote it (design 3.4). Amounts are decimal text, times are milliseconds. */
export type LedgerRow = Readonly<
  Record<Word, string> &
    Record<Amount | "round_id" | "transaction_type", string | null> &
    Record<"single_state" | "end_round" | "skip_balance_update", boolean | null> &
    Record<"occurred_at" | "received_at", number>
>;

type Field = "id" | "betId" | "username" | "currency" | "accountingDate" | "updatedDate" | "stake" | "payout";

/** An item of `txns` in an answer of betTransactionsV2, every value as text. */
export type ListedRecord = Readonly<
  Record<Field | "productId" | "roundId" | "betStatus" | "payoutStatus", string>
>;

/** The settings of a product (design 3.3), durations in milliseconds. */
export type ProductSettings = Readonly<
  Record<"productId" | "walletMode" | "settlement" | "lostBets", string> &
    Record<"singleState" | "openBetsListed" | "nominalStakes", boolean>
> & {
  readonly matchBy: readonly string[];
  readonly stuckOpenAfter: number;
  readonly ledgerSince: number | null;
};

export interface Facts {
  readonly rows: readonly LedgerRow[];
  /** bets that a rejected row names */
  readonly rejected: readonly Pick<LedgerRow, "product_id" | "username" | "txn_id">[];
  /** as the provider lists them at the time of the judgement */
  readonly records: readonly ListedRecord[];
  /** records that were fetched at any time: one that is gone is told from one that never was */
  readonly onceListed: readonly ListedRecord[];
  readonly products: readonly ProductSettings[];
  readonly ledgerSince: number | null;
  /** whether every movement of a player's balance is in the ledger */
  readonly balances: "partial" | "complete";
  readonly sessionQuiet: number;
  /** by currency */
  readonly tolerance: Readonly<Record<string, string>>;
  readonly now: number;
  /** what changed later than this before `now` is not judged: the graces, and the time that the worker is given */
  readonly fresh: number;
}

const DECIMALS = 60;

/** Exact decimals: whole numbers of 10^-60. */
export function units(text: string | null): bigint {
  if (text === null) return 0n;
  const [, sign, whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d{1,60}))?$/.exec(text) ?? [];
  if (sign === undefined) throw new Error(`"${text}" is not an amount`);
  return BigInt(sign + whole + part.padEnd(DECIMALS, "0"));
}

export const abs = (value: bigint) => (value < 0n ? -value : value);
export const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n);
/** The amount up to which two sums of several amounts count as equal. */
export const tolerated = ({ tolerance }: Facts, currency: string, amounts: number) =>
  units(tolerance[currency] ?? "0") * BigInt(amounts);
/** An empty or UNKNOWN roundId is no round (4.3). */
export const named = (round: string | null) => (round === "" || round === "UNKNOWN" ? null : round);
/** In the order of ids, numbers compared as numbers: w-9 comes before w-10 (4.2). */
export const compareIds = new Intl.Collator("en", { numeric: true }).compare;
export const isFresh = ({ now, fresh }: Facts, at: number) => at > now - fresh;
/** The product's beginning of the ledger (3.4). */
export const sinceOf = (facts: Facts, { ledgerSince }: ProductSettings) =>
  ledgerSince ?? facts.ledgerSince ?? Math.min(...facts.rows.map(({ occurred_at }) => occurred_at));

export function groupBy<Value>(values: readonly Value[], keyOf: (value: Value) => string): Value[][] {
  const groups = new Map<string, Value[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return [...groups.values()];
}

/** Puts those together that are near each other, directly or over others. */
export function clustersOf<Value>(
  values: readonly Value[],
  isNear: (one: Value, other: Value) => boolean,
): Value[][] {
  let clusters: Value[][] = [];
  for (const value of values) {
    const near = clusters.filter((cluster) => cluster.some((other) => isNear(value, other)));
    clusters = [...clusters.filter((cluster) => !near.includes(cluster)), [...near.flat(), value]];
  }
  return clusters;
}
