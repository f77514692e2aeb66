/** Finds what changed in the bets of closed days, and says it as corrections. Pure. */

import type { BetFigures, Correction, MonthReport } from "../closed.ts";
import { laterOf } from "../confirmed.ts";
import { type Amount, formatAmount } from "../money.ts";
import {
  addContribution,
  type Contribution,
  type Counted,
  eachPart,
  mergeShown,
  NOTHING_COUNTED,
  PARTS,
  type ReportRow,
  type SideSums,
  toRow,
  toSides,
} from "../report.ts";
import type { Change } from "./correction-reason.ts";
import { sumRows, toContribution } from "./sum-rows.ts";

/** What a bet counts for on a closed day. */
export interface ClosedBet extends Omit<Counted, "at"> {
  readonly day: string;
}

/** A bet that counts on a day that is not closed. */
export interface BetElsewhere extends Pick<Counted, "betRef" | "betId" | "transactionId"> {
  readonly day: string;
}

export interface ChangedBet {
  /** the row to store; null: the bet no longer counts on that day */
  readonly now: ClosedBet | null;
  /** the key of the rows to delete first */
  readonly replaced: readonly ClosedBet[];
  /** both sides are as they were, and another part of their difference is a mismatch or corrected by hand */
  readonly isDecision: boolean;
  /** what its reason is made of; a reason depends on the other changes that become corrections */
  readonly change: Change;
  readonly correction: Omit<Correction, "productId" | "at" | "reason">;
}

/** What a correction adds to the sums of its day, as a row: `after` − `before`. */
export function rowOf({
  productId,
  currency,
  before,
  after,
}: Pick<Correction, "productId" | "currency" | "before" | "after">): ReportRow {
  const [was, is] = [toContribution(before, currency), toContribution(after, currency)];
  return toRow(productId, addContribution(is, negated(was)), true);
}

/** Today's data of the closed days of a month: their sums and their corrections together. */
export function todayOf({ rows, corrections }: Pick<MonthReport, "rows" | "corrections">): ReportRow[] {
  return sumRows([...rows, ...corrections.map(rowOf)]);
}

/** Adds up what has the same names, and leaves out what counts for nothing. */
export function mergeBets(bets: readonly ClosedBet[]): ClosedBet[] {
  const merged = new Map<string, ClosedBet>();
  for (const bet of bets) {
    const same = merged.get(keyOf(bet));
    merged.set(keyOf(bet), same === undefined ? bet : mergeTwo(same, bet));
  }
  return [...merged.values()].filter((bet) => !isNothing(bet));
}

function mergeTwo(a: ClosedBet, b: ClosedBet): ClosedBet {
  return {
    ...a,
    ...addContribution(a, b),
    shown: mergeShown(a.shown, b.shown),
    confirmed: laterOf(a.confirmed ?? "never", b.confirmed ?? "never"),
  };
}

/**
 * Compares what the bets of one neighbourhood counted for with what they count for now.
 * @param before all stored bets of its rounds and ids
 * @param now everything that counts on closed days
 * @param elsewhere what counts on other days
 * @param isLoaded false: the bet belongs to a wide round of which only some bets were loaded; the database added up the
 * others, so their stored bets are added up too
 */
export function findChangedBets(
  before: readonly ClosedBet[],
  now: readonly ClosedBet[],
  elsewhere: readonly BetElsewhere[],
  isLoaded: (bet: ClosedBet) => boolean,
): ChangedBet[] {
  const asRest = (bet: ClosedBet) => ({ ...bet, betRef: "", betId: null, transactionId: null });
  const stored = Map.groupBy(before, (bet) => keyOf(isLoaded(bet) ? bet : asRest(bet)));
  const present = new Map(mergeBets(now).map((bet) => [keyOf(bet), bet]));
  const moves = movesOf(stored, present);
  const open = new Map(
    elsewhere.flatMap((one) =>
      [one.betRef, one.betId, one.transactionId].flatMap((ref) =>
        ref === null || ref === "" ? [] : [[ref, one] as const],
      ),
    ),
  );
  const byRef = {
    was: Map.groupBy(before, (bet) => bet.betRef),
    is: Map.groupBy(present.values(), (bet) => bet.betRef),
  };
  const changes: ChangedBet[] = [];
  for (const key of new Set([...stored.keys(), ...present.keys()])) {
    const replaced = stored.get(key) ?? [];
    const [was] = mergeBets(replaced.map((bet) => (isLoaded(bet) ? bet : asRest(bet))));
    const is = present.get(key);
    if (was === undefined ? is === undefined : is !== undefined && isEqual(was, is)) continue;
    const some = is ?? was;
    if (some === undefined) continue;
    const { day, currency, username, betRef } = some;
    const old = was ?? { ...NOTHING_COUNTED, currency };
    const next = is ?? { ...NOTHING_COUNTED, currency };
    const moved = moves.get(key) ?? (is === undefined ? open.get(betRef) : undefined);
    changes.push({
      now: is ?? null,
      replaced,
      isDecision: was !== undefined && is !== undefined && isOnlyDecided(was, is),
      change: {
        was: was ?? null,
        is: is ?? null,
        otherDay: moved?.day ?? null,
        otherCurrency: was !== undefined && is !== undefined ? null : otherCurrencyOf(some, byRef),
        isOtherOpen: moved !== undefined && !moves.has(key),
      },
      correction: {
        day,
        currency,
        username,
        betId: is === undefined ? (moved?.betId ?? nameOf(old.provider, betRef)) : is.betId,
        transactionId:
          is === undefined ? (moved?.transactionId ?? nameOf(old.ledger, betRef)) : is.transactionId,
        before: toFigures(old),
        after: toFigures(next),
        difference: formatAmount(differenceOf(next).minus(differenceOf(old))),
      },
    });
  }
  return changes;
}

