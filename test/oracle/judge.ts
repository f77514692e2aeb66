/** Which mismatches must be open after a history, by sections 3.5 and 4.3 of the design and docs/mismatches.md. */

import { judgeBets } from "./bets.ts";
import {
  abs,
  type Facts,
  groupBy,
  isFresh,
  type LedgerRow,
  type ListedRecord,
  named,
  type ProductSettings,
  sinceOf,
  tolerated,
  units,
} from "./facts.ts";
import { isByRound, replay } from "./history.ts";
import { judgeNames } from "./names.ts";
import { judgeSessions } from "./sessions.ts";

type Id = string | null;

/** A mismatch that must be open. A list has the values that are right; the text does not decide an absent one. */
export interface Expected {
  readonly kind: string;
  readonly productId: string;
  readonly username: string;
  readonly currency?: string | undefined;
  readonly betIds?: readonly Id[] | undefined;
  readonly txns?: readonly Id[] | undefined;
  readonly rounds?: readonly Id[] | undefined;
  readonly atRisk?: readonly bigint[] | undefined;
  readonly effects?: readonly bigint[] | undefined;
}

export interface Judgement {
  /** one for each thing that is wrong. If the text has several readings, any of them may be open, as a whole */
  readonly claims: { readonly about: string; readonly readings: readonly (readonly Expected[])[] }[];
  /** what is not judged: mismatches of the player that name one of the ids may be open or not. A null: that name none */
  readonly undecided: { why: string; productId: string; username: string; ids: readonly Id[] }[];
  /** what moved outside of the comparison, by "product currency" */
  readonly outside: Map<string, bigint>;
  /** how many bets, records and sessions were judged */
  judged: number;
}

const CALLBACKS = [
  ...["placeBets", "settleBets", "cancelBets", "voidSettled", "winRewards", "adjustBets", "rollback"],
  ...["placeTips", "cancelTips", "adjustBalance"],
];
const FIRST_TIME = Date.parse("2010-01-01T00:00:00Z");
const DAY_MS = 86_400_000;

export function judge(given: Facts): Judgement {
  const judgement: Judgement = { claims: [], undecided: [], outside: new Map(), judged: 0 };
  const read = given.rows.map(accept);
  const rejected = [...given.rejected, ...given.rows.filter((_, index) => read[index] === null)];
  const facts = { ...given, rejected, rows: read.filter((row) => row !== null) };
  const compared = facts.products.filter(({ walletMode }) => walletMode !== "transfer");
  for (const product of compared) judgeProduct(facts, product, judgement);
  if (facts.balances === "complete") judgeChains(facts, judgement);
  const isCompared = ({ product_id }: LedgerRow) =>
    compared.some(({ productId }) => productId === product_id);
  leaveOutside(
    facts.rows.filter((row) => !isCompared(row)),
    judgement,
  );
  return judgement;
}

/** A row as it counts; null: it is rejected (3.4). Known words count in any case of letters. */
function accept(row: LedgerRow): LedgerRow | null {
  const { callback, transaction_type, moved, round_id, balance_before, balance_after } = row;
  const { bet_amount, payout_amount, single_state, end_round, ...required } = row;
  const optional = { transaction_type, moved, round_id, balance_before, balance_after };
  const lacks = Object.entries(required).some(([name, value]) => value === null && !(name in optional));
  const known = CALLBACKS.find((name) => name.toLowerCase() === callback?.toLowerCase());
  const isKnownType = [undefined, "", "BY_TRANSACTION", "BY_BET", "BY_ROUND"].includes(
    transaction_type?.toUpperCase(),
  );
  const isAmount = (text: string | null) => text === null || /^-?\d+(\.\d+)?$/.test(text);
  const areAmounts = [bet_amount, payout_amount, moved, balance_before, balance_after].every(isAmount);
  const isInTime = row.occurred_at >= FIRST_TIME && row.occurred_at <= row.received_at + DAY_MS;
  const isUsable = !lacks && isKnownType && areAmounts && isInTime;
  return isUsable && known !== undefined ? { ...row, callback: known } : null;
}

function judgeProduct(facts: Facts, product: ProductSettings, judgement: Judgement): void {
  const { settlement, productId } = product;
  const all = facts.rows.filter(({ product_id }) => product_id === productId);
  const rows = all.filter(({ occurred_at }) => occurred_at >= sinceOf(facts, product));
  leaveOutside(
    all.filter((row) => !rows.includes(row)),
    judgement,
  );
  const records = facts.records.filter((record) => record.productId === productId);
  judgeBalances(facts, rows, judgement);
  judgeRecords(facts, product, records, judgement);
  const moves = rows.filter(({ callback }) => callback === "adjustBalance");
  const others = rows.filter((row) => !moves.includes(row));
  const bets = groupBy(others, ({ username }) => username).flatMap((own) => replay(own, product));
  const isOfBet = ({ callback }: LedgerRow) => !/Tips$|^winRewards$/.test(callback);
  const free = bets.filter((bet) => !bet.rows.some((row) => isOfBet(row) || isByRound(row)));
  const real = bets.filter((bet) => !free.includes(bet));
  if (settlement === "bets") {
    leaveOutside(moves, judgement);
    const left = judgeNames(facts, product, bets, records, judgement);
    judgeBets(facts, product, left.bets, left.records, judgement);
  } else if (settlement === "session") {
    leaveOutside(others.filter(isOfBet), judgement);
    judgeSessions(
      facts,
      productId,
      rows.filter((row) => !isOfBet(row) || moves.includes(row)),
      records,
      judgement,
    );
  } else {
    // What has the ids or the round of one of the player's bets belongs to bets, everything else to sessions.
    const joins = (username: string, round: Id, ids: readonly string[]) =>
      real.some(
        (bet) =>
          bet.username === username && (ids.includes(bet.txn) || (round !== null && bet.round === round)),
      );
    const ofBets = records.filter((one) => joins(one.username, named(one.roundId), [one.id, one.betId]));
    const beside = free.filter(({ username, round }) => joins(username, round, []));
    judgeBets(facts, product, [...real, ...beside], ofBets, judgement);
    const rest = free.filter((bet) => !beside.includes(bet)).flatMap((bet) => bet.rows);
    judgeSessions(
      facts,
      productId,
      [...moves, ...rest],
      records.filter((one) => !ofBets.includes(one)),
      judgement,
    );
  }
}

