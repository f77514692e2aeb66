/** The parts of a comparison, and those that cannot be compared: they are set aside (docs/operations.md#limits). */

import { formatInstant } from "../../clock.ts";
import { isLimitError } from "../../db/database-error.ts";
import {
  endSetAside,
  keepSetAside,
  nextTrial,
  readTooMuch,
  type SetAside,
} from "../../diff/set-aside-store.ts";
import { type DiffMark, distinctMarks, putMarks } from "../../diff/store.ts";
import { describeError, ReconError } from "../../errors.ts";
import type { ComparisonContext } from "./comparison-context.ts";

/** The wait before a part that was set aside is compared again. */
const RETRY_MS = 3_600_000;

/**
 * Divides the marks into parts that are compared separately: the sessions of a player, a round, or a bet without one.
 */
export function partsOf({ product }: ComparisonContext, marks: readonly DiffMark[]): DiffMark[][] {
  const keyOf = keyOfPart(product.settlement);
  return [...Map.groupBy(distinctMarks(marks), (mark) => JSON.stringify(keyOf(mark))).values()];
}

function keyOfPart(settlement: ComparisonContext["product"]["settlement"]): (mark: DiffMark) => SetAside {
  if (settlement === "session") return ({ username }) => ({ username, subject: "sessions" });
  return ({ username, roundId, betRef }) => ({
    username,
    subject: roundId === null ? `bet:${betRef}` : `round:${roundId}`,
  });
}

/**
 * Removes the marks of parts that were set aside for their size, because each mark would load the part in vain. The
 * next attempt compares the whole part: a stored mark stands for a round or a bet, and marks of sessions are
 * rescheduled.
 * @returns the marks to compare together, and the parts that took too long before and are compared one by one
 */
export async function leaveSetAside(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
): Promise<{ readonly together: readonly DiffMark[]; readonly slow: DiffMark[][] }> {
  const { tx, product, now } = comparison;
  const aside = await readTooMuch(tx, product.productId, now);
  if (aside.length === 0) return { together: marks, slow: [] };
  const known = new Map(aside.map((one) => [JSON.stringify(keyed(one)), one]));
  const keyOf = keyOfPart(product.settlement);
  const asideOf = (mark: DiffMark) => known.get(JSON.stringify(keyed(keyOf(mark))));
  const isLeft = (mark: DiffMark) => asideOf(mark)?.waits === true;
  const waiting = product.settlement === "session" ? distinctMarks(marks.filter(isLeft)) : [];
  await putMarks(
    tx,
    product.productId,
    waiting.map((mark) => ({ ...mark, dueAt: now + RETRY_MS })),
  );
  const own = marks.filter((mark) => !isLeft(mark));
  const isSlow = (mark: DiffMark) => asideOf(mark)?.isSlow === true;
  return {
    together: own.filter((mark) => !isSlow(mark)),
    slow: partsOf(comparison, own.filter(isSlow)),
  };
}

function keyed({ username, subject }: SetAside): [string, string] {
  return [username, subject];
}

/** Notes that the parts of these marks were compared, except those that this comparison has set aside. */
export async function noteCompared(comparison: ComparisonContext, marks: readonly DiffMark[]): Promise<void> {
  const { tx, product, now } = comparison;
  const compared = marks.map(keyOfPart(product.settlement));
  await endSetAside(tx, product.productId, compared, now + RETRY_MS);
}

export async function setAside(
  comparison: ComparisonContext,
  marks: readonly DiffMark[],
  error: unknown,
): Promise<void> {
  const { context, tx, product, now } = comparison;
  const [first] = marks;
  if (first === undefined) return;
  const { productId, settlement } = product;
  const { username, roundId: round, betRef: bet } = first;
  const part = keyOfPart(settlement)(first);
  const code = codeOf(error);
  const reason = code === "too-slow" ? describeSlow(productId, part, error) : describeError(error);
  const retryAt = code === "too-slow" ? await nextTrial(tx, productId, part, now, RETRY_MS) : now + RETRY_MS;
  context.log.error(
    { productId, username, round, bet, error: reason, retryAt: formatInstant(retryAt) },
    "this part could not be compared; it is tried again later",
  );
  await keepSetAside(tx, productId, part, { code, reason, now, retryAt });
  // One mark without a bet stands for the whole of a round that is too large.
  const isRound = code !== "unusable" && settlement !== "session" && round !== null;
  const again = isRound ? [{ ...first, betRef: null }] : marks;
  await putMarks(
    tx,
    productId,
    again.map((mark) => ({ ...mark, dueAt: retryAt })),
  );
}

function codeOf(error: unknown): string {
  if (error instanceof ReconError && (error.code === "round-too-wide" || error.code === "session-too-long"))
    return error.code;
  return isLimitError(error) ? "too-slow" : "unusable";
}

function describeSlow(productId: string, { username, subject }: SetAside, error: unknown): string {
  const what = subject === "sessions" ? "the sessions" : subject.replace(":", " ");
  return `${productId}: ${what} of player ${username} took the database too long, or was too large for it (${describeError(error)}). Check what the database is busy with (pg_stat_activity). The worker tries again within a day.`;
}
