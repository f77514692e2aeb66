/** What to do about a mismatch, in a sentence or two. How much money goes in which direction follows from its effect. */

import { effectOf as effectOfSides, expectedOf, type Judged, sidesOf } from "./effect.ts";
import type { Mismatch, MismatchKind } from "./mismatch.ts";
import { type Amount, formatAmount, parseAmount, sayAmount, ZERO } from "./money.ts";

interface Advice {
  /** what to find out, or to ask for */
  readonly look: string;
  /** what follows for the player's money; `correct` is such as "take 3 000.00 THB back from player-014" */
  readonly money?: (correct: string) => string;
}

const ASK_FOR_CALLBACK: Advice = {
  look: "Ask the provider to send the callback again.",
  money: (correct) => `Or ${correct} by hand, and resolve this mismatch with the correction.`,
};
const CORRECT_ONE_SIDE: Advice = {
  look: "Find out which side is wrong.",
  money: (correct) =>
    `Either the provider corrects the record, or you ${correct} and record the correction here.`,
};
const ifProviderIsRight = (correct: string) => `If the provider is right, ${correct}.`;
const CORRECT_A_SIDE: Advice = {
  look: "Ask the provider to correct their side, which resolves this mismatch. Or correct your side.",
};

const ADVICE: Readonly<Record<MismatchKind, Advice>> = {
  "username-differs": {
    look: "Find out who played: one of the two players has the other's money. Ask the provider to correct the name.",
    money: (correct) => `Or, if the provider's name is right, ${correct}.`,
  },
  "currency-differs": {
    look: "Ask the provider in which currency the bet was played. Then correct the side that has another one.",
    money: (correct) => `If it was played as the provider says, ${correct}.`,
  },
  "missing-in-ledger": ASK_FOR_CALLBACK,
  "missing-at-provider": {
    look: "Ask the provider for the outcome of the bet.",
    money: (correct) => `If the bet was never played there, ${correct}.`,
  },
  "vanished-at-provider": {
    look: "Ask the provider why the record is gone.",
    money: (correct) => `If the bet was void, a cancel was lost: ${correct}.`,
  },
  "missing-placement": {
    look: "The wallet never took the stake, or the callback was lost. Check your own books first.",
    money: ifProviderIsRight,
  },
  "missing-settlement": ASK_FOR_CALLBACK,
  "status-differs": {
    look: "A settle, cancel or rollback was lost. Find the side that ended the bet last, and correct the other side.",
    money: ifProviderIsRight,
  },
  "stake-differs": CORRECT_ONE_SIDE,
  "payout-differs": CORRECT_ONE_SIDE,
  "round-differs": {
    look: "Compare the whole round. Its bets cannot be distinguished by their ids, and their sums differ.",
    money: ifProviderIsRight,
  },
  "net-differs": {
    look: "Both sides agree on the bet, but the wallet moved another amount.",
    money: (correct) => `${correct[0]?.toUpperCase()}${correct.slice(1)}.`,
  },
  "session-differs": {
    look: "Check the adjustBalance entries. One may be missing or duplicated.",
    money: ifProviderIsRight,
  },
  "stuck-open": {
    look: "Ask the provider whether they know the bet.",
    money: (correct) => `If not, ${correct}.`,
  },
  "balance-differs": { look: "Check the wallet. Something else moved money between the two balances." },
  "provider-inconsistent": {
    look: "Report the record to the provider. The record contradicts itself.",
  },
  "transfer-inconclusive": {
    look: "Find the transfer in the provider's statement. Then close it with what you found.",
  },
  "transfer-differs": CORRECT_A_SIDE,
  "transfer-late-success": {
    look: "The transfer is valid. If you reversed it in your wallet after the failure, undo that. Then resolve this mismatch.",
  },
  "top-up-rejected": {
    look: "Your wallet moved the money, but the provider never did. Reverse the move, then resolve this mismatch.",
  },
  "top-up-inconclusive": {
    look: "Find the top-up in the provider's statement. Then close it with what you found.",
  },
  "top-up-differs": CORRECT_A_SIDE,
  "top-up-late-success": {
    look: "The top-up is valid. If you reversed the move after the rejection, undo that. Then resolve this mismatch.",
  },
};

/** What to do about mismatches of a kind in general. */
export function adviceOfKind(kind: MismatchKind): string {
  const correct = kind === "username-differs" ? "move the money" : "correct the player's balance";
  return withCorrection(kind, correct);
}

