/** Says what changed in the bets of closed days, in words for finance. Pure. */

import type { Decision } from "../mismatch.ts";
import { type Amount, formatMoney, parseAmount, sumAmounts } from "../money.ts";
import {
  addContribution,
  type Contribution,
  type Counted,
  type RewardsAndTips,
  type SideSums,
} from "../report.ts";

/** What counts on a closed day: a bet, or several that were compared together. */
type OnDay = Contribution & Pick<Counted, "username" | "subject" | "betRef"> & { readonly day: string };

/** One change of a closed day. */
export interface Change {
  /** null: it did not count on the day */
  readonly was: OnDay | null;
  /** null: it does not count on the day any more */
  readonly is: OnDay | null;
  /** the day that the bet moved to, or came from; null: none is known */
  readonly otherDay: string | null;
  readonly isOtherOpen: boolean;
  /** if the bet moved to or from a currency: the other one, and whether it does not count there any more */
  readonly otherCurrency: {
    readonly currency: string;
    readonly day: string;
    readonly isLeft: boolean;
  } | null;
}

/**
 * Whether a bet seems to be new to the books: nothing in its neighbourhood counted on another closed day before.
 */
export function seemsToArrive({ was, is, otherDay, otherCurrency }: Change): boolean {
  return was === null && is !== null && otherDay === null && otherCurrency === null;
}

/**
 * @param changes all that become corrections: of a round of which a part is not corrected, the part that is
 * @returns a reason for each
 */
export function reasonsOf(changes: readonly Change[]): string[] {
  const byWhole = Map.groupBy(changes, wholeOf);
  const reasons = new Map([...byWhole].map(([key, own]) => [key, reasonOfWhole(own)]));
  return changes.map((change) => reasons.get(wholeOf(change)) ?? reasonOf(change));
}

/** The round or the session whose bets can be compared together or one by one. */
function wholeOf({ was, is }: Change): string {
  const { username, subject, currency } = is ?? was ?? { username: "", subject: "", currency: "" };
  return JSON.stringify([username, subject, currency]);
}

/**
 * Bets that agree only together count together, and otherwise one by one. So if one part became smaller and another
 * larger, no bet came or went: only the sum of all parts says what a side changed.
 * @returns null: each change speaks for itself
 */
function reasonOfWhole(changes: readonly Change[]): string | null {
  const sizes = new Map<string, { before: number; now: number }>();
  for (const { was, is } of changes) {
    const ref = (is ?? was)?.betRef ?? "";
    const size = sizes.get(ref) ?? { before: 0, now: 0 };
    sizes.set(ref, { before: size.before + sizeOf(was), now: size.now + sizeOf(is) });
  }
  const all = [...sizes.values()];
  if (!all.some(({ before, now }) => now > before) || !all.some(({ before, now }) => now < before))
    return null;
  const before = all.filter((size) => size.before > 0).length;
  const now = all.filter((size) => size.now > 0).length;
  const [was, is] = [sumOf(changes.map((change) => change.was)), sumOf(changes.map((change) => change.is))];
  if (was === null || is === null) return null;
  const said = sidesOf(was, is, "the");
  const sides = said.length === 0 ? "both sides are as they were" : said.join("; ");
  const words = (changes[0]?.is ?? changes[0]?.was)?.subject === "sessions" ? OF_SESSIONS : OF_BETS;
  const how = now > before ? words.apart : now < before ? words.together : words.otherwise;
  return `${how} In sum, ${sides}.`;
}

const OF_BETS = {
  apart: "The bets of the round count one by one now; before, they counted together.",
  together: "The bets of the round count together now; before, they counted one by one.",
  otherwise: "The bets of the round are matched in another way now.",
};
const OF_SESSIONS = {
  apart: "The session counts as several sessions now.",
  together: "Several sessions count as one now.",
  otherwise: "The session has another beginning now.",
};

function sizeOf(one: OnDay | null): number {
  return one === null ? 0 : Math.max(one.provider.bets, one.ledger.bets);
}

function sumOf(all: readonly (OnDay | null)[]): Contribution | null {
  return all.reduce<Contribution | null>(
    (sum, one) => (one === null ? sum : sum === null ? one : addContribution(sum, one)),
    null,
  );
}

