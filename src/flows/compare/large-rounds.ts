/**
 * Rounds with too many bets to load all of them for a comparison (docs/operations.md#limits). A comparison loads the
 * touched bets, and those that did not agree by themselves at the last comparison. All other bets influence a
 * difference only by their existence.
 */

import type { StoredRecord } from "../../bet.ts";
import type { Query } from "../../db/client.ts";
import type { AssessedPair, PendingDifference } from "../../diff/assess.ts";
import {
  countOthers,
  findLargeRound,
  gatherMarks,
  hasLargeRounds,
  type LargeRound,
  preferIndexes,
  readLargeRounds,
  writeLargeRound,
} from "../../diff/large-round-store.ts";
import { hasStandIn, namingRulesOf, type UnloadedBets } from "../../diff/large-rounds.ts";
import type { DiffMark } from "../../diff/mark-store.ts";
import { idRulesOf } from "../../diff/match.ts";
import { type Frontier, type Key, type Neighbourhood, roundKey } from "../../diff/neighbourhood.ts";
import type { ComparisonContext } from "./comparison-context.ts";

/** If more bets of a round were touched, the database finds those that do not agree, because most of them agree. */
const MOST_TOUCHED = 5_000;

/** The large rounds of one comparison. */
export class LargeRounds {
  /** rounds of which only some bets are loaded */
  readonly partial = new Map<Key, LargeRound>();
  /** large rounds of which all bets are loaded and compared */
  readonly whole = new Map<Key, LargeRound>();
  private readonly gathered = new Set<Key>();
  private readonly waiting: readonly DiffMark[] | null;
  private hasAny: boolean | null = null;
  private prefersIndexes = false;

  /** @param waiting for read-only callers: the marks of the players, which stay; nothing is written */
  constructor(waiting: readonly DiffMark[] | null = null) {
    this.waiting = waiting;
  }

  /**
   * Reads which rounds of a step are known to be large.
   * @param marks of the comparison so far
   * @returns the other due marks of these rounds, which are taken
   */
  async enter(
    comparison: ComparisonContext,
    { rounds }: Frontier,
    marks: readonly DiffMark[],
  ): Promise<DiffMark[]> {
    const { tx, product } = comparison;
    const unknown = rounds.filter(
      ([username, roundId]) => this.roundOf(roundKey(username, roundId)) === undefined,
    );
    if (unknown.length === 0) return [];
    this.hasAny ??= await hasLargeRounds(tx, product.productId);
    if (!this.hasAny) return [];
    await this.prefer(tx);
    const found = await readLargeRounds(tx, product.productId, unknown);
    const { taken, isMore } = await this.gather(comparison, found);
    for (const round of found) {
      const touched = (this.waiting === null ? [...marks, ...taken] : taken).filter(
        ({ username, roundId }) => username === round.username && roundId === round.roundId,
      );
      const refs = touched.flatMap(({ betRef }) => betRef ?? []);
      const isVague = isMore || refs.length < touched.length || refs.length > MOST_TOUCHED;
      if (round.currency === null) this.whole.set(keyOf(round), round);
      else if (isVague) await this.find(comparison, round.username, round.roundId);
      else this.partial.set(keyOf(round), { ...round, apart: [...new Set([...round.apart, ...refs])] });
    }
    return taken;
  }

  /**
   * Adds rounds that turned out to be large.
   * @returns their other due marks, which are taken
   */
  async widen(
    comparison: ComparisonContext,
    rounds: readonly (readonly [string, string])[],
  ): Promise<DiffMark[]> {
    await this.prefer(comparison.tx);
    for (const [username, roundId] of rounds) await this.find(comparison, username, roundId);
    this.hasAny = true;
    const { taken } = await this.gather(
      comparison,
      rounds.map(([username, roundId]) => ({ username, roundId })),
    );
    return taken;
  }

  /** Compares a round whole from now on, because an entry acts on the whole round. */
  async compareWhole({ tx, product: { productId } }: ComparisonContext, key: Key): Promise<void> {
    const round = this.partial.get(key);
    if (round === undefined) return;
    const asOne = { ...round, currency: null, apart: [], entryTimes: null };
    this.partial.delete(key);
    this.whole.set(key, asOne);
    if (this.waiting === null) await writeLargeRound(tx, productId, asOne);
  }

