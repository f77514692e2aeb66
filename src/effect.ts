/** What a mismatch did to its player, in money. */

import {
  KINDS_IN_NO_STATEMENT,
  type LedgerSide,
  type Mismatch,
  type MismatchKind,
  type ProviderSide,
} from "./mismatch.ts";
import { type Amount, largerAmount, parseAmount, ZERO } from "./money.ts";

/** What the effect is computed from. */
export interface Judged extends Pick<Mismatch, "kind" | "provider" | "ledger"> {
  /** absent: the sides are not those of a mismatch */
  readonly amountAtRisk?: string;
  /** the stored effect, which says more than the sides do: decimal text; null or absent: it is not known */
  readonly foundEffect?: string | null;
}

const WITHOUT_EFFECT: ReadonlySet<MismatchKind> = new Set(KINDS_IN_NO_STATEMENT);

/** Kinds about two players or currencies: a correction is of one of them, so it is unknown whether it was enough. */
export const KINDS_ABOUT_TWO: ReadonlySet<MismatchKind> = new Set(["username-differs", "currency-differs"]);

/** In these kinds a bet without a record asks for nothing: the provider never played it. */
const NEVER_PLAYED: ReadonlySet<MismatchKind> = new Set([
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

/**
 * Moved − expected: above 0 the player has too much, below 0 too little. A bet of 100.00 that was settled with 3,100.00 in the
 * ledger and is unknown to the provider has 3,000.00: the player won what was never played.
 * @returns null if it cannot be known
 */
export function effectOf(judged: Judged): Amount | null {
  const { kind, amountAtRisk, ledger } = judged;
  const bet = sidesOf(judged);
  if (WITHOUT_EFFECT.has(kind) || bet === null) return null;
  const found = readFound(judged);
  if (found !== null) return found;
  if (kind !== "currency-differs" && isInTwoCurrencies(bet)) return null;
  const moved = ledger === null ? ZERO : parseAmount(bet.ledger?.moved ?? "0", "moved");
  if (isSession(bet)) return moved.minus(netOf(bet.provider));
  const effects = expectedOf(kind, bet).map((expected) => moved.minus(expected));
  if (amountAtRisk === undefined) return effects[0] ?? null;
  // The amount at risk says which of several possible amounts was expected.
  const atRisk = parseAmount(amountAtRisk, "amountAtRisk");
  const explains = (effect: Amount) =>
    effect.eq(ZERO) ? atRisk.eq(largestDifference(bet)) : effect.abs().eq(atRisk);
  return effects.find(explains) ?? null;
}

/** Null if an older version wrote the row since: it knows no effect, and leaves the one before. */
function readFound({ foundEffect = null, amountAtRisk }: Judged): Amount | null {
  if (foundEffect === null) return null;
  const found = parseAmount(foundEffect, "effect");
  const isOfRow =
    found.eq(ZERO) || amountAtRisk === undefined || found.abs().eq(parseAmount(amountAtRisk, "amountAtRisk"));
  return isOfRow ? found : null;
}

/**
 * What is left of an effect after manual corrections: a player who has 3,000.00 too much, and from whom
 * 2,900.00 were taken back, has 100.00 too much.
 * @param corrected positive: the player received it; null: nothing was corrected
 * @returns null if it cannot be known: the person who corrected another amount says that nothing is left
 */
export function effectLeft(
  judged: Judged & Pick<Mismatch, "status">,
  corrected: Amount | null,
): Amount | null {
  const effect = effectOf(judged);
  if (effect === null || corrected === null) return effect;
  const left = effect.plus(corrected);
  const isSaidToBeAll = judged.status === "resolved" && !KINDS_ABOUT_TWO.has(judged.kind);
  return isSaidToBeAll && !left.eq(ZERO) ? null : left;
}

/** Amounts of two currencies cannot be subtracted. */
function isInTwoCurrencies({ provider, ledger }: BetSides): boolean {
  return provider !== null && ledger !== null && provider.currency !== ledger.currency;
}

/** Sessions have no status. */
function isSession({ provider, ledger }: BetSides): boolean {
  return (ledger ?? provider)?.status === null;
}

function netOf(side: ProviderSide | null): Amount {
  const [stake, payout] = amountsOf(side);
  return payout.minus(stake);
}

/** The amount at risk of a bet whose money is right. */
function largestDifference({ provider, ledger }: BetSides): Amount {
  const [[stake, payout], [ownStake, ownPayout]] = [amountsOf(provider), amountsOf(ledger)];
  return largerAmount(stake.minus(ownStake).abs(), payout.minus(ownPayout).abs());
}

/** The sides of a bet, a round or a session. */
interface BetSides {
  readonly provider: ProviderSide | null;
  readonly ledger: LedgerSide | null;
}

/** @returns null if the sides are those of a transfer, or there are none */
export function sidesOf({ provider, ledger }: Pick<Judged, "provider" | "ledger">): BetSides | null {
  const isBet = (provider === null || "stake" in provider) && (ledger === null || "moved" in ledger);
  if (!isBet || (provider === null && ledger === null)) return null;
  return { provider: provider as ProviderSide | null, ledger: ledger as LedgerSide | null };
}

/**
 * What the wallet should have moved by the provider's side, the most likely amount first. The sides of a mismatch do not say all of it: a tip
 * has no status of its own, and of a bet that runs some parts may have been paid.
 */
export function expectedOf(kind: MismatchKind, { provider, ledger }: BetSides): Amount[] {
  const [stake, payout] = amountsOf(ledger);
  // The mismatch has the currency of the bet's placement. A record in another one asks for nothing in this one.
  if (kind === "currency-differs" && provider?.currency !== ledger?.currency) return [ZERO];
  if (kind === "net-differs" && ledger?.status === "void") return [ZERO];
  if (provider === null) return NEVER_PLAYED.has(kind) ? [ZERO] : [stake.neg(), payout.minus(stake), ZERO];
  const [listedStake, listedPayout] = amountsOf(provider);
  const settled = listedPayout.minus(listedStake);
  const running = listedStake.neg();
  const partlyPaid = payout.minus(listedStake);
  if (provider.status === "VOID") return [ZERO];
  if (provider.status === "SETTLED" || provider.status === null)
    return kind === "net-differs" ? [settled, stake.neg(), partlyPaid, running] : [settled];
  // Of several records, of which one runs, the others are settled.
  return kind === "net-differs" ? [partlyPaid, running, stake.neg(), ZERO] : [running, settled, partlyPaid];
}

function amountsOf(side: ProviderSide | LedgerSide | null): [stake: Amount, payout: Amount] {
  if (side === null) return [ZERO, ZERO];
  return [parseAmount(side.stake, "stake"), parseAmount(side.payout, "payout")];
}
