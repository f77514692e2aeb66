/** Writes the findings of a comparison: mismatches begin, change and end, all at once. */

import { type DiffMark, putMarks } from "../../diff/store.ts";
import { readKnownOf } from "../../mismatches/store.ts";
import {
  decideTransitions,
  type KnownMismatch,
  type SeenFinding,
  type Transition,
} from "../../mismatches/transitions.ts";
import { recordTransitions } from "../mismatches/record-transitions.ts";
import type { ComparisonContext } from "./comparison-context.ts";

/** The findings about some subjects of a player. */
export interface PlayerFindings {
  readonly username: string;
  /** all compared subjects, with or without findings */
  readonly subjects: readonly string[];
  readonly seen: readonly SeenFinding[];
}

export async function writeFindings(
  { context, tx, product, now }: ComparisonContext,
  found: readonly PlayerFindings[],
): Promise<void> {
  const transitions = new Map<string, Transition>();
  const others: DiffMark[] = [];
  const asked = found.flatMap(({ username, subjects }) => subjects.map((one) => [username, one] as const));
  const knownOf = Map.groupBy(await readKnownOf(tx, product.productId, asked), ({ username }) => username);
  for (const { username, subjects, seen } of found) {
    const own = new Set(subjects);
    const known = knownOf.get(username)?.filter(({ subject }) => own.has(subject)) ?? [];
    for (const transition of decideTransitions(known, seen)) {
      transitions.set(keyOf(transition), transition);
      others.push(...otherPlayers(known, transition));
    }
  }
  await recordTransitions(tx, [...transitions.values()], context.config, now);
  await putMarks(
    tx,
    product.productId,
    others.map((mark) => ({ ...mark, dueAt: now })),
  );
}

/** Two parts of a comparison may find the same request. */
function keyOf(transition: Transition): string {
  if (transition.change !== "open") return `${transition.id}`;
  const { username, subject, kind } = transition.finding;
  return JSON.stringify([username, subject, kind]);
}

/** Where a bet is no longer under two names, another mismatch must explain the other player's record. */
function otherPlayers(known: readonly KnownMismatch[], transition: Transition): DiffMark[] {
  if (transition.change !== "resolve") return [];
  const ended = known.find(({ id }) => id === transition.id);
  if (ended?.kind !== "username-differs" || ended.provider === null || !("betId" in ended.provider))
    return [];
  return [{ username: ended.provider.username, roundId: null, betRef: ended.provider.betId }];
}
