/** Looks part by part where what cannot be judged would hold up all of a look. */

import { isOfData, withinSavepoint } from "../db/client.ts";
import { type DiffMark, putMarks } from "../diff/store.ts";
import { describeError } from "../errors.ts";
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

/** The parts of a look that are judged apart: of sessions all that is a player's, else what each mark leads to. */
export function partsOf({ product }: Scene, marks: readonly DiffMark[]): DiffMark[][] {
  const distinct = distinctMarks(marks);
  if (product.settlement === "bets") return distinct.map((mark) => [mark]);
  return [...Map.groupBy(distinct, ({ username }) => username).values()];
}

async function putAside(
  { context, tx, product: { productId }, now }: Scene,
  marks: readonly DiffMark[],
  error: unknown,
): Promise<void> {
  const [{ username, roundId: round, betRef: bet } = { username: "", roundId: null, betRef: null }] = marks;
  context.log.error(
    { productId, username, round, bet, error: describeError(error) },
    "what belongs together here could not be compared; it is looked at again in an hour",
  );
  await putMarks(
    tx,
    productId,
    marks.map((mark) => ({ ...mark, dueAt: now + RETRY_MS })),
  );
}
