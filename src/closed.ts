/** Closed books: the statement of a closed day, the corrections that later changes cause, and the month. */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, DATE, INSTANT, listOf, objectOf, TEXT } from "./answer.ts";
import { CONFIRMED_SHARES } from "./confirmed.ts";
import { DAY_REPORT, LEDGER_REPORT_SIDE, REPORT_ROW, REPORT_SIDE } from "./report.ts";
import { TRANSFER_SUMS } from "./transfer.ts";

/** sha-256 in hexadecimal */
export const HASH = TEXT.regex(/^[0-9a-f]{64}$/);

/** What makes a closed day's statement one of a chain. */
const CLOSED_STAMP = objectOf({
  /** 1, 2, 3, … without a gap */
  number: COUNT,
  closedAt: INSTANT,
  /** of the statement, its number and `previousHash` */
  hash: HASH,
  /** the hash of the day before; null: the first closed day */
  previousHash: z.nullable(HASH),
});
export type ClosedStamp = AnswerOf<typeof CLOSED_STAMP>;

/** What a bet counts for. The meaning of the amounts is that of a report's row. */
const BET_FIGURES = objectOf({
  provider: REPORT_SIDE,
  ledger: LEDGER_REPORT_SIDE,
  mismatches: AMOUNT,
  adjustments: AMOUNT,
  pending: AMOUNT,
  rounding: AMOUNT,
  outside: AMOUNT,
});
export type BetFigures = AnswerOf<typeof BET_FIGURES>;

/** A change of a closed day. It belongs to the day on which it arrived. */
export const CORRECTION = objectOf({
  day: DATE.meta({ description: "the closed day that changed" }),
  productId: TEXT,
  currency: TEXT,
  username: TEXT,
  /** null: the provider does not have the bet */
  betId: z.nullable(TEXT),
  /** null: the ledger does not have the bet */
  transactionId: z.nullable(TEXT),
  before: BET_FIGURES,
  after: BET_FIGURES,
  difference: AMOUNT.meta({ description: "by how much the day's difference changed" }),
  /** one sentence: what changed */
  reason: TEXT,
  /** when it was found */
  at: INSTANT,
});
export type Correction = AnswerOf<typeof CORRECTION>;

/** Time of a closed day that was not fetched, and that the operator accepted. */
export const ACCEPTED_GAP = objectOf({
  productId: TEXT,
  missing: listOf(objectOf({ from: INSTANT, to: INSTANT })),
  by: TEXT.meta({ description: "who accepted it" }),
  note: TEXT.meta({ description: "why" }),
  at: INSTANT,
});
export type AcceptedGap = AnswerOf<typeof ACCEPTED_GAP>;

const GGR = AMOUNT.meta({ description: "stake − payout: above 0 the operator won" });

/** The sums of all products in one currency. */
export const REPORT_TOTAL = REPORT_ROW.omit({ productId: true }).extend({
  /** the provider's */
  ggr: GGR,
  provider: REPORT_SIDE.extend({ ggr: GGR }),
  ledger: LEDGER_REPORT_SIDE.extend({ ggr: GGR }),
});
export type ReportTotal = AnswerOf<typeof REPORT_TOTAL>;

/** A day's statement as a month has it. */
const STATED_DAY = DAY_REPORT.extend({
  /** the beginning and the end of the day */
  from: INSTANT,
  to: INSTANT,
  /** one for each currency */
  totals: listOf(REPORT_TOTAL),
  /** null: the day is open */
  closed: z.nullable(CLOSED_STAMP),
  /** the corrections of earlier days that arrived on this day */
  corrections: listOf(CORRECTION),
  acceptedGaps: listOf(ACCEPTED_GAP)
    .meta({ description: "the missing time with which the day was closed; absent if there is none" })
    .optional(),
});
export type StatedDay = AnswerOf<typeof STATED_DAY>;

const DAY_STATEMENT = STATED_DAY.extend({
  /** no part of what is stored for a closed day */
  transfers: TRANSFER_SUMS,
});
export type DayStatement = AnswerOf<typeof DAY_STATEMENT>;

/** A day of a month that is not closed, with the reason in one sentence. */
export const OPEN_DAY = objectOf({ day: DATE, reason: TEXT });
export type OpenDay = AnswerOf<typeof OPEN_DAY>;

const MONTH_REPORT = objectOf({
  month: TEXT.regex(/^\d{4}-\d{2}$/),
  zone: TEXT,
  /** the closed days of the month */
  days: listOf(STATED_DAY),
  /** the sums of the closed days */
  rows: listOf(REPORT_ROW),
  /** of the rows: one for each currency */
  totals: listOf(REPORT_TOTAL),
  /** every correction of a closed day of the month, whenever it arrived: `rows` and these together are today's data */
  corrections: listOf(CORRECTION),
  open: listOf(OPEN_DAY),
  /** of the closed days: the share of the money that both sides confirmed in time */
  confirmed: listOf(CONFIRMED_SHARES),
});
export type MonthReport = AnswerOf<typeof MONTH_REPORT>;

const FIGURES = REPORT_TOTAL.omit({ currency: true });
/** May be below 0. */
const CHANGE_OF_COUNT = z.number().meta({ type: "integer" });

/** One product and currency on two days. */
const COMPARED_ROW = objectOf({
  productId: TEXT,
  currency: TEXT,
  day: z.nullable(FIGURES).meta({ description: "null: the statement of `day` has no such row" }),
  against: z.nullable(FIGURES).meta({ description: "the same of the day of `against`" }),
  change: z
    .nullable(
      FIGURES.omit({ complete: true }).extend({
        provider: FIGURES.shape.provider.extend({ bets: CHANGE_OF_COUNT }),
        ledger: FIGURES.shape.ledger.extend({ bets: CHANGE_OF_COUNT }),
      }),
    )
    .meta({ description: "`day` − `against`; null: one of them is null" }),
});
export type ComparedRow = AnswerOf<typeof COMPARED_ROW>;

const NAMED_DAY = STATED_DAY.pick({ day: true, zone: true, from: true, to: true, closed: true });

/** Two days beside each other. */
const DAYS_COMPARED = NAMED_DAY.extend({
  /** the day that is compared with */
  against: NAMED_DAY,
  rows: listOf(COMPARED_ROW),
});
export type DaysCompared = AnswerOf<typeof DAYS_COMPARED>;

/** The statement of a day, of a month, or two days beside each other. */
export const REPORT = z.xor([DAY_STATEMENT, MONTH_REPORT, DAYS_COMPARED]).meta({ type: "object" });

/** A closed day whose stored statement is not as it was closed. */
export interface Flaw {
  readonly day: string;
  /** a part of a sentence, whose subject is the day */
  readonly what: string;
}

/** Money of a complete day, with its corrections if it is closed, that nothing explains. */
export interface UnexplainedRest {
  readonly day: string;
  readonly productId: string;
  readonly currency: string;
  /** signed decimal text, never 0 */
  readonly rest: string;
}

/** The result of checking the books. */
export interface BooksSeen {
  /** the number of the last closed day; 0: none was closed */
  readonly number: number;
  readonly flaws: readonly Flaw[];
  readonly rests: readonly UnexplainedRest[];
  /**
   * days that could not be judged: open ones whose sums could not be computed in time, for which what the check before found still
   * counts; and closed ones of which a change was about to become a correction
   */
  readonly left: readonly string[];
}