  /**
   * Compares the partial rounds among these as a whole, this time only.
   * @returns whether there were any
   */
  compareWholeNow(keys: Iterable<Key>): boolean {
    let any = false;
    for (const key of keys) {
      const round = this.partial.get(key);
      if (round === undefined) continue;
      this.partial.delete(key);
      this.whole.set(key, round);
      any = true;
    }
    return any;
  }

  /** The bets to load of the partial rounds of a step. */
  betsOfPartial({ rounds }: Frontier): [string, string][] {
    return rounds.flatMap(([username, roundId]) =>
      (this.partial.get(roundKey(username, roundId))?.apart ?? []).map((ref): [string, string] => [
        username,
        ref,
      ]),
    );
  }

  /** The stand-ins for the bets that are not loaded. */
  async restOf(
    { tx, product }: ComparisonContext,
    records: readonly StoredRecord[],
  ): Promise<UnloadedBets[]> {
    const { productId } = product;
    const rest: UnloadedBets[] = [];
    for (const round of this.partial.values()) {
      const { username, roundId, currency, entryTimes } = round;
      if (currency === null || entryTimes === null) continue;
      const betIds = records.filter((one) => one.username === username).map(({ betId }) => betId);
      const bets = await countOthers(tx, productId, round, betIds);
      if (bets > 0) rest.push({ productId, username, roundId, currency, bets, entryTimes });
    }
    return rest;
  }

  isEmpty(): boolean {
    return this.partial.size + this.whole.size === 0;
  }

  roundOf(key: Key): LargeRound | undefined {
    return this.partial.get(key) ?? this.whole.get(key);
  }

  private async prefer(tx: Query): Promise<void> {
    if (!this.prefersIndexes) await preferIndexes(tx);
    this.prefersIndexes = true;
  }

  private async gather(
    comparison: ComparisonContext,
    rounds: readonly { username: string; roundId: string }[],
  ) {
    const fresh = rounds.filter((round) => !this.gathered.has(keyOf(round)));
    if (fresh.length === 0) return { taken: [], isMore: false };
    const most = fresh.length * MOST_TOUCHED;
    if (this.waiting !== null) {
      const keys = new Set(fresh.map(keyOf));
      const taken = this.waiting.filter(({ username, roundId }) =>
        keys.has(roundKey(username, roundId ?? "")),
      );
      return { taken, isMore: taken.length > most };
    }
    const taken = await gatherMarks(
      comparison.tx,
      comparison.product.productId,
      fresh,
      comparison.now,
      most + 1,
    );
    for (const round of fresh) this.gathered.add(keyOf(round));
    return { taken, isMore: taken.length > most };
  }

  private async find(comparison: ComparisonContext, username: string, roundId: string): Promise<void> {
    const { tx, product } = comparison;
    const { lostBets, matchBy, productId } = product;
    const dropsOmittedLosses = lostBets === "omitted" && idRulesOf(matchBy).length > 0;
    const rules = { dropsOmittedLosses, namedBy: namingRulesOf(matchBy) };
    const round = await findLargeRound(tx, productId, { username, roundId }, rules);
    if (round === null) {
      this.whole.set(roundKey(username, roundId), {
        username,
        roundId,
        currency: null,
        apart: [],
        entryTimes: null,
      });
      return;
    }
    (round.currency === null ? this.whole : this.partial).set(keyOf(round), round);
    if (this.waiting === null) await writeLargeRound(tx, productId, round);
  }
}

/** The rounds with a difference of all their bets, although not all of the bets are loaded. */
export function reportedRounds({
  neighbourhood: { rest },
  pairs,
  otherwise,
}: {
  readonly neighbourhood: Pick<Neighbourhood, "rest">;
  readonly pairs: readonly AssessedPair[];
  readonly otherwise: readonly PendingDifference[];
}): Key[] {
  const reported = [...pairs.filter(({ pending }) => pending !== null), ...otherwise];
  if (!reported.some(({ pair }) => hasStandIn(pair))) return [];
  return rest.map(({ username, roundId }) => roundKey(username, roundId));
}

function keyOf({ username, roundId }: { readonly username: string; readonly roundId: string }): Key {
  return roundKey(username, roundId);
}