/** With `effect`, it is what is left after corrections made by hand; without, it follows from the sides. */
type Advised = Judged &
  Pick<Mismatch, "username" | "currency"> &
  Partial<Pick<Mismatch, "effect" | "otherCurrencies">>;

function effectOf(mismatch: Advised): Amount | null {
  const { effect } = mismatch;
  if (effect === undefined) return effectOfSides(mismatch);
  return effect === null ? null : parseAmount(effect, "effect");
}

/** What to do about one mismatch. */
export function adviceOf(mismatch: Advised): string {
  const { kind, username } = mismatch;
  const correction = correctionOf(mismatch);
  if (correction !== null) return withCorrection(kind, correction);
  if (effectOf(mismatch) === null) return adviceOfKind(kind);
  return `${ADVICE[kind].look} The balance of ${username} is right: move no money.`;
}

/**
 * What to do about mismatches of one kind, with the money of some of them.
 * @param all how many there are
 */
export function adviceOfSome(
  kind: MismatchKind,
  all: number,
  some: readonly (Advised & { readonly id: string })[],
): string {
  const [only] = some;
  if (all === 1 && only !== undefined) return adviceOf(only);
  const corrections = some.flatMap((one) => {
    const correction = correctionOf(one);
    return correction === null ? [] : [`mismatch ${one.id}: ${correction}`];
  });
  const general = adviceOfKind(kind);
  return corrections.length === 0 ? general : `${general} For ${corrections.join("; for ")}.`;
}

function withCorrection(kind: MismatchKind, correct: string): string {
  const { look, money } = ADVICE[kind];
  return money === undefined ? look : `${look} ${money(correct)}`;
}

/**
 * "take 3 000.00 THB back from player-014", "give 50.00 THB to player-007"; for a bet under two names both.
 * @returns null if there is nothing to move, or the amount is unknown
 */
export function correctionOf(mismatch: Advised): string | null {
  const effect = effectOf(mismatch);
  if (mismatch.kind === "username-differs") return moveBetween(mismatch);
  if (effect === null) return null;
  const { username, currency, otherCurrencies = [] } = mismatch;
  const others = otherCurrencies.map((one) =>
    correct(parseAmount(one.effect, "effect"), username, one.currency),
  );
  const all = [correct(effect, username, currency), ...others].filter((one) => one !== null);
  return all.length === 0 ? null : all.join(", and ");
}

/** "player-014 has 3 000.00 THB too much". @returns null if that is unknown, or the money is right */
export function sayEffect(mismatch: Advised): string | null {
  const effect = effectOf(mismatch);
  if (effect === null || effect.eq(ZERO) || mismatch.kind === "username-differs") return null;
  const amount = sayAmount(formatAmount(effect.abs()), mismatch.currency);
  return `${mismatch.username} has ${amount} too ${effect.gt(ZERO) ? "much" : "little"}`;
}

/**
 * The ledger's player has what the provider's player should have. If no outcome of the bet explains the amount at risk,
 * the ledger has the bet under several names, and the money of all together is right: what moved for the one player
 * belongs to the other.
 */
function moveBetween(mismatch: Advised): string | null {
  const sides = sidesOf(mismatch);
  if (sides === null || sides.provider === null || sides.ledger === null) return null;
  const { provider, ledger } = sides;
  const moved = parseAmount(ledger.moved, "moved");
  const atRisk =
    mismatch.amountAtRisk === undefined ? null : parseAmount(mismatch.amountAtRisk, "amountAtRisk");
  // Amounts of two currencies cannot be subtracted, so the amount at risk says nothing about the record's.
  const isKnown = atRisk === null || ledger.currency !== provider.currency;
  const explains = (one: Amount) => isKnown || moved.minus(one).abs().eq(atRisk);
  const expected = expectedOf(mismatch.kind, sides).find(explains) ?? moved;
  const moves = [
    correct(moved, ledger.username, ledger.currency),
    correct(expected.neg(), provider.username, provider.currency),
  ].filter((one) => one !== null);
  return moves.length === 0 ? null : moves.join(" and ");
}

/** @returns null if there is nothing to move */
function correct(effect: Amount, username: string, currency: string | null): string | null {
  if (effect.eq(ZERO)) return null;
  const amount = sayAmount(formatAmount(effect.abs()), currency);
  return effect.gt(ZERO) ? `take ${amount} back from ${username}` : `give ${amount} to ${username}`;
}
