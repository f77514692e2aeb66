/**
 * Looks part by part where what cannot be judged would hold up all of a look, and sets that aside
 * (docs/operations.md#limits).
 */

import { isOfData, withinSavepoint } from "../db/client.ts";
import { endSetAside, keepSetAside, readTooMuch, type SetAside } from "../diff/set-aside-store.ts";
import { type DiffMark, putMarks } from "../diff/store.ts";
import { describeError, ReconError } from "../errors.ts";
import type { Looked, Scene } from "./diff-scene.ts";
import { distinctMarks } from "./put-back.ts";

/** What cannot be judged by itself is looked at again after this. */
const RETRY_MS = 3_600_000;

type Look = (scene: Scene, marks: readonly DiffMark[]) => Promise<Looked>;

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
        stale: new Set([...first.stale, ...second.stale]),
      };
    }
    await putAside(scene, parts.flat(), error);
    return { looked: 0, wantsFetch: false, stale: new Set() };
  }
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
 */
export async function leaveSetAside(scene: Scene, marks: readonly DiffMark[]): Promise<DiffMark[]> {
  const { tx, product, now } = scene;
  const known = new Set(
    (await readTooMuch(tx, product.productId, now)).map((one) => JSON.stringify(keyed(one))),
  );
  if (known.size === 0) return [...marks];
  const keyOf = keyOfPart(product.settlement);
  const isLeft = (mark: DiffMark) => known.has(JSON.stringify(keyed(keyOf(mark))));
  const waiting = product.settlement === "session" ? distinctMarks(marks.filter(isLeft)) : [];
  await putMarks(
    tx,
    product.productId,
    waiting.map((mark) => ({ ...mark, dueAt: now + RETRY_MS })),
  );
  return marks.filter((mark) => !isLeft(mark));
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

async function putAside(
  { context, tx, product, now }: Scene,
  marks: readonly DiffMark[],
  error: unknown,
): Promise<void> {
  const [first] = marks;
  if (first === undefined) return;
  const { productId } = product;
  const { username, roundId: round, betRef: bet } = first;
  const reason = describeError(error);
  context.log.error(
    { productId, username, round, bet, error: reason },
    "what belongs together here could not be compared; it is looked at again in an hour",
  );
  const retryAt = now + RETRY_MS;
  const isTooMuch =
    error instanceof ReconError && (error.code === "round-too-wide" || error.code === "session-too-long");
  const code = isTooMuch ? error.code : "unusable";
  await keepSetAside(tx, productId, keyOfPart(product.settlement)(first), { code, reason, now, retryAt });
  // Of a round that is too wide, a mark without a bet stands for all of it.
  const again = code === "round-too-wide" && round !== null ? [{ ...first, betRef: null }] : marks;
  await putMarks(
    tx,
    productId,
    again.map((mark) => ({ ...mark, dueAt: retryAt })),
  );
}
