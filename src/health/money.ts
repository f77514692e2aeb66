/** Whether money moved outside the comparison, and whether all money of the ledger is in statements. Pure. */

import type { Instant } from "../clock.ts";
import { showDuration, showInstant } from "../clock.ts";
import { type Amount, formatMoney, parseAmount, ZERO } from "../money.ts";
import type { MoneyOutside, MoneySeen, MoneySums, SumsSeen } from "../money-outside.ts";
import { type Finding, notice } from "./finding.ts";

/** A measurement older than this says nothing about now. */
const LONGEST_AGE_MS = 900_000;

export interface MoneyReport {
  /** the money that moved outside the comparison; null: unknown, because no worker has measured it lately */
  readonly outside: MoneySeen["outside"];
  readonly sums: MoneySeen["sums"];
  readonly findings: readonly Finding[];
}

/** @param known the products of the settings @param everyMs `alerts.every`: the shortest time between two measurements */
export function judgeMoney(
  seen: MoneySeen,
  known: readonly string[],
  now: Instant,
  everyMs: number,
): MoneyReport {
  const { sums } = seen;
  const age = seen.outside === null ? null : now - seen.outside.measuredAt;
  const longest = Math.max(LONGEST_AGE_MS, 3 * everyMs, 2 * restAfter(seen.outside?.tookMs ?? 0));
  const isKnown = age !== null && age <= longest;
  const outside = isKnown ? seen.outside : null;
  const problem = isKnown
    ? null
    : age === null
      ? "it is not known yet whether money moved outside the comparison"
      : `whether money moved outside the comparison has been unknown for ${showDuration(age)}`;
  return {
    outside,
    sums,
    findings: [
      ...(problem === null ? [] : [notice("money-unknown", "unknown", problem)]),
      ...judgeOutside(outside, known),
      ...judgeSums(sums?.content ?? null),
    ],
  };
}

/** The pause after a measurement, so measuring takes at most a fiftieth of a connection's time. */
export function restAfter(tookMs: number): number {
  return 50 * tookMs;
}

function judgeOutside(outside: MoneySeen["outside"], known: readonly string[]): Finding[] {
  if (outside === null) return [];
  const { from, money, unknown } = outside.content;
  const moneyOf = Map.groupBy(money, ({ productId }) => productId);
  const recent = unknown.filter(({ until }) => until >= from);
  const since = showInstant(from);
  return [
    ...[...moneyOf]
      .filter(([productId]) => known.includes(productId))
      .map(([productId, own]): Finding => {
        const what = `${productId}: ${sayMoney(own)} moved since ${since} by ${countOf(own)} outside the comparison`;
        return {
          kind: "money-outside",
          subject: productId,
          productId,
          severity: "bad",
          what,
          remedy: `Check products[].walletMode and products[].settlement of ${productId}: adjustBalance is compared with "session" or "mixed", bets with "bets" or "mixed". If the entries are wrong, correct the money, and delete or correct the entries. docs/mismatches.md has the details.`,
          whatWhenOver: `${productId}: no money is outside the comparison any more on days that are not closed`,
        };
      }),
    ...recent
      .filter(({ productId }) => !known.includes(productId))
      .map(({ productId, entries }): Finding => {
        const own = moneyOf.get(productId) ?? [];
        const moved = own.length === 0 ? "" : `; ${sayMoney(own)} moved since ${since}`;
        return {
          kind: "unknown-product",
          subject: productId,
          productId,
          severity: "bad",
          what: `${productId} is not in the settings, so it is not compared: it has ${entries === 1 ? "1 entry" : `${entries} entries`} in the ledger${moved}`,
          remedy: `Add ${productId} to products of recon.config.json and restart the worker; its bets are then compared. If wallet-recon must not compare it, keep its entries out of the ledger.`,
          whatWhenOver: `${productId} is in the settings, or has no new entries and records any more`,
        };
      }),
  ];
}

function sayMoney(money: readonly MoneyOutside[]): string {
  return money
    .map(({ outside, currency }) => formatMoney(parseAmount(outside, "outside"), currency))
    .join(" and ");
}

function countOf(money: readonly MoneyOutside[]): string {
  const count = money.reduce((sum, { entries }) => sum + entries, 0);
  return count === 1 ? "1 entry" : `${count} entries`;
}

/** The money that is in the ledger and in no statement, or the other way round. */
export function missingOf({ ledger, statements, outside }: Omit<MoneySums, "isConfirmed">): Amount {
  const [all, stated, apart] = [ledger, statements, outside].map((text) => parseAmount(text, "sum"));
  return (all ?? ZERO).minus(stated ?? ZERO).minus(apart ?? ZERO);
}

function judgeSums(seen: SumsSeen | null): Finding[] {
  return (seen?.sums ?? []).flatMap((one): Finding[] => {
    const missing = missingOf(one);
    if (missing.eq(ZERO) || !one.isConfirmed) return [];
    const { productId, currency, ledger, statements, outside } = one;
    const say = (text: string) => formatMoney(parseAmount(text, "sum"), currency);
    return [
      {
        kind: "books-wrong",
        subject: `${productId} ${currency}`,
        productId,
        severity: "bad",
        what: `${productId}: the ledger's entries moved ${say(ledger)}, but all statements together have ${say(statements)}, and ${say(outside)} is outside the comparison: ${formatMoney(missing, currency)} is in no statement`,
        remedy:
          "Do not rely on the figures of this product. This is a bug in wallet-recon: please report it, with the output of recon doctor.",
        whatWhenOver: `${productId}: all money of the ledger in ${currency} is in statements again`,
      },
    ];
  });
}