function keyOf({ username, subject, betRef, day, currency }: ClosedBet): string {
  return JSON.stringify([username, subject, betRef, day, currency]);
}

/** For each bet that moved between days: its row on the other day. */
function movesOf(stored: ReadonlyMap<string, readonly ClosedBet[]>, present: ReadonlyMap<string, ClosedBet>) {
  const byRef = ({ username, betRef, currency }: ClosedBet) => JSON.stringify([username, betRef, currency]);
  const left = new Map(
    [...stored].flatMap(([key, [bet]]) =>
      bet === undefined || present.has(key) ? [] : [[byRef(bet), { key, bet }]],
    ),
  );
  const moves = new Map<string, { day: string; betId?: string | null; transactionId?: string | null }>();
  for (const [key, bet] of present) {
    const from = bet.betRef === "" || stored.has(key) ? undefined : left.get(byRef(bet));
    if (from === undefined || from.bet.day === bet.day) continue;
    moves.set(from.key, bet);
    moves.set(key, { day: from.bet.day });
  }
  return moves;
}

type ByRef = ReadonlyMap<string, readonly ClosedBet[]>;

/** The same bet in another currency: as stored, if it moved to this one, otherwise as it counts now. */
function otherCurrencyOf(
  { username, betRef, currency, ...names }: ClosedBet,
  byRef: { readonly was: ByRef; readonly is: ByRef },
): Change["otherCurrency"] {
  const refs = [betRef, names.betId, names.transactionId].filter((ref) => ref !== null);
  const find = (bets: ByRef, isOther: (one: ClosedBet) => boolean) =>
    refs
      .filter((ref) => ref !== "")
      .flatMap((ref) => bets.get(ref) ?? [])
      .find((one) => one.username === username && isOther(one));
  const isElse = (one: ClosedBet) => one.currency !== currency;
  const other = find(find(byRef.is, (one) => !isElse(one)) === undefined ? byRef.is : byRef.was, isElse);
  if (other === undefined) return null;
  const isLeft = find(byRef.is, (one) => one.currency === other.currency) === undefined;
  return { currency: other.currency, day: other.day, isLeft };
}

function nameOf({ bets }: SideSums, betRef: string): string | null {
  return bets === 0 || betRef === "" ? null : betRef;
}

function toFigures(one: Omit<Contribution, "currency">): BetFigures {
  return {
    ...toSides(one),
    mismatches: formatAmount(one.mismatches),
    adjustments: formatAmount(one.adjustments),
    pending: formatAmount(one.pending),
    rounding: formatAmount(one.rounding),
    outside: formatAmount(one.outside),
  };
}

function differenceOf({ provider, ledger }: Pick<Contribution, "provider" | "ledger">): Amount {
  return provider.net.minus(ledger.net);
}

function isNothing(bet: Contribution): boolean {
  return isEqual(bet, { ...NOTHING_COUNTED, currency: bet.currency });
}

function isEqual(a: Contribution, b: Contribution): boolean {
  return (
    isEqualSide(a.provider, b.provider) &&
    isEqualSide(a.ledger, b.ledger) &&
    isEqualKnown(a, b) &&
    PARTS.every((part) => a[part].eq(b[part]))
  );
}

/** What an older version did not store is not known to have changed. */
function isEqualKnown(a: Contribution, b: Contribution): boolean {
  return (["rewards", "tips"] as const).every((what) => {
    const [was, is] = [a[what], b[what]];
    return was === null || is === null || was.eq(is);
  });
}

function isOnlyDecided(a: Contribution, b: Contribution): boolean {
  const isDecided = !a.mismatches.eq(b.mismatches) || !a.adjustments.eq(b.adjustments);
  const isSame = isEqualSide(a.provider, b.provider) && isEqualSide(a.ledger, b.ledger);
  return isDecided && isSame && isEqualKnown(a, b) && a.moved.eq(b.moved) && a.outside.eq(b.outside);
}

function isEqualSide(a: SideSums, b: SideSums): boolean {
  return a.bets === b.bets && a.stake.eq(b.stake) && a.payout.eq(b.payout) && a.net.eq(b.net);
}

function negated({ currency, provider, ledger, rewards, tips, ...parts }: Contribution): Contribution {
  const side = ({ bets, stake, payout, net }: SideSums): SideSums => ({
    bets: -bets,
    stake: stake.neg(),
    payout: payout.neg(),
    net: net.neg(),
  });
  return {
    currency,
    provider: side(provider),
    ledger: side(ledger),
    ...eachPart((part) => parts[part].neg()),
    rewards: rewards?.neg() ?? null,
    tips: tips?.neg() ?? null,
  };
}