/** WIN with payout 0, or LOSE with a payout above the stake. */
function judgeRecords(
  facts: Facts,
  { productId, settlement }: ProductSettings,
  records: readonly ListedRecord[],
  { claims, undecided }: Judgement,
): void {
  for (const { payoutStatus, payout, stake, username, betId, updatedDate } of records) {
    const isWin = payoutStatus === "WIN" && units(payout) === 0n;
    if (!isWin && !(payoutStatus === "LOSE" && units(payout) > units(stake))) continue;
    const one = { kind: "provider-inconsistent", productId, username, betIds: [betId], atRisk: [0n] };
    // Two readings in a product of sessions: "no bet-level kinds", and "on their own".
    const readings = settlement === "session" ? [[one], []] : [[one]];
    if (isFresh(facts, Date.parse(updatedDate)))
      undecided.push({ why: "fresh", productId, username, ids: [betId] });
    else claims.push({ about: `the record ${betId}`, readings });
  }
}

/** The balances of a request must differ by what its items moved. */
function judgeBalances(facts: Facts, rows: readonly LedgerRow[], { claims, undecided }: Judgement): void {
  const answered = rows.filter((row) => row.balance_before !== null && row.balance_after !== null);
  const requestOf = (row: LedgerRow) =>
    JSON.stringify([row.username, row.callback, row.request_id, row.balance_before, row.balance_after]);
  for (const request of groupBy(answered, requestOf)) {
    const [{ product_id: productId, username, currency, balance_before, balance_after }] = request as [
      LedgerRow,
    ];
    const txns = request.map(({ txn_id }) => txn_id);
    const isKnown = request.every(
      ({ moved, callback }) => moved !== null || /^(place|settle|win|adjustBal)/.test(callback),
    );
    const why = request.some((row) => isFresh(facts, row.received_at)) ? "fresh" : "balances without moves";
    if (!isKnown || why === "fresh") {
      undecided.push({ why, productId, username, ids: txns });
      continue;
    }
    const moved = request.map(movedAlone).reduce((a, b) => a + b);
    const wrong = abs(units(balance_after) - units(balance_before) - moved);
    if (wrong <= tolerated(facts, currency, request.length)) continue;
    const one = {
      kind: "balance-differs",
      productId,
      username,
      currency,
      txns: [...txns, null],
      atRisk: [wrong],
    };
    claims.push({ about: `the balances of ${txns.join(", ")}`, readings: [[one]] });
  }
}

/** If the ledger has every movement, each request of a player starts from what the one before it left, over all products. */
function judgeChains(facts: Facts, { claims, undecided }: Judgement): void {
  const inTime = facts.rows.toSorted((a, b) => a.occurred_at - b.occurred_at);
  for (const own of groupBy(inTime, ({ username, currency }) => JSON.stringify([username, currency]))) {
    const requests = groupBy(own, ({ callback, request_id }) => JSON.stringify([callback, request_id]));
    const isPlain = requests.every((rows) => rows.length === 1);
    const isSilent = own.some((row) => row.balance_before === null || row.balance_after === null);
    for (const [index, row] of own.entries()) {
      const before = own[index - 1];
      const { product_id: productId, username, currency, txn_id, balance_before } = row;
      const isOverlapping = before !== undefined && before.received_at >= row.occurred_at;
      const isNew = isFresh(facts, Math.max(row.received_at, before?.received_at ?? 0));
      if (!isPlain || isSilent || isOverlapping || isNew) {
        undecided.push({ why: "an unclear chain of balances", productId, username, ids: [txn_id] });
        continue;
      }
      const wrong = before === undefined ? 0n : abs(units(balance_before) - units(before.balance_after));
      if (wrong <= tolerated(facts, currency, 1)) continue;
      const kind = "balance-differs";
      const one = { kind, productId, username, currency, txns: [txn_id, null], atRisk: [wrong] };
      claims.push({ about: `the balance before ${txn_id}`, readings: [[one]] });
    }
  }
}

/** What moved for a row. If it does not say so, what its own amounts ask for. */
export function movedAlone({
  moved,
  skip_balance_update,
  callback,
  bet_amount,
  payout_amount,
}: LedgerRow): bigint {
  if (moved !== null || skip_balance_update) return units(moved);
  if (callback === "adjustBalance") return units(payout_amount) - units(bet_amount);
  if (callback === "settleBets" || callback === "winRewards") return units(payout_amount);
  return callback === "cancelTips" ? units(bet_amount) : -units(bet_amount);
}

function leaveOutside(rows: readonly LedgerRow[], { outside }: Judgement): void {
  for (const row of rows) {
    const key = `${row.product_id} ${row.currency}`;
    outside.set(key, (outside.get(key) ?? 0n) + movedAlone(row));
  }
}
