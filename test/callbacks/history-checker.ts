/**
 * Decides whether a history of concurrent callbacks is strictly serialisable: an order of the requests explains every answer, and no
 * request comes before one that was answered before it was sent (Wing and Gong's search, with the model as the object).
 */

import { isDeepStrictEqual } from "node:util";
import { answerInModel, type ModelAnswer, type ModelRequest, type ModelState } from "./wallet-model.ts";

/** Times have one clock and no two are equal. */
export interface Operation {
  readonly request: ModelRequest;
  readonly sentAt: number;
  /** null: no answer came, so the request may have been applied at any time after it was sent, or never */
  readonly answered: { readonly at: number; readonly answer: ModelAnswer } | null;
}

/** With more states nearly all requests were concurrent, and the search would take too long. */
const MOST_STATES = 200_000;

/** Equal states have equal keys. The order of bets matters only among those of one player and product. */
export function keyOf({ bets, ...sets }: ModelState): string {
  const ownerOf = (key: string) => key.slice(0, key.lastIndexOf(" "));
  const byKey = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);
  const ordered = Object.values(sets).map((set) => Object.entries(set).sort(byKey));
  const betsByOwner = Object.entries(bets).sort(
    ([a], [b]) => Number(ownerOf(a) > ownerOf(b)) - Number(ownerOf(a) < ownerOf(b)),
  );
  return JSON.stringify([ordered, betsByOwner], (_, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

/**
 * The states in which the wallet may be after a history.
 * @param history of all players together, because they share request ids
 * @returns empty: no order explains the answers
 * @throws Error if too many orders are possible
 */
export function statesAfter(first: ModelState, history: readonly Operation[]): ModelState[] {
  const seen = new Set<string>();
  const ends = new Map<string, ModelState>();
  const open = [{ state: first, left: [...history.keys()] }];
  for (let point = open.pop(); point !== undefined; point = open.pop()) {
    const { state, left } = point;
    const key = `${left.join()} ${keyOf(state)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (seen.size > MOST_STATES) throw new Error(`more than ${MOST_STATES} states are possible`);
    if (left.every((place) => history[place]?.answered === null)) ends.set(keyOf(state), state);
    const firstAnswer = Math.min(...left.map((place) => history[place]?.answered?.at ?? Infinity));
    for (const place of left) {
      const operation = history[place] as Operation;
      if (operation.sentAt > firstAnswer) continue;
      const { answer, next } = answerInModel(state, operation.request);
      if (operation.answered !== null && !isDeepStrictEqual(answer, operation.answered.answer)) continue;
      open.push({ state: next, left: left.filter((one) => one !== place) });
    }
  }
  return [...ends.values()];
}
