/** How soon both sides agreed about a bet, and which share of the money that is (docs/closing.md#confirmed-by-both-sides). */

import { z } from "zod";
import { AMOUNT, type AnswerOf, objectOf, TEXT } from "./answer.ts";
import type { Instant } from "./clock.ts";

const HOUR_MS = 3_600_000;

/** How soon, the soonest first. */
export const CONFIRMED = ["hour", "day", "week", "later", "never"] as const;
export type Confirmed = (typeof CONFIRMED)[number];

/** The times that have a share. */
export const CONFIRMED_WITHIN = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 7 * 24 * HOUR_MS } as const;
export type ConfirmedWithin = keyof typeof CONFIRMED_WITHIN;
const WITHIN = ["hour", "day", "week"] as const satisfies readonly ConfirmedWithin[];

/**
 * @param at the time that decides the bet's day
 * @param seenAt when the last record or entry of it was there; both sides agree since then
 */
export function howSoon(at: Instant, seenAt: Instant): Confirmed {
  return WITHIN.find((within) => seenAt - at <= CONFIRMED_WITHIN[within]) ?? "later";
}

export function laterOf(a: Confirmed, b: Confirmed): Confirmed {
  return CONFIRMED.indexOf(a) > CONFIRMED.indexOf(b) ? a : b;
}

const SHARE = z.nullable(
  AMOUNT.meta({ description: "of `stake`, from 0 to 1, cut after six decimals; null: unknown" }),
);

/** The shares of a product's month in one currency. */
export const CONFIRMED_SHARES = objectOf({
  productId: TEXT,
  currency: TEXT,
  stake: AMOUNT.meta({ description: "the provider's stake of the closed days, with their corrections" }),
  withinHour: SHARE,
  withinDay: SHARE,
  withinWeek: SHARE,
});
export type ConfirmedShares = AnswerOf<typeof CONFIRMED_SHARES>;
