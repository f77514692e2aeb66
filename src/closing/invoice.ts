/** Compares the provider's invoice of a month with the closed books. Pure. */

import { z } from "zod";
import { AMOUNT, type AnswerOf, COUNT, FLAG, listOf, objectOf, TEXT } from "../answer.ts";
import { CORRECTION, type Correction, type MonthReport, OPEN_DAY } from "../closed.ts";
import { type Amount, formatAmount, parseAmount, roundAmount, sumAmounts, ZERO } from "../money.ts";
import type { ReportSide } from "../report.ts";

/** A line of the invoice, as read from its file. */
export interface InvoiceLine {
  /** counted from 1, with the header */
  readonly line: number;
  readonly productId: string;
  readonly currency: string;
  readonly turnover: Amount;
  readonly ggr: Amount;
  /** a share of the ggr: 0.12; null: the invoice does not say it */
  readonly rate: Amount | null;
  /** null: the invoice does not say it */
  readonly fee: Amount | null;
  /** the number of decimals with which the fee is written */
  readonly feeDecimals: number;
}

const INVOICE_FIGURE = objectOf({
  invoice: AMOUNT,
  closed: z.nullable(AMOUNT.meta({ description: "the sum of the closed days; null: unknown" })),
  difference: z.nullable(AMOUNT.meta({ description: "invoice − closed" })),
  corrections: z.nullable(AMOUNT.meta({ description: "what the corrections of these days add to `closed`" })),
  left: z.nullable(AMOUNT.meta({ description: "difference − corrections; anything but 0 is not explained" })),
});
export type InvoiceFigure = AnswerOf<typeof INVOICE_FIGURE>;

const INVOICE_FEE = objectOf({
  rate: z.nullable(AMOUNT.meta({ description: "a share of the ggr, such as 0.12" })),
  invoice: z.nullable(AMOUNT),
  expected: z.nullable(
    AMOUNT.meta({
      description: "rate × the invoice's ggr, rounded half up to the decimals of the invoice's fee",
    }),
  ),
  left: z.nullable(AMOUNT.meta({ description: "invoice − expected; null: the invoice lacks one of them" })),
});

const CHECKED_LINE = objectOf({
  line: COUNT.meta({ description: "of the file" }),
  productId: TEXT,
  currency: TEXT,
  turnover: INVOICE_FIGURE.meta({ description: "the provider's stake" }),
  ggr: INVOICE_FIGURE.meta({ description: "the provider's stake − payout" }),
  fee: z.nullable(INVOICE_FEE.meta({ description: "null: the invoice has neither rate nor fee" })),
  corrections: listOf(CORRECTION).meta({
    description: "those that changed the provider's stake or payout, the first 1,000",
  }),
  moreCorrections: COUNT.meta({ description: "how many more there are" }),
  incomplete: z.nullable(
    TEXT.meta({ description: "the time that the closed figures lack, as a sentence; null: they are whole" }),
  ),
  unknown: z.nullable(TEXT.meta({ description: "why the closed figures are unknown, as a sentence" })),
});
export type CheckedLine = AnswerOf<typeof CHECKED_LINE>;

export const INVOICE_CHECK = objectOf({
  month: TEXT.regex(/^\d{4}-\d{2}$/),
  zone: TEXT,
  agrees: FLAG.meta({ description: "nothing is left, and every product of the month is in the invoice" }),
  lines: listOf(CHECKED_LINE),
  missing: listOf(
    objectOf({ productId: TEXT, currency: TEXT, turnover: AMOUNT, ggr: AMOUNT }).meta({
      description: "of the month but not in the invoice, with the corrections",
    }),
  ),
  open: listOf(OPEN_DAY).meta({ description: "the days that are in no closed figure" }),
  ignoredColumns: listOf(TEXT),
});
export type InvoiceCheck = AnswerOf<typeof INVOICE_CHECK>;

/** Both figures of a provider's side. */
interface Figures {
  readonly turnover: Amount;
  readonly ggr: Amount;
}

/** What each line is compared with. */
interface Books extends Pick<MonthReport, "month" | "days" | "rows" | "corrections"> {
  /** the products whose bets are pulled */
  readonly pulled: ReadonlySet<string>;
}

const MOST_CORRECTIONS = 1_000;

