/** Amounts of money: exact decimals from the JSON text to the report, never floats. */

import Big from "big.js";
import { ReconError } from "./errors.ts";

/** An exact decimal amount. */
export type Amount = Big;

/** The most decimals of an amount: more than any currency has. */
const MOST_DECIMALS = 60;
const DECIMAL = /^-?(?:\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;

/** Refuses floats: `new Strict(0.1)` throws. */
const Strict = Big();
Strict.strict = true;

export const ZERO: Amount = new Strict("0");
const LARGEST: Amount = new Strict("1e61");

/**
 * Reads an amount from decimal text ("10", "-0.25", "1e3").
 * @param field names the amount in the error
 * @throws ReconError `bad-amount` if the text is not a decimal, is beyond 1e61, or has more than 60 decimals
 */
export function parseAmount(text: string, field: string): Amount {
  if (!DECIMAL.test(text)) throw badAmount(field, text);
  const amount = new Strict(text);
  if (isTooLong(amount)) throw badAmount(field, text);
  return amount;
}

/**
 * Whether `parseAmount` refuses the amount. The triggers of `callback_entries` have the same limits, both included: a
 * row of 1e61 that they accept and `parseAmount` refuses would stop the comparison of its product for good.
 */
export function isTooLong(amount: Amount): boolean {
  const { c, e } = amount;
  return (e > 60 && amount.abs().gt(LARGEST)) || c.length - e - 1 > MOST_DECIMALS;
}

/** Plain decimal text without exponent, every digit kept: "0.0000001", "20". */
export function formatAmount(amount: Amount): string {
  return amount.toFixed();
}

/** Without zeros that say nothing: "123446639.1000" is "123446639.1". @param amount decimal text */
function trimAmount(amount: string): string {
  return amount.includes(".") ? amount.replace(/\.?0+$/, "") : amount;
}

/** An amount with at least two decimals and its currency: "20.00 THB". */
export function formatMoney(amount: Amount, currency: string): string {
  const decimals = Math.max(2, amount.c.length - amount.e - 1);
  return `${amount.toFixed(decimals)} ${currency}`;
}

/**
 * The one format of an amount on pages: "1 234.50 THB", with all digits that say something, at least two decimals, and separated thousands.
 * @param amount decimal text @param currency null: without a currency
 */
export function sayAmount(amount: string, currency: string | null): string {
  const [whole = "", fraction = ""] = trimAmount(amount).split(".");
  const digits = `${groupThousands(whole)}.${fraction.padEnd(2, "0")}`;
  return currency === null ? digits : `${digits} ${currency}`;
}

/** An amount within a sentence, before its currency. */
const AMOUNT_IN_WORDS = /(?<![\w.-])-?\d+(?:\.\d+)?(?= [A-Z]{3,5}\b)/g;

/** A sentence with its amounts in the one format of pages. */
export function sayAmountsWithin(words: string): string {
  return words.replace(AMOUNT_IN_WORDS, (amount) => sayAmount(amount, null));
}

/** With narrow spaces that do not break. @param whole digits */
export function groupThousands(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Half up, as invoices round: 0.125 to two decimals is 0.13. */
export function roundAmount(amount: Amount, decimals: number): Amount {
  return amount.round(decimals, Big.roundHalfUp);
}

const Shares = Big();
Shares.DP = 6;
Shares.RM = Big.roundDown;

/** The part of a whole as decimal text of at most six decimals, cut: "1" is all of it. @returns null: the whole is 0 */
export function shareOf(part: Amount, whole: Amount): string | null {
  return whole.eq(ZERO) ? null : new Shares(part).div(new Shares(whole)).toFixed();
}

export function sumAmounts(amounts: Iterable<Amount>): Amount {
  let sum = ZERO;
  for (const amount of amounts) sum = sum.plus(amount);
  return sum;
}

export function largerAmount(a: Amount, b: Amount): Amount {
  return a.gt(b) ? a : b;
}

function badAmount(field: string, text: string): ReconError {
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return new ReconError("bad-amount", `${field} must be a decimal number, but is "${shown}"`);
}
