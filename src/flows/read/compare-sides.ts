/** Pairs the values of a mismatch's two sides for display, and marks those that differ. Pure. */

import { z } from "zod";
import { type AnswerOf, FLAG, objectOf, TEXT } from "../../answer.ts";
import { effectOf, expectedOf, type Judged, sidesOf } from "../../effect.ts";
import type { LedgerSide, MismatchKind, ProviderSide, TransferSide } from "../../mismatch.ts";
import { type Amount, formatAmount, parseAmount } from "../../money.ts";

/** One field of both sides as text; null: that side has no value. */
export const FIELD_COMPARISON = objectOf({
  name: TEXT,
  provider: z.nullable(TEXT),
  ledger: z.nullable(TEXT),
  /** null: the field is not compared */
  differs: z.nullable(FLAG),
  /** amount: both are decimal text; time: both are ISO 8601 */
  as: z.enum(["text", "amount", "time"]),
});
export type FieldComparison = AnswerOf<typeof FIELD_COMPARISON>;

/** Kinds in which a side's absence is the difference. */
const MISSING: ReadonlySet<MismatchKind> = new Set([
  "missing-in-ledger",
  "missing-at-provider",
  "vanished-at-provider",
  "stuck-open",
]);

export function compareSides(mismatch: Judged): FieldComparison[] {
  const { kind, provider, ledger } = mismatch;
  const fields =
    isTransfer(provider) || isTransfer(ledger)
      ? compareTransfer(provider as TransferSide | null, ledger as TransferSide | null)
      : compareBet(mismatch, provider as ProviderSide | null, ledger as LedgerSide | null);
  const presence = MISSING.has(kind)
    ? [
        {
          name: "Known",
          provider: provider === null ? "no" : "yes",
          ledger: ledger === null ? "no" : "yes",
          differs: true,
          as: "text" as const,
        },
      ]
    : [];
  return [...presence, ...fields].filter((one) => one.provider !== null || one.ledger !== null);
}

function isTransfer(side: ProviderSide | LedgerSide | TransferSide | null): boolean {
  return side !== null && "productId" in side;
}

function compareBet(
  judged: Judged,
  provider: ProviderSide | null,
  ledger: LedgerSide | null,
): FieldComparison[] {
  const { kind } = judged;
  const [theirs, ours] = [stateOf(provider?.status), stateOf(ledger?.status)];
  const isBoth = provider !== null && ledger !== null;
  // The sums of a session are of different kinds; only their net result is compared.
  const comparesAmounts = isBoth && kind !== "session-differs" && !(theirs === "void" && ours === "void");
  const comparesPayout = comparesAmounts && !(theirs === "open" && ours === "open");
  const expected = expectedMove(judged);
  return [
    fieldOf("Id", provider?.id, ledger?.txnId),
    fieldOf("Bet", provider?.betId, null),
    {
      ...fieldOf("Player", provider?.username, ledger?.username),
      differs: isBoth ? provider.username !== ledger.username : null,
    },
    {
      ...fieldOf("Currency", provider?.currency, ledger?.currency),
      differs: isBoth ? provider.currency !== ledger.currency : null,
    },
    {
      ...fieldOf("Status", provider?.status, ledger?.status),
      differs: theirs === null || ours === null ? null : theirs !== ours,
    },
    money("Stake", provider?.stake, ledger?.stake, comparesAmounts),
    money("Payout", provider?.payout, ledger?.payout, comparesPayout),
    money(
      "Moved in the wallet",
      expected === null ? null : formatAmount(expected),
      ledger?.moved,
      ledger !== null && expected !== null,
    ),
    timeOf("First callback", null, ledger?.firstEntryAt),
    timeOf("Last callback", null, ledger?.lastEntryAt),
    timeOf("Accounted", provider?.accountingDate, null),
    timeOf("Updated", provider?.updatedDate, null),
  ];
}

function compareTransfer(provider: TransferSide | null, ledger: TransferSide | null): FieldComparison[] {
  const same = (a: string | null | undefined, b: string | null | undefined) =>
    a === null || a === undefined || b === null || b === undefined ? null : a !== b;
  return [
    fieldOf("Status", provider?.status, ledger?.status),
    money("Amount", provider?.amount, ledger?.amount, provider !== null && ledger !== null),
    {
      ...fieldOf("Currency", provider?.currency, ledger?.currency),
      differs: same(provider?.currency, ledger?.currency),
    },
    {
      ...fieldOf("Player", provider?.username, ledger?.username),
      differs: same(provider?.username, ledger?.username),
    },
    {
      ...fieldOf("Product", provider?.productId, ledger?.productId),
      differs: same(provider?.productId, ledger?.productId),
    },
    timeOf("At", provider?.at, ledger?.at),
  ];
}

/** The amount that the wallet should have moved; null: unknown. If the sides have two currencies, it is in the record's. */
function expectedMove(judged: Judged): Amount | null {
  const { kind } = judged;
  const sides = sidesOf(judged);
  const effect = effectOf(judged);
  if (sides === null) return null;
  if (effect !== null) return parseAmount(sides.ledger?.moved ?? "0", "moved").minus(effect);
  return kind === "currency-differs" ? (expectedOf(kind, sides)[0] ?? null) : null;
}

type SideState = "open" | "settled" | "void";

/** One word for the statuses of both sides. */
function stateOf(status: string | null | undefined): SideState | null {
  const word = status?.toLowerCase();
  if (word === "unsettled") return "open";
  return word === "open" || word === "settled" || word === "void" ? word : null;
}

function fieldOf(
  name: string,
  provider: string | null | undefined,
  ledger: string | null | undefined,
): FieldComparison {
  return { name, provider: provider ?? null, ledger: ledger ?? null, differs: null, as: "text" };
}

function money(
  name: string,
  provider: string | null | undefined,
  ledger: string | null | undefined,
  isCompared: boolean,
): FieldComparison {
  const [theirs, ours] = [provider ?? null, ledger ?? null];
  const differs =
    isCompared && theirs !== null && ours !== null
      ? !parseAmount(theirs, name).eq(parseAmount(ours, name))
      : null;
  return { name, provider: theirs, ledger: ours, differs, as: "amount" };
}

function timeOf(
  name: string,
  provider: string | null | undefined,
  ledger: string | null | undefined,
): FieldComparison {
  return { ...fieldOf(name, provider, ledger), as: "time" };
}
