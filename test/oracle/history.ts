/** Replays the callbacks of a player from the first to the last, as section 4.2 of the design tells it. */

import { clustersOf, compareIds, type LedgerRow, named, type ProductSettings, sum, units } from "./facts.ts";

/** What the ledger says about one bet, tip or reward. */
export class Bet {
  readonly rows: LedgerRow[] = [];
  readonly username: string;
  readonly txn: string;
  /** of its first row that names one */
  round: string | null = null;
  /** of its placement, else of its first row */
  currency: string;
  status: "none" | "open" | "settled" | "void" = "none";
  isPlaced = false;
  isWaiting = false;
  isTip = false;
  /** one item settled several bets, so only their sums are known */
  isSettledByRound = false;
  stake = 0n;
  settlement = 0n;
  reward = 0n;
  /** of the settlement, what was paid while the bet ran on */
  parts = 0n;
  /** what was taken for the stake */
  debited = 0n;
  /** in the bet's currency, and by currency */
  moved: Record<string, bigint> = {};
  placedAt: number;
  endedAt = 0;
  generation = 0;
  said: string[] = [];
  /** why the text does not decide what this bet is */
  doubt: string | null = null;

  constructor({ username, txn_id, currency, occurred_at }: LedgerRow) {
    this.username = username;
    this.txn = txn_id;
    this.currency = currency;
    this.placedAt = occurred_at;
  }
}

type Bets = Map<string, Bet>;
interface Played {
  readonly bets: Bets;
  readonly order: readonly LedgerRow[];
}

const PHASES = [
  ["placeBets", "placeTips"],
  ["adjustBets"],
  ["winRewards", "settleBets", "cancelBets", "cancelTips"],
  ["voidSettled", "rollback"],
];
const WHOLE = ["settleBets", "cancelBets", "voidSettled", "rollback"];
const MOST_OF_A_MOMENT = 9;
const LATE_PLACEMENT_MS = 2_000;

export const isByRound = ({ transaction_type, callback }: LedgerRow) =>
  WHOLE.includes(callback) && transaction_type?.toUpperCase() === "BY_ROUND";

/** @param rows of one player and product, without adjustBalance */
export function replay(rows: readonly LedgerRow[], product: ProductSettings): Bet[] {
  const whole = new Set(rows.filter(isByRound).map(({ round_id }) => round_id));
  const isNear = (one: LedgerRow, other: LedgerRow) =>
    one.txn_id === other.txn_id || (one.round_id === other.round_id && whole.has(one.round_id));
  return clustersOf(rows, isNear).flatMap((part) => {
    const inTime = (a: LedgerRow, b: LedgerRow) =>
      a.occurred_at - b.occurred_at || a.received_at - b.received_at;
    let played = play(part.toSorted(inTime), product);
    for (let times = 0; times < part.length; times++) {
      const order = postponeRoundEnd(played);
      if (order === null) break;
      const bets: Bets = new Map();
      for (const row of order) act(bets, row, product, order);
      played = { bets, order };
    }
    return [...played.bets.values()];
  });
}

/** A BY_ROUND end also acts on a bet that was placed up to two seconds after it and would otherwise stay open. */
function postponeRoundEnd({ bets, order }: Played): LedgerRow[] | null {
  for (const { txn, round, status } of bets.values()) {
    const placed = order.findLastIndex((row) => row.txn_id === txn && row.callback === "placeBets");
    const placedAt = order[placed]?.occurred_at ?? 0;
    const isEarly = (row: LedgerRow) =>
      isByRound(row) &&
      ["settleBets", "cancelBets"].includes(row.callback) &&
      row.end_round !== false &&
      round !== null &&
      named(row.round_id) === round &&
      placedAt - row.occurred_at <= LATE_PLACEMENT_MS;
    const end = status === "open" ? order.slice(0, Math.max(placed, 0)).findLastIndex(isEarly) : -1;
    if (end >= 0) return order.toSpliced(placed + 1, 0, order[end] as LedgerRow).toSpliced(end, 1);
  }
  return null;
}

function play(rows: readonly LedgerRow[], product: ProductSettings): Played {
  let played: Played = { bets: new Map(), order: [] };
  const phaseOf = ({ callback, status }: LedgerRow) =>
    PHASES.findIndex((phase) => phase.includes(callback)) + (status === "OPEN" ? 0.5 : 0);
  for (let at = 0; at < rows.length; at = played.order.length) {
    const { occurred_at, received_at } = rows[at] as LedgerRow;
    const moment = rows
      .filter((row) => row.occurred_at === occurred_at && row.received_at === received_at)
      .toSorted((a, b) => phaseOf(a) - phaseOf(b) || compareIds(a.entry_id, b.entry_id));
    const isChoice = moment.length > 1 && moment.length <= MOST_OF_A_MOMENT;
    const possible = isChoice
      ? (firstPossible(played, moment, product, true) ?? firstPossible(played, moment, product, false))
      : null;
    if (possible === null) for (const row of moment) act(played.bets, row, product, rows);
    const isUnclear = moment.length > MOST_OF_A_MOMENT || moment.filter(isByRound).length > 1;
    if (isUnclear && moment.length > 1)
      for (const bet of (possible ?? played).bets.values())
        bet.doubt ??= "many entries of one moment, or several of a whole round";
    played = possible ?? { bets: played.bets, order: [...played.order, ...moment] };
  }
  return played;
}