/** Compares each line with the closed days and their corrections. */
export function checkInvoice(
  lines: readonly InvoiceLine[],
  books: Books,
): Pick<InvoiceCheck, "agrees" | "lines" | "missing"> {
  const rows = new Map(books.rows.map((row) => [keyOf(row), row]));
  const corrections = Map.groupBy(books.corrections.filter(changesProvider), keyOf);
  const closedOf = (key: string) => figuresOf(rows.get(key)?.provider ?? null);
  const correctedOf = (key: string) => sumFigures((corrections.get(key) ?? []).map(changeOf));
  const withBets = new Set(
    [...books.rows.filter(({ provider }) => provider.bets > 0), ...books.corrections].map(keyOf),
  );
  const checked = lines.map((line): CheckedLine => {
    const key = keyOf(line);
    const unknown = whyUnknown(line, books, withBets.has(key));
    const own = corrections.get(key) ?? [];
    const [closed, corrected] = [closedOf(key), correctedOf(key)];
    const compare = (of: keyof Figures) =>
      unknown === null ? toFigure(line[of], closed[of], corrected[of]) : unknownFigure(line[of]);
    return {
      line: line.line,
      productId: line.productId,
      currency: line.currency,
      turnover: compare("turnover"),
      ggr: compare("ggr"),
      fee: checkFee(line),
      corrections: own.slice(0, MOST_CORRECTIONS),
      moreCorrections: Math.max(0, own.length - MOST_CORRECTIONS),
      incomplete: sayIncomplete(line, books),
      unknown,
    };
  });
  const invoiced = new Set(lines.map(keyOf));
  const missing = [...new Map([...books.rows, ...books.corrections].map((one) => [keyOf(one), one]))]
    .filter(([key]) => withBets.has(key) && !invoiced.has(key))
    .map(([key, { productId, currency }]) => {
      const { turnover, ggr } = sumFigures([closedOf(key), correctedOf(key)]);
      return { productId, currency, turnover: formatAmount(turnover), ggr: formatAmount(ggr) };
    })
    // A bet that was voided, or moved to another month, leaves nothing to be invoiced.
    .filter(({ turnover, ggr }) => turnover !== "0" || ggr !== "0");
  return { agrees: missing.length === 0 && checked.every(isExplained), lines: checked, missing };
}

/** Whether nothing of a line is left. A fee without a rate cannot be checked, and is not left. */
export function isExplained({ turnover, ggr, fee }: CheckedLine): boolean {
  return turnover.left === "0" && ggr.left === "0" && (fee === null || fee.left === null || fee.left === "0");
}

function keyOf({ productId, currency }: { readonly productId: string; readonly currency: string }): string {
  return JSON.stringify([productId, currency]);
}

function whyUnknown(
  { productId }: InvoiceLine,
  { month, days, pulled }: Books,
  hasBets: boolean,
): string | null {
  if (days.length === 0) return `No day of ${month} is closed.`;
  return pulled.has(productId) || hasBets
    ? null
    : `The bets of ${productId} are not pulled (walletMode "transfer").`;
}

function sayIncomplete({ productId }: InvoiceLine, { days }: Books): string | null {
  const without = days.filter(({ acceptedGaps = [] }) =>
    acceptedGaps.some((gap) => gap.productId === productId),
  );
  if (without.length === 0) return null;
  const dates = without.map(({ day }) => day).join(", ");
  return `${productId} was closed without some of its time on ${dates}: what is fetched of it later is in the corrections.`;
}

function changesProvider({ before, after }: Correction): boolean {
  return before.provider.stake !== after.provider.stake || before.provider.payout !== after.provider.payout;
}

function changeOf({ before, after }: Correction): Figures {
  const [was, is] = [figuresOf(before.provider), figuresOf(after.provider)];
  return { turnover: is.turnover.minus(was.turnover), ggr: is.ggr.minus(was.ggr) };
}

/** @param side null: nothing of it was counted */
function figuresOf(side: ReportSide | null): Figures {
  if (side === null) return { turnover: ZERO, ggr: ZERO };
  const turnover = parseAmount(side.stake, "stake");
  return { turnover, ggr: turnover.minus(parseAmount(side.payout, "payout")) };
}

function sumFigures(all: readonly Figures[]): Figures {
  return {
    turnover: sumAmounts(all.map(({ turnover }) => turnover)),
    ggr: sumAmounts(all.map(({ ggr }) => ggr)),
  };
}

function toFigure(invoice: Amount, closed: Amount, corrections: Amount): InvoiceFigure {
  const difference = invoice.minus(closed);
  return {
    invoice: formatAmount(invoice),
    closed: formatAmount(closed),
    difference: formatAmount(difference),
    corrections: formatAmount(corrections),
    left: formatAmount(difference.minus(corrections)),
  };
}

function unknownFigure(invoice: Amount): InvoiceFigure {
  return { invoice: formatAmount(invoice), closed: null, difference: null, corrections: null, left: null };
}

function checkFee({ rate, fee, feeDecimals, ggr }: InvoiceLine): CheckedLine["fee"] {
  if (rate === null && fee === null) return null;
  const exact = rate?.times(ggr) ?? null;
  const expected = exact === null || fee === null ? exact : roundAmount(exact, feeDecimals);
  const textOf = (amount: Amount | null) => (amount === null ? null : formatAmount(amount));
  const left = expected === null || fee === null ? null : fee.minus(expected);
  return { rate: textOf(rate), invoice: textOf(fee), expected: textOf(expected), left: textOf(left) };
}
