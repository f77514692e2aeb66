/** Tells a mismatch in two sentences: what each side says, and what most likely happened. Pure. */

import { effectOf, type Judged, sidesOf } from "../../../effect.ts";
import type { MismatchStory } from "../../../flows/read/read-mismatch.ts";
import type { LedgerSide, MismatchKind, ProviderSide, TransferSide } from "../../../mismatch.ts";
import { parseAmount, sayAmount, ZERO } from "../../../money.ts";

export type Told = Judged & Pick<MismatchStory, "currency" | "timeline">;

interface Story {
  /** "The provider says: …; the ledger says: …." */
  readonly says: string;
  /** "Most likely …." */
  readonly likely: string;
}

export function tellStory(told: Told): Story {
  return { says: saySides(told), likely: LIKELY[told.kind](told) };
}

function saySides({ kind, provider, ledger, timeline }: Told): string {
  if (kind === "balance-differs" && new Set(timeline.map(({ requestId }) => requestId)).size > 1)
    return "The balance before a callback is not the balance after the player's previous callback.";
  if (kind === "balance-differs")
    return "The balance after a callback is not the balance before it plus the movement.";
  const theirs =
    provider === null ? "the provider has no record of it" : `the provider says: ${sayProvider(provider)}`;
  const ours =
    ledger === null ? "the ledger has no callback about it" : `the ledger says: ${sayLedger(ledger)}`;
  return `${theirs[0]?.toUpperCase()}${theirs.slice(1)}; ${ours}.`;
}

function sayProvider(side: ProviderSide | TransferSide): string {
  if ("amount" in side) return sayTransfer(side);
  const { status, stake, payout, currency, username } = side;
  return [
    status ?? "in all",
    `stake ${sayAmount(stake, currency)}`,
    `payout ${sayAmount(payout, currency)}`,
    `player ${username}`,
  ].join(", ");
}

function sayLedger(side: LedgerSide | TransferSide): string {
  if ("amount" in side) return sayTransfer(side);
  const { status, stake, payout, moved, currency, username } = side;
  const direction = moved.startsWith("-")
    ? `took ${sayAmount(moved.slice(1), currency)} from`
    : `gave ${sayAmount(moved, currency)} to`;
  const wallet = /^[-0.]+$/.test(moved) ? "the wallet moved nothing for" : `the wallet ${direction}`;
  return [
    status ?? "in all",
    `stake ${sayAmount(stake, currency)}`,
    `payout ${sayAmount(payout, currency)}`,
    `and ${wallet} player ${username}`,
  ].join(", ");
}

function sayTransfer({ status, amount, currency, username }: TransferSide): string {
  const money = amount === null ? null : sayAmount(amount, currency);
  return [status, money, `player ${username}`].filter((part) => part !== null).join(", ");
}

/** What most likely happened, by kind and by what both sides reported. */
const LIKELY: Readonly<Record<MismatchKind, (told: Told) => string>> = {
  "username-differs": () => "Most likely one side booked the bet under a wrong or renamed player.",
  "currency-differs": () => "Most likely one side has a wrong currency for this player.",
  "missing-in-ledger": () =>
    "Most likely the provider's callbacks were lost, or your server refused them: the evidence shows what it refused.",
  "missing-at-provider": () =>
    "Most likely the bet failed at the provider after your wallet had accepted its callbacks.",
  "vanished-at-provider": () =>
    "Most likely the provider cancelled the bet, and the callback of the cancel was lost.",
  "missing-placement": () =>
    "Most likely the callback that placed the bet was lost, or your server refused it.",
  "missing-settlement": (told) =>
    `Most likely the callback of the ${endOf(told)} was lost, or your server refused it.`,
  "status-differs": likelyStatus,
  "stake-differs": (told) => likelyAmount(told, "stake", "adjustBets"),
  "payout-differs": (told) => likelyAmount(told, "payout", "settlement"),
  "round-differs": () => "Most likely a callback of one of the round's bets was lost, or came twice.",
  "net-differs": likelyMove,
  "session-differs": () => "Most likely an adjustBalance callback was lost, or was applied twice.",
  "stuck-open": () =>
    "Most likely the bet was never played at the provider, or both its record and its settlement were lost.",
  "balance-differs": () => "Most likely something else moved this player's money at the same time.",
  "provider-inconsistent": () => "Most likely the provider's record is wrong.",
  "transfer-inconclusive": () =>
    "It is unknown whether the money arrived: the provider gave no certain answer.",
  "transfer-differs": () => "Most likely one side booked wrong values.",
  "transfer-late-success": () => "Most likely the provider booked the transfer after reporting it as failed.",
  "top-up-rejected": () =>
    "Most likely the provider refused the top-up after your wallet had moved the money.",
  "top-up-inconclusive": () =>
    "It is unknown whether the money arrived: the provider gave no certain answer.",
  "top-up-differs": () => "Most likely one side booked wrong values.",
  "top-up-late-success": () => "Most likely the provider booked the top-up after reporting it as failed.",
};

function endOf({ provider }: Told): string {
  return provider?.status === "VOID" ? "cancel" : "settlement";
}

function likelyStatus({ provider, ledger }: Told): string {
  const [theirs, ours] = [provider?.status ?? null, ledger?.status ?? null];
  if (theirs === "VOID")
    return "Most likely the provider cancelled the bet later, and the callback of the cancel was lost.";
  if (theirs === "SETTLED" && ours === "void")
    return "Most likely the provider settled the bet after the cancel, and the callback of the settlement was lost.";
  return "Most likely the provider opened the bet again, and the callback of the rollback was lost.";
}

/** An older version with the ledger's amount shows that the provider changed the record afterwards. */
function likelyAmount({ ledger, timeline }: Told, field: "stake" | "payout", callback: string): string {
  const ours = ledger !== null && "stake" in ledger ? ledger[field] : null;
  const changed = timeline.find(
    (item) =>
      item.side === "provider" && item.replacedAt !== null && ours !== null && isEqual(item[field], ours),
  );
  if (changed !== undefined) {
    return `The provider agreed at first, but had changed its record by ${changed.replacedAt}: most likely the callback of this change was lost.`;
  }
  return `Most likely a callback (${callback}) was lost or came twice, or one side computed the ${field} differently.`;
}

function likelyMove(told: Told): string {
  const effect = effectOf(told);
  const moved = sidesOf(told)?.ledger?.moved ?? null;
  if (effect === null || moved === null)
    return "Most likely the wallet applied a callback twice, or not at all.";
  const real = parseAmount(moved, "moved");
  const expected = real.minus(effect);
  if (real.eq(ZERO))
    return "Most likely the wallet answered the callback with success, and never moved the money.";
  if (!expected.eq(ZERO) && real.eq(expected.plus(expected)))
    return "Most likely the wallet applied a callback twice.";
  if (!expected.eq(ZERO))
    return "Most likely the wallet applied one of the callbacks twice, or with another amount.";
  return effect.lt(ZERO)
    ? "Most likely the wallet did not pay a void bet back."
    : "Most likely the wallet paid a void bet back twice.";
}

function isEqual(a: string | null, b: string): boolean {
  return a !== null && parseAmount(a, "amount").eq(parseAmount(b, "amount"));
}