/** Tries all orders of a moment, and takes the first in which every entry is possible, and moved what it asks for. */
function firstPossible(
  before: Played,
  rows: readonly LedgerRow[],
  product: ProductSettings,
  asksAll: boolean,
): Played | null {
  if (rows.length === 0) return before;
  for (const row of rows) {
    const bets = structuredClone(before.bets);
    const { possible, isAsked } = act(bets, row, product, rows);
    if (!possible || (asksAll && !isAsked)) continue;
    const left = rows.filter((other) => other !== row);
    const rest = firstPossible({ bets, order: [...before.order, row] }, left, product, asksAll);
    if (rest !== null) return rest;
  }
  return null;
}

/** @param others among which a placement may follow @returns whether the entry was possible, and moved what it asks for */
function act(bets: Bets, row: LedgerRow, product: ProductSettings, others: readonly LedgerRow[]) {
  const known = bets.get(row.txn_id);
  const says = contentOf(row);
  const isRepeat =
    known?.said.includes(row.request_id + says) ||
    (known?.said.includes(known.generation + says) && row.moved !== null && units(row.moved) === 0n);
  const whole = isByRound(row) && !isRepeat ? roundOf(bets, row) : [];
  // A round's payout is of the bet of its id, also if that one had ended before; else of the earliest.
  if (
    row.callback === "settleBets" &&
    whole.length > 0 &&
    known?.round === named(row.round_id) &&
    !known.isTip
  )
    if (!whole.includes(known)) whole.push(known);
  const target = whole.find(({ txn }) => txn === row.txn_id) ?? whole[0] ?? known ?? new Bet(row);
  if (whole.length === 0) bets.set(target.txn, target);
  if (known !== undefined && !known.isPlaced && whole.length > 0 && !whole.includes(known))
    known.doubt ??= "a BY_ROUND entry that names a bet without a placement";
  const isNamedBefore = ({ txn, rows }: Bet) =>
    txn !== row.txn_id && rows.some((one) => one.txn_id === row.txn_id);
  if (known === undefined && whole.length === 0)
    for (const bet of [...bets.values()].filter(isNamedBefore))
      bet.doubt = target.doubt = "an id that only a BY_ROUND entry had before";
  const isPlacedLater = others.some((other) => other.txn_id === row.txn_id && other.callback === "placeBets");
  let asked = 0n;
  let isPossible = true;
  for (const bet of whole.length > 0 ? whole : [target]) {
    bet.round ??= named(row.round_id);
    let [stake, payout] = [units(row.bet_amount), units(row.payout_amount)];
    if (whole.length > 0 && row.callback === "rollback") [stake, payout] = [bet.stake, bet.settlement];
    else if (bet !== target) payout = 0n;
    if (!isRepeat) {
      const { status } = bet;
      const step = declare(bet, row, { stake, payout }, product, isPlacedLater);
      isPossible &&= step.possible;
      // The table does not say what an entry does to a bet on which it cannot act: its callback before was lost, or will come.
      const isUnplaced = !bet.isPlaced && !bet.isTip && row.callback !== "winRewards" && bet.rows.length > 0;
      if (
        isUnplaced ||
        (row.callback === "cancelBets" && bet.parts > 0n) ||
        (!step.possible && !(row.callback === "settleBets" && status !== "void"))
      )
        bet.doubt ??= `${row.callback} of a bet that is ${status === "none" ? "unknown" : status}`;
      const part = row.skip_balance_update ? 0n : step.asked;
      book(bet, row, part);
      asked += part;
    }
    bet.said.push(row.request_id + says, bet.generation + says);
    bet.rows.push(row);
  }
  const isShared = whole.length > 1 || target.txn !== row.txn_id;
  if (row.callback === "settleBets" && isShared) for (const bet of whole) bet.isSettledByRound = true;
  const rest = row.moved === null ? 0n : units(row.moved) - asked;
  book(target, row, rest);
  const named_ = [units(row.bet_amount), units(row.payout_amount)];
  const fits = whole.length === 0 || row.callback !== "rollback" || [...named_, sum(named_)].includes(-asked);
  return { possible: isPossible && fits, isAsked: rest === 0n };
}

function book(bet: Bet, { callback, currency }: LedgerRow, amount: bigint): void {
  bet.moved[currency] = (bet.moved[currency] ?? 0n) + amount;
  if (callback === "placeBets" || callback === "adjustBets") bet.debited -= amount;
}

