/** Judges the closed books: whether they are as they were closed, and whether every complete day adds up. Pure. */

import { type Instant, showDuration } from "../clock.ts";
import type { BooksSeen, Flaw, UnexplainedRest } from "../closed.ts";
import { formatMoney, parseAmount } from "../money.ts";
import type { Measured } from "../money-outside.ts";
import { type Finding, notice } from "./finding.ts";

const DAY_MS = 24 * 3_600_000;
/** A worker checks once a day; a check that is older says nothing about now. */
const LONGEST_AGE_MS = 2 * DAY_MS;

export interface Books {
  /** the date of the last closed day; null: none is closed */
  readonly closedUpTo: string | null;
  /** the main problem, as a sentence; null: none */
  readonly problem: string | null;
  readonly findings: readonly Finding[];
}

/**
 * @param closedUpTo the date of the last closed day; null: none is closed
 * @param ofSums the findings of money that is in no statement
 */
export function judgeBooks(
  closedUpTo: string | null,
  seen: Measured<BooksSeen> | null,
  ofSums: readonly Finding[],
  now: Instant,
): Books {
  const wrong = seen === null ? [] : [...seen.content.flaws.map(ofFlaw), ...seen.content.rests.map(ofRest)];
  const unknown = closedUpTo === null ? null : sayUnknown(seen, now);
  const findings = [...wrong, ...(unknown === null ? [] : [notice("books-unknown", "unknown", unknown)])];
  const problem = [...wrong, ...ofSums][0]?.what ?? unknown;
  return { closedUpTo, problem, findings };
}

function sayUnknown(seen: Measured<BooksSeen> | null, now: Instant): string | null {
  if (seen === null) return "no worker has checked the closed days yet";
  const age = now - seen.measuredAt;
  return age <= LONGEST_AGE_MS ? null : `no worker has checked the closed days for ${showDuration(age)}`;
}

function ofFlaw({ day, what }: Flaw): Finding {
  return {
    kind: "books-wrong",
    subject: `closed day ${day}`,
    productId: null,
    severity: "bad",
    what: `the closed day ${day} ${what}`,
    remedy:
      "Do not use its figures. Find out who writes to the database besides wallet-recon, and compare with a backup. recon report --verify makes the same check.",
    whatWhenOver: `the closed day ${day} is as it was closed again`,
  };
}

function ofRest({ day, productId, currency, rest }: UnexplainedRest): Finding {
  return {
    kind: "books-wrong",
    subject: `${day} ${productId} ${currency}`,
    productId,
    severity: "bad",
    what: `${productId}: nothing explains ${formatMoney(parseAmount(rest, "rest"), currency)} of the complete day ${day}`,
    remedy: `Do not rely on this figure. recon report --day ${day} shows the row. If a mismatch of the day was resolved with a correction of another amount, reopen it and correct the amount. Otherwise this is an error of wallet-recon: please report it, with the output of recon doctor.`,
    whatWhenOver: `${productId}: all money of ${day} in ${currency} is explained again`,
  };
}
