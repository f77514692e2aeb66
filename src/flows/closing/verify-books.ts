/** The whole check of the closed books: the chain of the statements, and the corrections that no statement holds yet. */

import { z } from "zod";
import { type AnswerOf, COUNT, DATE, objectOf, TEXT } from "../../answer.ts";
import { type Flaw, HASH } from "../../closed.ts";
import { readLastClosed } from "../../closing/closed-day-store.ts";
import { countUnsealed, findUnequalSums, type UnequalSum } from "../../closing/sums-check-store.ts";
import type { Query } from "../../db/client.ts";
import { readDeletedTime } from "../../db/retention-store.ts";
import { allowStatementTime, inSnapshot } from "../../db/transactions.ts";
import type { FlowContext } from "../context.ts";
import { verifyChain } from "./read-statement.ts";

/** All stored bets are read. */
const LONGEST_MS = 300_000;

export interface BooksCheck {
  /** the closed days whose statements are as they were stored: all, or those before the flaw */
  readonly days: number;
  /** the first flaw; null: there is none */
  readonly flaw: Flaw | null;
  /** null: the chain has a flaw, so the sums were not compared */
  readonly sums: {
    /** corrections that arrived on a day that is still open */
    readonly unsealed: number;
    /** days whose sums cannot be compared, because bets of them were deleted */
    readonly cut: number;
  } | null;
}

/**
 * Checks the chain, and then that each statement with its corrections has the sums of its bets: a correction is only part of
 * the chain once the day of its arrival is closed.
 */
export async function verifyBooks(context: FlowContext): Promise<BooksCheck> {
  const { days, flaw } = await verifyChain(context);
  if (flaw !== null) return { days, flaw, sums: null };
  return await inSnapshot(context.sql, async (tx) => {
    const { wrong, cut } = await compareSums(tx);
    const [first] = wrong;
    const sums = { unsealed: await countUnsealed(tx), cut: new Set([...cut].map(({ day }) => day)).size };
    return { days, flaw: first === undefined ? null : toFlaw(first), sums };
  });
}

/** The check as JSON, with the last closed day; null: there is none. */
export const BOOKS_CHECK = objectOf({
  days: COUNT.meta({
    description: "closed days that are as they were closed: all, or those before the flaw",
  }),
  flaw: z.nullable(objectOf({ day: DATE, what: TEXT })).meta({ description: "null: nothing was altered" }),
  sums: z.nullable(
    objectOf({
      unsealed: COUNT.meta({ description: "corrections that no statement holds yet" }),
      cut: COUNT.meta({ description: "days whose bets were deleted, so that their sums cannot be compared" }),
    }),
  ),
  last: z.nullable(objectOf({ day: DATE, number: COUNT, hash: HASH })),
});
export type WholeCheck = AnswerOf<typeof BOOKS_CHECK>;

/** @returns a function that checks; one check serves all who ask meanwhile */
export function openBooksCheck(context: FlowContext): () => Promise<WholeCheck> {
  let checking: Promise<WholeCheck> | null = null;
  const check = async () => {
    const [found, last] = await Promise.all([verifyBooks(context), readLastClosed(context.sql)]);
    return {
      ...found,
      last: last === null ? null : { day: last.day, number: last.number, hash: last.hash },
    };
  };
  return () => {
    checking ??= check().finally(() => {
      checking = null;
    });
    return checking;
  };
}

/** The first flaws of the sums of closed days, at most one for each day. */
export async function findWrongSums({ sql }: FlowContext, most: number): Promise<Flaw[]> {
  const { wrong } = await inSnapshot(sql, compareSums);
  const firsts = wrong.filter((one, index) => one.day !== wrong[index - 1]?.day);
  return firsts.slice(0, most).map(toFlaw);
}

async function compareSums(tx: Query) {
  await allowStatementTime(tx, LONGEST_MS);
  const unequal = await findUnequalSums(tx);
  const cut = await findCut(tx, unequal);
  return { wrong: unequal.filter((one) => !cut.has(one)), cut };
}

/** What a check without a flaw says of the corrections, as sentences with a space before each; empty: nothing. */
export function sayRest({ sums }: BooksCheck): string {
  const { unsealed = 0, cut = 0 } = sums ?? {};
  const open =
    unsealed === 0
      ? ""
      : ` ${unsealed} ${unsealed === 1 ? "correction is" : "corrections are"} not sealed yet, because the day of arrival is still open; with ${unsealed === 1 ? "it" : "them"}, the days have the sums of their bets.`;
  const deleted =
    cut === 0
      ? ""
      : ` ${cut} ${cut === 1 ? "day" : "days"} cannot be compared with the bets any more, because retain deleted some.`;
  return `${open}${deleted}`;
}

/** The sums of time whose bets may be deleted: what the bets count for goes with them. */
async function findCut(tx: Query, unequal: readonly UnequalSum[]): Promise<ReadonlySet<UnequalSum>> {
  const cut = new Set<UnequalSum>();
  for (const [productId, own] of Map.groupBy(unequal, (one) => one.productId)) {
    const { records, entries } = await readDeletedTime(tx, productId);
    const limit = Math.max(records.to, entries.to);
    for (const one of own) if (one.from < limit) cut.add(one);
  }
  return cut;
}

function toFlaw({ day, productId, currency, figure, stated, ofBets }: UnequalSum): Flaw {
  const what = `does not have the sums of its bets, so a correction was altered or deleted, or a stored bet: of ${productId} in ${currency}, ${figure} is ${stated} by its statement and its corrections, and ${ofBets} by its bets`;
  return { day, what };
}