/** What an item says, without its time and without what the wallet did. */
function contentOf(row: LedgerRow): string {
  const { callback, status, round_id, currency, transaction_type, bet_amount, payout_amount } = row;
  const amounts = [bet_amount, payout_amount].map((amount) => (amount === null ? null : `${units(amount)}`));
  const flags = [row.single_state, row.end_round, row.skip_balance_update];
  return JSON.stringify([callback, status, round_id, currency, transaction_type, amounts, flags]);
}

/** The bets on which a BY_ROUND entry can act, the earliest first: of its own currency, else of any. */
function roundOf(bets: Bets, { callback, round_id, currency }: LedgerRow): Bet[] {
  const isMeant = (bet: Bet) => {
    if (bet.isTip || bet.round === null || bet.round !== named(round_id)) return false;
    if (callback === "voidSettled") return bet.status === "settled";
    if (callback !== "rollback") return bet.status === "open";
    return bet.status === "void" || (bet.status === "settled" && !isReward(bet));
  };
  const all = [...bets.values()].filter(isMeant).toSorted((a, b) => a.placedAt - b.placedAt);
  const own = all.filter((bet) => bet.currency === currency);
  return own.length > 0 ? own : all;
}

export const isReward = (bet: Bet) => bet.rows.every(({ callback }) => callback === "winRewards");

/** The table of 4.2. @returns what the entry asks to be moved, and whether it is possible now */
function declare(
  bet: Bet,
  row: LedgerRow,
  { stake, payout }: { readonly stake: bigint; readonly payout: bigint },
  product: ProductSettings,
  isPlacedLater: boolean,
): { readonly asked: bigint; readonly possible: boolean } {
  const { status: before, debited } = bet;
  const both = bet.settlement + bet.reward;
  const isEnded = before === "settled" || before === "void";
  // The ledger may have no entry for a settlement that paid 0.
  const isLost = product.lostBets === "omitted" && before === "open";
  if (WHOLE.includes(row.callback)) bet.endedAt = row.occurred_at;
  switch (row.callback) {
    case "placeBets": {
      const isAlone = before === "settled" && isReward(bet);
      const isTaken = bet.isWaiting && row.status !== "WAITING";
      if (bet.isPlaced && !isTaken && bet.stake !== stake) bet.doubt ??= "placed twice with two stakes";
      const { currency, occurred_at: placedAt } = row;
      const isWaiting = row.status === "WAITING";
      Object.assign(bet, { stake, status: "open", isPlaced: true, isWaiting, currency, placedAt });
      return { asked: isTaken ? debited - stake : -stake, possible: !isEnded || isAlone };
    }
    case "adjustBets": {
      const asked = bet.stake - stake;
      bet.stake = stake;
      return { asked, possible: before === "open" };
    }
    case "settleBets": {
      const isSingle = row.single_state ?? product.singleState;
      const places = !bet.isPlaced && isSingle;
      const possible = bet.isPlaced ? before === "open" : places || !isPlacedLater;
      if (!bet.isPlaced && row.single_state === false) {
        if (before === "none") bet.status = "open";
        return { asked: payout, possible };
      }
      if (places)
        Object.assign(bet, { stake, isPlaced: true, debited: row.skip_balance_update ? 0n : stake });
      else if (!bet.isPlaced && bet.settlement === 0n) bet.stake = stake;
      bet.settlement += payout;
      if (row.end_round === false && before !== "settled") bet.parts += payout;
      bet.status = row.end_round === false && before !== "settled" ? "open" : "settled";
      return { asked: places ? payout - stake : payout, possible };
    }
    case "cancelBets":
      bet.status = "void";
      return { asked: before === "void" ? 0n : debited, possible: before === "open" };
    case "voidSettled":
      bet.status = "void";
      return { asked: before === "void" ? 0n : bet.stake - both, possible: before === "settled" || isLost };
    case "winRewards":
      if (before === "none") Object.assign(bet, { status: "settled", endedAt: row.occurred_at });
      bet.reward += payout;
      return { asked: payout, possible: before !== "void" };
    case "rollback": {
      if (before !== "void" && payout === both) bet.reward = 0n;
      const fits =
        (before === "void" && stake === bet.stake) ||
        ((before === "settled" || isLost) && [bet.settlement, both].includes(payout));
      Object.assign(bet, { status: "open", settlement: 0n, parts: 0n, isSettledByRound: false });
      bet.generation += 1;
      return { asked: before === "void" ? -stake : -payout, possible: fits };
    }
    default: {
      const isPlacing = row.callback === "placeTips";
      if (isPlacing ? before !== "none" && !bet.isTip : !bet.isTip)
        bet.doubt ??= "a tip without its placement";
      const possible = (isPlacing && before === "none") || (bet.isTip && before === "settled");
      Object.assign(bet, { isTip: true, status: isPlacing ? "settled" : "void" });
      if (isPlacing) bet.stake = stake;
      return { asked: isPlacing ? -stake : stake, possible };
    }
  }
}