function reasonOf({ was, is, otherDay, isOtherOpen, otherCurrency }: Change): string {
  const here = is ?? was;
  if (here !== null && (was === null || is === null) && otherDay === null && otherCurrency !== null) {
    const { currency, day, isLeft } = otherCurrency;
    const there = day === here.day ? currency : `${currency} on ${day}`;
    const side = onlySideOf(here);
    const bet = side === null ? "The bet" : `The ${side}'s bet`;
    if (is === null) return `${bet} no longer counts in ${here.currency}, but in ${there}.`;
    if (isLeft) return `${bet} counts in ${here.currency} now; before, it counted in ${there}.`;
    const asWell = side === null ? " as well" : "";
    return `${bet} counts in ${here.currency}${asWell} now; before, it counted only in ${there}.`;
  }
  if (was === null) {
    if (otherDay !== null) return `The bet counts on this day now; before, it counted on ${otherDay}.`;
    return "The bet arrived after the day was closed.";
  }
  if (is === null) {
    return otherDay === null
      ? "The bet no longer counts on any day: no side counts it now, as for a void or cancelled bet."
      : `The bet no longer counts on this day, but on ${otherDay}${isOtherOpen ? ", which is not closed" : ""}.`;
  }
  const said = sidesOf(was, is, "The");
  if (said.length > 0) return `${said.join("; ")}.`;
  const [before, now] = [partsOf(was), partsOf(is)];
  const explained = PARTS.flatMap((part) =>
    before[part].eq(now[part])
      ? []
      : [`${part} from ${formatMoney(before[part], is.currency)} to ${formatMoney(now[part], is.currency)}`],
  );
  return `Both sides are as they were. What explains their difference changed: ${explained.join(", ")}.`;
}

/** The side on which alone something counts; null: on both. */
function onlySideOf({ provider, ledger }: Contribution): "provider" | "ledger" | null {
  if (provider.bets > 0 === ledger.bets > 0) return null;
  return provider.bets > 0 ? "provider" : "ledger";
}

const DONE = { resolved: "resolved", ignored: "ignored", open: "opened again" } as const;
const LONGEST_NOTE = 200;

/** A sentence for each decision: the mismatch, the person, the corrections by hand with their refs, and the note. */
export function sayDecisions(decisions: readonly Decision[]): string[] {
  return decisions.map(({ mismatchId, status, by, note, adjustments }) => {
    const made = adjustments.map(
      ({ ref, amount, currency }) => `${ref} of ${formatMoney(parseAmount(amount, "adjustment"), currency)}`,
    );
    const corrections =
      made.length === 0
        ? ""
        : ` with the ${made.length === 1 ? "correction" : "corrections"} ${made.join(", ")}`;
    const said =
      note === null || note === ""
        ? ""
        : ` (“${note.slice(0, LONGEST_NOTE)}${note.length > LONGEST_NOTE ? "…" : ""}”)`;
    return `Mismatch ${mismatchId} was ${DONE[status]} by ${by}${corrections}${said}.`;
  });
}

const PARTS = ["mismatches", "adjustments by hand", "pending", "rounding", "rest"] as const;

/** What the statement says of a difference, by the names of its lines. */
function partsOf(one: Contribution): Readonly<Record<(typeof PARTS)[number], Amount>> {
  const { provider, ledger, mismatches, adjustments, pending, rounding } = one;
  const rest = sumAmounts([mismatches, adjustments, pending, rounding])
    .neg()
    .plus(provider.net)
    .minus(ledger.net);
  return { mismatches, "adjustments by hand": adjustments, pending, rounding, rest };
}

function sidesOf(was: Contribution, is: Contribution, the: "The" | "the"): string[] {
  return [
    ...amountsOf(`${the} provider`, was.provider, is.provider, is.currency),
    ...amountsOf(
      `${the} ledger`,
      { ...was.ledger, ...ofWhich(was) },
      { ...is.ledger, ...ofWhich(is) },
      is.currency,
    ),
  ];
}

const ofWhich = ({ rewards, tips }: RewardsAndTips): RewardsAndTips => ({ rewards, tips });

type Amounts = SideSums & Partial<RewardsAndTips>;

function amountsOf(side: string, was: Amounts, is: Amounts, currency: string): string[] {
  const parts = [
    ...(was.bets === is.bets ? [] : [`bets from ${was.bets} to ${is.bets}`]),
    ...(["stake", "payout", "net", "rewards", "tips"] as const).flatMap((field) => {
      const [before, now] = [was[field], is[field]];
      if (before == null || now == null || before.eq(now)) return [];
      return [`${field} from ${formatMoney(before, currency)} to ${formatMoney(now, currency)}`];
    }),
  ];
  return parts.length === 0 ? [] : [`${side} changed ${parts.join(", ")}`];
}
