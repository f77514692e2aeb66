/**
 * Looks part by part where what cannot be judged would hold up all of a look, and sets that aside
 * (docs/operations.md#limits).
 */

import { formatInstant } from "../clock.ts";
import { isOfData, isOfSize, takeTime, withinSavepoint } from "../db/client.ts";
import { endSetAside, keepSetAside, nextTrial, readTooMuch, type SetAside } from "../diff/set-aside-store.ts";
import { type DiffMark, putMarks } from "../diff/store.ts";
import { describeError, ReconError } from "../errors.ts";
import type { Looked, Scene } from "./diff-scene.ts";
import { distinctMarks } from "./put-back.ts";

/** What cannot be judged by itself is looked at again after this. */
const RETRY_MS = 3_600_000;

/** A statement of a part that is looked at by itself; the others wait meanwhile. */
const LONGEST_OF_PART_MS = 60_000;
const LONGEST_ONE_BY_ONE_MS = 300_000;

export type Look = (scene: Scene, marks: readonly DiffMark[]) => Promise<Looked>;

/**
 * Looks at everything, and where that fails by its data, at either half of it: in the end only what cannot be judged by
 * itself is left out. That is told, and looked at again in an hour.
 */
export async function lookApart(
  scene: Scene,
  parts: readonly (readonly DiffMark[])[],
  look: Look,
): Promise<Looked> {
  try {
    return await withinSavepoint(scene.tx, (tx) => look({ ...scene, tx }, parts.flat()));
  } catch (error) {
    if (!isOfData(error)) throw error;
    if (parts.length > 1) {
      const middle = Math.ceil(parts.length / 2);
      const first = await lookApart(scene, parts.slice(0, middle), look);
      const second = await lookApart(scene, parts.slice(middle), look);
      return {
        looked: first.looked + second.looked,
        wantsFetch: first.wantsFetch || second.wantsFetch,
        stale: joinStale([first.stale, second.stale]),
      };
    }
    await putAside(scene, parts.flat(), error);
    return { looked: 0, wantsFetch: false, stale: new Set() };
  }
}

/** What became of parts that were looked at one by one. */
export interface LookedOneByOne extends Looked {
  /** the marks of the parts that were looked at, and not set aside */
  readonly compared: readonly DiffMark[];
  /** the time was not enough for all parts: the others are due as before */
  readonly isUnfinished: boolean;
}

/**
 * Looks at each part by itself, with less time than a look at all of them has, after those have failed again and again:
 * what takes longer, or is of more than the server is made for, is set aside, so that the others go on.
 */
export async function lookOneByOne(
  scene: Scene,
  parts: readonly (readonly DiffMark[])[],
  look: Look,
): Promise<LookedOneByOne> {
  const { context, tx, product, now } = scene;
  const startedAt = context.clock.now();
  let looked = 0;
  let wantsFetch = false;
  const stale: Looked["stale"][] = [];
  const compared: DiffMark[] = [];
  if (parts.length > 0) await takeTime(tx, LONGEST_OF_PART_MS);
  for (const [index, part] of parts.entries()) {
    if (context.clock.now() - startedAt >= LONGEST_ONE_BY_ONE_MS) {
      const left = parts.slice(index).flat();
      await putMarks(
        tx,
        product.productId,
        left.map((mark) => ({ ...mark, dueAt: now })),
      );
      return { looked, wantsFetch, stale: joinStale(stale), compared, isUnfinished: true };
    }
    try {
      const one = await withinSavepoint(tx, (within) => look({ ...scene, tx: within }, part));
      looked += one.looked;
      wantsFetch ||= one.wantsFetch;
      stale.push(one.stale);
      compared.push(...part);
    } catch (error) {
      if (!isOfData(error) && !isOfSize(error)) throw error;
      await putAside(scene, part, error);
    }
  }
  return { looked, wantsFetch, stale: joinStale(stale), compared, isUnfinished: false };
}

function joinStale(sides: readonly Looked["stale"][]): Looked["stale"] {
  return new Set(sides.flatMap((of) => [...of]));
}

/** The parts of a look that are judged apart: of sessions all that is a player's, else a round or a bet without one. */
export function partsOf({ product }: Scene, marks: readonly DiffMark[]): DiffMark[][] {
  const keyOf = keyOfPart(product.settlement);
  return [...Map.groupBy(distinctMarks(marks), (mark) => JSON.stringify(keyOf(mark))).values()];
}

function keyOfPart(settlement: Scene["product"]["settlement"]): (mark: DiffMark) => SetAside {
  if (settlement === "session") return ({ username }) => ({ username, subject: "sessions" });
  return ({ username, roundId, betRef }) => ({
    username,
    subject: roundId === null ? `bet:${betRef}` : `round:${roundId}`,
  });
}

/**
 * The marks without those of what is set aside because there is too much of it: it would be loaded in vain for each of
 * them. They wait until it is tried again; of a round one mark, which is there already, stands for all of it.
 * @returns what is looked at together, and what took too long before and is tried again, part by part
 */
export async function leaveSetAside(
  scene: Scene,
  marks: readonly DiffMark[],
): Promise<{ readonly together: readonly DiffMark[]; readonly slow: DiffMark[][] }> {
  const { tx, product, now } = scene;
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
    slow: partsOf(scene, own.filter(isSlow)),
  };
}

function keyed({ username, subject }: SetAside): [string, string] {
  return [username, subject];
}

/** Notes that everything these marks speak of has been compared, but for what this look has set aside. */
export async function endOfSetAside(scene: Scene, marks: readonly DiffMark[]): Promise<void> {
  const { tx, product, now } = scene;
  const compared = marks.map(keyOfPart(product.settlement));
  await endSetAside(tx, product.productId, compared, now + RETRY_MS);
}

async function putAside(scene: Scene, marks: readonly DiffMark[], error: unknown): Promise<void> {
  const { context, tx, product, now } = scene;
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
    "what belongs together here could not be compared; it is tried again later",
  );
  await keepSetAside(tx, productId, part, { code, reason, now, retryAt });
  // Of a round of which there is too much, a mark without a bet stands for all of it.
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
  return isOfSize(error) ? "too-slow" : "unusable";
}

function describeSlow(productId: string, { username, subject }: SetAside, error: unknown): string {
  const what = subject === "sessions" ? "the sessions" : subject.replace(":", " ");
  return `${productId}: ${what} of player ${username} took the database too long by itself, or more than it is made for (${describeError(error)}). Look at what the database is busy with (pg_stat_activity); it is tried again by itself, within a day at the most.`;
}
